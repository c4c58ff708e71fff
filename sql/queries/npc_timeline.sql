-- Everything an NPC did, in the order of the sessions, with the words that prove it.
-- params:
--   npc: name of the NPC; case and the form of apostrophes do not matter
-- columns:
--   session: slug of the session
--   kind: kind of the interaction
--   start_unit_id: first unit of the cited range
--   end_unit_id: last unit of the cited range
--   unit_id: the unit
--   speakers: who speaks
--   text: the words
--   campaign: slug of the campaign
--   record_index: position of the interaction in the session's document, from 0
SELECT session, kind, start_unit_id, end_unit_id, unit_id, array_to_string(speakers, ', ') AS speakers, text,
  campaign, record_index
FROM npc_interaction_evidence
WHERE comparison_name = $npc
ORDER BY campaign, session, record_index, start_unit_id, end_unit_id, unit_id

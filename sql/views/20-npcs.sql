-- Who was identified in a session, one row an NPC.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   record_index: position in the session's document, from 0
--   id: canonical id, derived from name and session
--   name: display name
--   comparison_name: the name as names are compared; the same person in two sessions has the same one
--   source_refs: unit ranges that identify the NPC
--   first_unit_id: first unit that identifies the NPC
--   last_unit_id: last unit that identifies the NPC
SELECT campaign, session, record_index, id, name, comparison_name, source_refs,
  list_min(list_transform(source_refs, lambda r: r.start_unit_id)) AS first_unit_id,
  list_max(list_transform(source_refs, lambda r: r.end_unit_id)) AS last_unit_id
FROM lake.npcs

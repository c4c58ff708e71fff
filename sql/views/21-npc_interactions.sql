-- What NPCs did, one row an NPC, kind and coherent passage.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   record_index: position in the session's document, from 0
--   npc_id: canonical id of the NPC in the session's registry
--   name: canonical name of the NPC
--   comparison_name: the name as names are compared
--   kind: mentioned, noncombat_presence, dialogue, combat_ally, combat_opponent or other
--   source_refs: unit ranges that prove NPC and kind
--   first_unit_id: first unit of the passage
--   last_unit_id: last unit of the passage
SELECT i.campaign, i.session, i.record_index, n.id AS npc_id, i.name, i.comparison_name, i.kind, i.source_refs,
  list_min(list_transform(i.source_refs, lambda r: r.start_unit_id)) AS first_unit_id,
  list_max(list_transform(i.source_refs, lambda r: r.end_unit_id)) AS last_unit_id
FROM lake.npc_interactions AS i
LEFT JOIN lake.npcs AS n
  ON n.campaign = i.campaign AND n.session = i.session AND n.comparison_name = i.comparison_name

-- Where each NPC was first and last met, over all sessions; NPCs of one name are listed as one.
-- columns:
--   name: name as first used
--   first_session: the session of the first interaction
--   first_unit_id: its first unit
--   first_kind: its kind
--   last_session: the session of the last interaction
--   last_unit_id: its last unit
--   last_kind: its kind
--   interactions: how many interactions there are
--   campaign: slug of the campaign
--   comparison_name: the name as names are compared
SELECT
  first(name ORDER BY session, record_index) AS name,
  first(session ORDER BY session, record_index) AS first_session,
  first(first_unit_id ORDER BY session, record_index) AS first_unit_id,
  first(kind ORDER BY session, record_index) AS first_kind,
  last(session ORDER BY session, last_unit_id, record_index) AS last_session,
  last(last_unit_id ORDER BY session, last_unit_id, record_index) AS last_unit_id,
  last(kind ORDER BY session, last_unit_id, record_index) AS last_kind,
  count(*) AS interactions,
  campaign, comparison_name
FROM npc_interactions
GROUP BY campaign, comparison_name
ORDER BY campaign, first_session, first_unit_id, comparison_name

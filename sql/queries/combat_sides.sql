-- Who fought for the party and who against it, and who did both.
-- columns:
--   name: name as first used
--   side: ally, opponent or both
--   as_ally: passages in which the NPC fought for the party
--   as_opponent: passages in which the NPC fought against it
--   sessions: the sessions of these passages
--   campaign: slug of the campaign
--   comparison_name: the name as names are compared
SELECT
  first(name ORDER BY session, record_index) AS name,
  CASE WHEN count(DISTINCT kind) = 2 THEN 'both' WHEN any_value(kind) = 'combat_ally' THEN 'ally' ELSE 'opponent' END
    AS side,
  count(*) FILTER (kind = 'combat_ally') AS as_ally,
  count(*) FILTER (kind = 'combat_opponent') AS as_opponent,
  array_to_string(list_sort(list(DISTINCT session)), ', ') AS sessions,
  campaign, comparison_name
FROM npc_interactions
WHERE kind IN ('combat_ally', 'combat_opponent')
GROUP BY campaign, comparison_name
ORDER BY campaign, side, comparison_name

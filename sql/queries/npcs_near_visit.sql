-- Which NPCs occur near a visit of a place, in the same session; those only mentioned do not count.
-- params:
--   place: name of the place; case and the form of apostrophes do not matter; default every place
--   units: how many units apart a cited range of the visit and one of the NPC may be; default 10
-- columns:
--   session: slug of the session
--   place: canonical name of the place
--   npc: canonical name of the NPC
--   units_apart: from the nearest cited unit of a visit to that of the NPC; 0 where both cite the same unit
--   kinds: kinds of the NPC's interactions near by
--   first_unit_id: first unit near by that shows the NPC
--   last_unit_id: last unit near by that shows the NPC
--   campaign: slug of the campaign
--   location_id: canonical id of the place in the session's registry
--   npc_comparison_name: the NPC's name as names are compared
WITH visits AS (
  SELECT campaign, session, location_id, name, unnest(source_refs) AS ref
  FROM location_occurrences
  WHERE kind = 'visited' AND ($place IS NULL OR comparison_name = $place)
), npcs_there AS (
  SELECT campaign, session, name, comparison_name, kind, unnest(source_refs) AS ref
  FROM npc_interactions
  WHERE kind <> 'mentioned'
), pairs AS (
  SELECT v.campaign, v.session, v.location_id, v.name AS place, n.name AS npc, n.comparison_name, n.kind,
    n.ref.start_unit_id AS start_unit_id, n.ref.end_unit_id AS end_unit_id,
    greatest(0, n.ref.start_unit_id - v.ref.end_unit_id, v.ref.start_unit_id - n.ref.end_unit_id) AS apart
  FROM visits AS v
  JOIN npcs_there AS n ON n.campaign = v.campaign AND n.session = v.session
)
SELECT session, place, npc, min(apart) AS units_apart, array_to_string(list_sort(list(DISTINCT kind)), ', ') AS kinds,
  min(start_unit_id) AS first_unit_id, max(end_unit_id) AS last_unit_id,
  campaign, location_id, comparison_name AS npc_comparison_name
FROM pairs
WHERE apart <= coalesce(CAST($units AS BIGINT), 10)
GROUP BY campaign, session, location_id, place, npc, comparison_name
ORDER BY campaign, session, place, location_id, units_apart, npc_comparison_name

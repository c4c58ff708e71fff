-- Where the party planned to go and was not, in that session or a later one; places of one name are listed as one.
-- columns:
--   name: name as first planned
--   first_session: the session of the first plan that is open
--   first_unit_id: its first unit
--   last_session: the session of the last plan
--   last_unit_id: its last unit
--   plans: passages with a plan that is open
--   visited_before: the last session in which the party was there, before it planned to go again
--   campaign: slug of the campaign
--   place_comparison_name: the name as names are compared, over all sessions
WITH visits AS (
  SELECT campaign, comparison_name, max(session) AS last_visit
  FROM location_occurrences
  WHERE kind = 'visited'
  GROUP BY campaign, comparison_name
)
SELECT
  first(p.name ORDER BY p.session, p.first_unit_id, p.record_index) AS name,
  first(p.session ORDER BY p.session, p.first_unit_id, p.record_index) AS first_session,
  first(p.first_unit_id ORDER BY p.session, p.first_unit_id, p.record_index) AS first_unit_id,
  last(p.session ORDER BY p.session, p.last_unit_id, p.record_index) AS last_session,
  last(p.last_unit_id ORDER BY p.session, p.last_unit_id, p.record_index) AS last_unit_id,
  count(*) AS plans,
  any_value(v.last_visit) AS visited_before,
  p.campaign, p.comparison_name AS place_comparison_name
FROM location_occurrences AS p
LEFT JOIN visits AS v ON v.campaign = p.campaign AND v.comparison_name = p.comparison_name
WHERE p.kind = 'planned' AND (v.last_visit IS NULL OR v.last_visit < p.session)
GROUP BY p.campaign, p.comparison_name
ORDER BY campaign, first_session, first_unit_id, place_comparison_name

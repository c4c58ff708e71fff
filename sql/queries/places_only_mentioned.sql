-- Places that are mentioned and in no session visited, planned or recalled; places of one name are listed as one.
-- columns:
--   name: name as first mentioned
--   first_session: the session of the first mention
--   first_unit_id: its first unit
--   mentions: passages that mention the place
--   sessions: the sessions of these passages
--   campaign: slug of the campaign
--   place_comparison_name: the name as names are compared, over all sessions
SELECT
  first(name ORDER BY session, first_unit_id, record_index) AS name,
  first(session ORDER BY session, first_unit_id, record_index) AS first_session,
  first(first_unit_id ORDER BY session, first_unit_id, record_index) AS first_unit_id,
  count(*) AS mentions,
  array_to_string(list_sort(list(DISTINCT session)), ', ') AS sessions,
  campaign, comparison_name AS place_comparison_name
FROM location_occurrences
GROUP BY campaign, comparison_name
HAVING bool_and(kind = 'mentioned')
ORDER BY campaign, first_session, first_unit_id, place_comparison_name

-- When the party was first and last at each place, over all sessions; places of one name are listed as one.
-- columns:
--   name: name as first visited
--   first_session: the session of the first visit
--   first_unit_id: its first unit
--   last_session: the session of the last visit
--   last_unit_id: its last unit
--   stays: passages in which the party is there
--   campaign: slug of the campaign
--   place_comparison_name: the name as names are compared, over all sessions
SELECT
  first(name ORDER BY session, first_unit_id, record_index) AS name,
  first(session ORDER BY session, first_unit_id, record_index) AS first_session,
  first(first_unit_id ORDER BY session, first_unit_id, record_index) AS first_unit_id,
  last(session ORDER BY session, last_unit_id, record_index) AS last_session,
  last(last_unit_id ORDER BY session, last_unit_id, record_index) AS last_unit_id,
  count(*) AS stays,
  campaign, comparison_name AS place_comparison_name
FROM location_occurrences
WHERE kind = 'visited'
GROUP BY campaign, comparison_name
ORDER BY campaign, first_session, first_unit_id, place_comparison_name

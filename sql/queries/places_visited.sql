-- Where the party was in each session, in the order of the story; places of one name in a session stay apart.
-- columns:
--   session: slug of the session
--   name: canonical name of the place
--   first_unit_id: first unit of the first visit
--   last_unit_id: last unit of the last visit
--   stays: passages in which the party is there; one that goes over the border of two chunks is two
--   campaign: slug of the campaign
--   location_id: canonical id of the place in the session's registry
SELECT session, name, min(first_unit_id) AS first_unit_id, max(last_unit_id) AS last_unit_id, count(*) AS stays,
  campaign, location_id
FROM location_occurrences
WHERE kind = 'visited'
GROUP BY campaign, session, location_id, name
ORDER BY campaign, session, first_unit_id, name, location_id

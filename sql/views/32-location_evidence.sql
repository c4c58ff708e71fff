-- The words that identify each place, one row a place, range and unit.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   record_index: position of the place in the session's document, from 0
--   location_id: canonical id of the place
--   name: display name
--   comparison_name: the name as names are compared
--   start_unit_id: first unit of the cited range
--   end_unit_id: last unit of the cited range
--   unit_id: the unit
--   speakers: who speaks
--   text: the words
SELECT r.campaign, r.session, r.record_index, r.location_id, r.name, r.comparison_name,
  r.ref.start_unit_id AS start_unit_id, r.ref.end_unit_id AS end_unit_id, u.unit_id, u.speakers, u.text
FROM (
  SELECT campaign, session, record_index, id AS location_id, name, comparison_name, unnest(source_refs) AS ref
  FROM lake.locations
) AS r
JOIN lake.transcript_units AS u
  ON u.campaign = r.campaign AND u.session = r.session
  AND u.unit_id BETWEEN r.ref.start_unit_id AND r.ref.end_unit_id

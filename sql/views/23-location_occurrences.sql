-- How the party related to places, one row a place, kind and coherent passage.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   record_index: position in the session's document, from 0
--   location_id: canonical id of the place in the session's registry
--   name: canonical name of the place
--   comparison_name: the name as names are compared
--   kind: visited, planned, recalled or mentioned
--   source_refs: unit ranges that prove place and kind
--   first_unit_id: first unit of the passage
--   last_unit_id: last unit of the passage
SELECT campaign, session, record_index, location_id, name, comparison_name, kind, source_refs,
  list_min(list_transform(source_refs, lambda r: r.start_unit_id)) AS first_unit_id,
  list_max(list_transform(source_refs, lambda r: r.end_unit_id)) AS last_unit_id
FROM lake.location_occurrences

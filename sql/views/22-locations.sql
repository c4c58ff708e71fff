-- Which places are in a session, one row a place, also where two share a name.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   record_index: position in the session's document, from 0
--   id: canonical id, derived from name, session and earliest evidence
--   name: display name
--   comparison_name: the name as names are compared; two places of one session can have the same one
--   source_refs: unit ranges that identify the place
--   first_unit_id: first unit that identifies the place
--   last_unit_id: last unit that identifies the place
SELECT campaign, session, record_index, id, name, comparison_name, source_refs,
  list_min(list_transform(source_refs, lambda r: r.start_unit_id)) AS first_unit_id,
  list_max(list_transform(source_refs, lambda r: r.end_unit_id)) AS last_unit_id
FROM lake.locations

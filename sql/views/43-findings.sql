-- The findings kept of every validator of every try.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   table_name: the table that was to be made
--   attempt: number of the try at this table and session, from 1
--   validator: key of the validator
--   severity: ERROR or WARN
--   finding: number of the finding in its validator's list, from 0
--   code: what was found
--   record_index: the record it is about: its position before any was rejected
--   detail: codes, numbers and unit ids
SELECT campaign, session, table_name, attempt, validator, severity, finding, code, record_index, detail
FROM lake.findings

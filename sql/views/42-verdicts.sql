-- What every validator said in every try.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   table_name: the table that was to be made
--   attempt: number of the try at this table and session, from 1
--   validator: key of the validator; the name of its asset check
--   boundary: extraction or normalization
--   level: what an ERROR condemns: record or artifact
--   severity: ERROR or WARN
--   passed: whether nothing was found
--   findings: how many findings there were, also those not kept
--   looked_at: records the validator looked at
SELECT campaign, session, table_name, attempt, validator, boundary, level, severity, passed, findings, looked_at
FROM lake.verdicts

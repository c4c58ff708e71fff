-- What the reader changed, dropped or could not tell.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   table_name: the table that was to be made
--   attempt: number of the try at this table and session, from 1
--   file: name of the transcript file
--   format: the shape it was read as
--   code: the warning's code
--   units: units concerned
--   records: records of the file that became no unit because of it
--   note: for people
SELECT campaign, session, table_name, attempt, file, format, code, units, records, note
FROM lake.ingest_warnings

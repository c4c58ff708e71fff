-- Candidates that broke a record rule, with the answer's own JSON.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   table_name: the table that was to be made
--   attempt: number of the try at this table and session, from 1
--   chunk_id: the chunk that was asked
--   position: position in the answer, from 0
--   rule: key of the validator
--   code: what was found
--   answer: the candidate as answered, JSON, at most 2 kB
SELECT campaign, session, table_name, attempt, chunk_id, position, rule, code, answer
FROM lake.rejected_candidates

-- How every window of every try ended.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   table_name: the table that was to be made
--   attempt: number of the try at this table and session, from 1
--   chunk_id: the chunk that was asked; empty where duplicates of a registry were asked for
--   window_end: how it ended
--   candidates: candidates in the answer, or groups
--   reason: why there is no answer
--   answered_by: where the answer came from: rules, cache or call
--   fingerprint: SHA-256 of what was asked; model_calls has it too
SELECT campaign, session, table_name, attempt, chunk_id, window_end, candidates, reason, answered_by, fingerprint
FROM lake.windows

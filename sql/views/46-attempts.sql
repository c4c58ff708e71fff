-- The newest try at each table of each session, one row a table and session.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   table_name: the table that was to be made
--   attempt: number of the try, from 1
--   state: accepted, rejected, failed, blocked or unreadable
--   reason: why it was not accepted
--   next_step: what to do about it
--   row_count: rows of the table
--   run_id: the Dagster run
--   ended_at: end, UTC, ISO 8601
SELECT campaign, session, table_name, attempt, state, reason, next_step, row_count, run_id, ended_at
FROM lake.lane_runs
WHERE is_latest

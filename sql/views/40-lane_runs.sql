-- Every try at every table of every session: how it ended, and what it was made by and from.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   table_name: the table that was to be made
--   attempt: number of the try at this table and session, from 1
--   lane: the lane, for tables of a lane
--   state: accepted, rejected, failed, blocked or unreadable
--   reason: why it was not accepted
--   next_step: what to do about it
--   is_latest: whether it is the newest try at this table and session
--   is_published: whether the set that the views show holds what this try made
--   row_count: rows of the table
--   proposed: candidates proposed, accepted and rejected ones
--   code_fingerprint: SHA-256 over what it was made by
--   input_fingerprint: SHA-256 over what it was made from
--   code_parts: named parts of the code fingerprint, as JSON
--   input_parts: named parts of the input fingerprint, as JSON
--   content_digest: SHA-256 of the content
--   run_id: the Dagster run
--   started_at: start, UTC, ISO 8601
--   ended_at: end, UTC, ISO 8601
SELECT campaign, session, table_name, attempt, lane, state, reason, next_step, is_latest, is_published, row_count,
  proposed, code_fingerprint, input_fingerprint, code_parts, input_parts, content_digest, run_id, started_at,
  ended_at
FROM lake.lane_runs

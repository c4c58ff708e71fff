-- Which units were asked together, one row a chunk.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   chunk_id: number of the chunk in its session, from 1
--   start_unit_id: first unit of the chunk
--   end_unit_id: last unit of the chunk
SELECT campaign, session, chunk_id, start_unit_id, end_unit_id
FROM lake.transcript_chunks

-- The sessions read so far, one row each.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   units: how many units the transcript has
--   chunks: how many chunks it was asked in
SELECT campaign, session, count(*) AS units, count(DISTINCT chunk_id) AS chunks
FROM units
GROUP BY campaign, session

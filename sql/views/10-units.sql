-- What was said, one row a unit.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   unit_id: number of the unit in its session, from 1
--   speakers: labels of who speaks, as written in the transcript
--   text: the words
--   start_ms: start in milliseconds from the start of the recording, if known
--   end_ms: end in milliseconds from the start of the recording, if known
--   label: the record's own id in the transcript file, if it has one
--   chunk_id: the chunk the unit was asked with
SELECT u.campaign, u.session, u.unit_id, u.speakers, u.text, u.start_ms, u.end_ms, u.label, c.chunk_id
FROM lake.transcript_units AS u
LEFT JOIN lake.transcript_chunks AS c
  ON c.campaign = u.campaign AND c.session = u.session AND u.unit_id BETWEEN c.start_unit_id AND c.end_unit_id

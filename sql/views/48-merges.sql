-- Which records of a published registry were united or kept apart, by which rule, one row a union.
-- columns:
--   campaign: slug of the campaign
--   session: slug of the session
--   table_name: the registry
--   merge: number of the union in its registry, from 0
--   outcome: united, or kept apart
--   rule: why: declared, proposed by a model, or the rules that proposed it
--   refused: why the union was not made; empty where it was
--   record_id: id of the record that the members went into; empty where it was refused
--   name: the name that stands; empty where it was refused
--   stated_unit_id: the unit that states it, for an alias stated in the transcript
--   members: name and evidence of every record before the union
--   answer: the group as proposed, JSON, where it was refused
SELECT m.campaign, m.session, m.table_name, m.merge,
       CASE WHEN m.refused IS NULL THEN 'united' ELSE 'kept apart' END AS outcome,
       m.rule, m.refused, m.record_id, m.name, m.stated_unit_id, m.members, m.answer
FROM lake.merges AS m
JOIN lake.lane_runs AS r USING (campaign, session, table_name, attempt)
WHERE r.is_published

-- Every record of an input is stored, refused, known from another input, a step of a job,
-- or of another cluster.
WITH kept AS (
    SELECT input_id, sum(n) AS n
    FROM (
        SELECT input_id, count(*) AS n FROM records GROUP BY input_id
        UNION ALL
        SELECT input_id, records FROM archived_input
    )
    GROUP BY input_id
)
SELECT
    inputs.input_id, file, inputs.records, refused, steps, elsewhere, duplicates,
    coalesce(kept.n, 0) AS kept
FROM inputs LEFT JOIN kept USING (input_id)
WHERE inputs.records <> refused + steps + elsewhere + duplicates + coalesce(kept.n, 0)

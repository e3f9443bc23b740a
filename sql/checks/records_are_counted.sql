-- Every record that an input brought is kept, refused, or known from another input.
WITH kept AS (
    SELECT input_id, count(*) AS n FROM records GROUP BY input_id
)
SELECT inputs.input_id, file, inputs.records, refused, duplicates, coalesce(kept.n, 0) AS kept
FROM inputs LEFT JOIN kept USING (input_id)
WHERE inputs.records <> refused + duplicates + coalesce(kept.n, 0)

-- Reasons for which records of these inputs, or of all, were refused, with the first few of each;
-- records replayed since are left out.
-- parameters: cluster VARCHAR, whole BOOLEAN, inputs VARCHAR[], examples BIGINT
WITH every AS (
    SELECT input_id, reason, file, line, text
    FROM refused
    WHERE cluster = $cluster AND replayed_at IS NULL
    UNION ALL
    SELECT input_id, doubt, file, line, coalesce(text, '') FROM doubtful WHERE cluster = $cluster
),
numbered AS (
    SELECT
        reason, file, line, left(text, 400) AS text,
        count(*) OVER (PARTITION BY reason) AS lines,
        row_number() OVER (PARTITION BY reason ORDER BY file, input_id, line) AS position
    FROM every
    WHERE $whole OR list_contains($inputs::VARCHAR[], input_id)
)
SELECT reason, lines, file, line, text
FROM numbered
WHERE position <= greatest($examples, 1)
ORDER BY lines DESC, reason, position

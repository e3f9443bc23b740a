-- Why lines were refused, with the first few of each reason; those replayed since are left out.
-- parameters: cluster VARCHAR, examples BIGINT
WITH numbered AS (
    SELECT
        reason, file, line, left(text, 400) AS text,
        count(*) OVER (PARTITION BY reason) AS lines,
        row_number() OVER (PARTITION BY reason ORDER BY file, input_id, line) AS position
    FROM refused
    WHERE cluster = $cluster AND replayed_at IS NULL
)
SELECT reason, lines, file, line, text
FROM numbered
WHERE position <= greatest($examples, 1)
ORDER BY lines DESC, reason, position

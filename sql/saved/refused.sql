-- Refused records, and why; those that a replay has accepted since are left out.
-- $cluster VARCHAR = NULL: only this cluster
-- $code VARCHAR = NULL: only faults of this kind
-- $file VARCHAR = NULL: only of this log
SELECT
    cluster,
    file,
    line,
    code,
    reason,
    text,
    refused_at,
    byte_offset,
    input
FROM refused_records
WHERE
    replayed_at IS NULL
    AND ($cluster IS NULL OR cluster = $cluster)
    AND ($code IS NULL OR code = $code)
    AND ($file IS NULL OR file = $file)
ORDER BY cluster, file, input, line, byte_offset

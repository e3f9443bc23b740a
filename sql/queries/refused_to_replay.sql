-- Refused records that no replay has accepted, with the dialect of their log.
-- parameters: cluster VARCHAR, code VARCHAR, file VARCHAR
SELECT
    refused.input_id, refused.file, refused.line, refused.byte_offset, refused.text, refused.code,
    inputs.dialect, inputs.header::VARCHAR AS header, inputs.log_cluster
FROM refused JOIN inputs USING (input_id)
WHERE refused.cluster = $cluster AND replayed_at IS NULL
    AND ($code IS NULL OR refused.code = $code) AND ($file IS NULL OR refused.file = $file)
ORDER BY refused.input_id, refused.byte_offset

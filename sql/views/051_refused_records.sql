-- Refused records, as they were in the log.
CREATE OR REPLACE VIEW refused_records AS
SELECT
    cluster,
    file,
    line,
    byte_offset,
    reason,
    text,
    to_timestamp(refused_at) AS refused_at,
    to_timestamp(replayed_at) AS replayed_at,
    code,
    input_id AS input
FROM refused
UNION ALL
SELECT
    cluster, file, line, byte_offset, doubt, text, to_timestamp(refused_at), NULL,
    'doubtful', input_id
FROM doubtful;

COMMENT ON VIEW refused_records IS 'Refused records, as they were in the log; at most 10,000 of each log.';
COMMENT ON COLUMN refused_records.cluster IS 'name of the cluster';
COMMENT ON COLUMN refused_records.file IS 'path of the log';
COMMENT ON COLUMN refused_records.line IS 'number of the line in the log, from 1';
COMMENT ON COLUMN refused_records.byte_offset IS 'offset of the record''s first byte in the decompressed log; bytes';
COMMENT ON COLUMN refused_records.code IS 'kind of fault: shape, value, order, time, cut, cluster or doubtful';
COMMENT ON COLUMN refused_records.reason IS 'why the record was refused, in words';
COMMENT ON COLUMN refused_records.text IS 'text of the record; bytes that are not UTF-8 as \xNN; empty if it was removed (retention.refused_days, an erased person) or is withheld (clusters.people); NULL if its log was no longer available';
COMMENT ON COLUMN refused_records.refused_at IS 'when the record was refused; NULL in a one-off audit';
COMMENT ON COLUMN refused_records.replayed_at IS 'when a replay accepted the record; NULL: not accepted';
COMMENT ON COLUMN refused_records.input IS 'identifier of the log''s content in the store';

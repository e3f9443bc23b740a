-- Lines that no dialect could take, kept word for word.
CREATE OR REPLACE VIEW refused_records AS
SELECT
    cluster,
    file,
    line,
    byte_offset,
    reason,
    text,
    to_timestamp(refused_at) AS refused_at,
    to_timestamp(replayed_at) AS replayed_at
FROM refused;

COMMENT ON VIEW refused_records IS 'Lines that no dialect could take, kept word for word.';
COMMENT ON COLUMN refused_records.cluster IS 'name of the cluster';
COMMENT ON COLUMN refused_records.file IS 'log';
COMMENT ON COLUMN refused_records.line IS 'line in the log, from 1';
COMMENT ON COLUMN refused_records.byte_offset IS 'first byte of the line in the decompressed log';
COMMENT ON COLUMN refused_records.reason IS 'why it was refused';
COMMENT ON COLUMN refused_records.text IS 'the line itself; bytes that are not UTF-8 as \xNN';
COMMENT ON COLUMN refused_records.refused_at IS 'when; NULL in a one-off audit, which reads no clock';
COMMENT ON COLUMN refused_records.replayed_at IS 'when a later replay took it in';

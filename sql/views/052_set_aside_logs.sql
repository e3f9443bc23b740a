-- Logs that were refused as a whole, and why.
CREATE OR REPLACE VIEW set_aside_logs AS
SELECT
    cluster,
    source,
    file,
    code,
    reason,
    to_timestamp(found_at) AS found_at
FROM set_aside;

COMMENT ON VIEW set_aside_logs IS 'Logs that were refused as a whole, and why.';
COMMENT ON COLUMN set_aside_logs.cluster IS 'name of the cluster';
COMMENT ON COLUMN set_aside_logs.source IS 'name of the log''s source in config.toml';
COMMENT ON COLUMN set_aside_logs.file IS 'path of the log';
COMMENT ON COLUMN set_aside_logs.code IS 'kind of fault: empty, damaged, unknown, limit, clusters or unreadable';
COMMENT ON COLUMN set_aside_logs.reason IS 'why the log was refused, in words';
COMMENT ON COLUMN set_aside_logs.found_at IS 'when fairaudit first refused the log';

-- Decayed usage, against targets where some are configured, at the end of each day.
CREATE OR REPLACE VIEW fairshare_history AS
SELECT
    cluster,
    to_timestamp(as_of) AS as_of,
    method,
    entity_kind,
    entity,
    parent,
    share,
    usage,
    usage_fraction,
    priority,
    rank,
    run_id
FROM fairshare_result;

COMMENT ON VIEW fairshare_history IS 'Decayed usage, against targets where some are configured, at the end of each day.';
COMMENT ON COLUMN fairshare_history.cluster IS 'name of the cluster';
COMMENT ON COLUMN fairshare_history.as_of IS 'instant of the figures';
COMMENT ON COLUMN fairshare_history.method IS 'how usage and priority were computed';
COMMENT ON COLUMN fairshare_history.entity_kind IS 'user or account';
COMMENT ON COLUMN fairshare_history.entity IS 'user or account';
COMMENT ON COLUMN fairshare_history.parent IS 'its parent in the share tree';
COMMENT ON COLUMN fairshare_history.share IS 'target share; 0 to 1';
COMMENT ON COLUMN fairshare_history.usage IS 'decayed usage; penalty-seconds';
COMMENT ON COLUMN fairshare_history.usage_fraction IS 'part of all usage; 0 to 1';
COMMENT ON COLUMN fairshare_history.priority IS 'fairshare priority';
COMMENT ON COLUMN fairshare_history.rank IS '1 is served first';
COMMENT ON COLUMN fairshare_history.run_id IS 'run that computed the row; see runs';

-- Number of records read for each day.
CREATE OR REPLACE VIEW coverage AS
SELECT
    cluster,
    day,
    records,
    refused,
    state
FROM coverage_result;

COMMENT ON VIEW coverage IS 'Number of records read for each day.';
COMMENT ON COLUMN coverage.cluster IS 'name of the cluster';
COMMENT ON COLUMN coverage.day IS 'day in the cluster''s zone; NULL for lines whose day is unknown';
COMMENT ON COLUMN coverage.records IS 'records that ended on the day, refused ones included';
COMMENT ON COLUMN coverage.refused IS 'refused lines';
COMMENT ON COLUMN coverage.state IS 'full, partial (with refused lines) or empty (no records, though the log covers the day)';

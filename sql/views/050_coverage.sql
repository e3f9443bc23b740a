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
COMMENT ON COLUMN coverage.records IS 'number of records that ended on the day, including refused ones';
COMMENT ON COLUMN coverage.refused IS 'number of records that were refused';
COMMENT ON COLUMN coverage.state IS 'state of the day: full, partial (some records were refused) or empty (no records, although the log covers the day)';

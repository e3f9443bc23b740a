-- What was read for each day on which records ended.
CREATE OR REPLACE VIEW coverage AS
SELECT
    cluster,
    day,
    records,
    refused,
    state
FROM coverage_result;

COMMENT ON VIEW coverage IS 'What was read for each day on which records ended.';
COMMENT ON COLUMN coverage.cluster IS 'name of the cluster';
COMMENT ON COLUMN coverage.day IS 'day in the cluster''s zone; NULL for lines whose day is not known';
COMMENT ON COLUMN coverage.records IS 'records that ended on the day, refused ones included';
COMMENT ON COLUMN coverage.refused IS 'lines refused';
COMMENT ON COLUMN coverage.state IS 'full, partial (lines refused) or empty (a day without records inside the log)';

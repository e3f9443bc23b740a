-- How far replayed starts are from those observed.
WITH starts AS (
    SELECT
        abs(replayed_start_time - start_time) AS error,
        replayed_start_time - start_time AS later,
        rank() OVER (ORDER BY wait_s) + count(*) OVER (PARTITION BY wait_s) / 2 AS observed,
        rank() OVER (ORDER BY replayed_start_time - arrival_time)
        + count(*) OVER (PARTITION BY replayed_start_time - arrival_time) / 2 AS replayed
    FROM described
),
figures AS (
    SELECT
        quantile_disc(error, 0.5)::DOUBLE AS start_error_median,
        quantile_disc(error, 0.9)::DOUBLE AS start_error_p90,
        corr(observed, replayed) AS wait_correlation,
        avg(later) AS mean_wait_error
    FROM starts
)
SELECT metric, value FROM (UNPIVOT figures ON COLUMNS (*) INTO NAME metric VALUE value)

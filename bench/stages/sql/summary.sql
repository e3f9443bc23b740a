-- Means and quantiles of all and by part.
WITH waits AS (
    SELECT
        grouping(width_class) = 0 AS by_width,
        grouping(account) = 0 AS by_account,
        coalesce(width_class, account) AS dimension_value,
        avg(wait_s) AS wait_mean,
        quantile_disc(wait_s, 0.5)::DOUBLE AS wait_median,
        quantile_disc(wait_s, 0.9)::DOUBLE AS wait_p90,
        quantile_disc(wait_s, 0.99)::DOUBLE AS wait_p99,
        max(wait_s)::DOUBLE AS wait_max
    FROM judged
    GROUP BY GROUPING SETS ((), (width_class), (account))
),
slowdowns AS (
    SELECT
        grouping(width_class) = 0 AS by_width,
        width_class AS dimension_value,
        avg(bounded_slowdown) AS bounded_slowdown_mean,
        quantile_disc(bounded_slowdown, 0.5) AS bounded_slowdown_median,
        quantile_disc(bounded_slowdown, 0.9) AS bounded_slowdown_p90,
        avg((overtaken_by > 0)::INT) AS overtaken_share,
        avg(overtaken_by) AS overtaken_by_mean
    FROM judged
    GROUP BY GROUPING SETS ((), (width_class))
),
unfairness AS (
    SELECT
        grouping(width_class) = 0 AS by_width,
        grouping("user") = 0 AS by_user,
        grouping(account) = 0 AS by_account,
        coalesce(width_class, "user", account) AS dimension_value,
        avg(greatest(re_unfairness, 0)) AS re_unfairness,
        sum(greatest(re_unfairness, 0)) / nullif(sum(re_consumed), 0) AS re_unfairness_share,
        avg((re_unfairness > 0)::INT) AS re_treated_unfairly_share,
        avg(re_unfairness) AS re_unfairness_net,
        sum(re_consumed) AS consumed
    FROM judged
    GROUP BY GROUPING SETS ((), (width_class), ("user"), (account))
),
hours AS (
    SELECT
        (isodow(arrived) - 1) * 24 + hour(arrived) AS of_week,
        avg(wait_s) AS value
    FROM (SELECT wait_s, make_timestamp(arrival_time * 1000000) AS arrived FROM judged)
    GROUP BY of_week
)
SELECT
    metric,
    CASE WHEN by_width THEN 'width_class' WHEN by_account THEN 'account' ELSE 'all' END
        AS dimension,
    dimension_value,
    value
FROM (
    UNPIVOT waits ON wait_mean, wait_median, wait_p90, wait_p99, wait_max
    INTO NAME metric VALUE value
)
UNION ALL
SELECT metric, CASE WHEN by_width THEN 'width_class' ELSE 'all' END, dimension_value, value
FROM (
    UNPIVOT slowdowns ON COLUMNS (* EXCLUDE (by_width, dimension_value))
    INTO NAME metric VALUE value
)
UNION ALL
SELECT
    metric,
    CASE
        WHEN by_width THEN 'width_class'
        WHEN by_user THEN 'user'
        WHEN by_account THEN 'account'
        ELSE 'all'
    END,
    dimension_value,
    value
FROM (
    UNPIVOT unfairness ON COLUMNS (* EXCLUDE (by_width, by_user, by_account, dimension_value))
    INTO NAME metric VALUE value
)
UNION ALL
SELECT 'wait_mean', 'hour_of_week', of_week::VARCHAR, value FROM hours

-- Waits and shortfalls of each account by period.
-- $account VARCHAR = NULL: only this account
-- $cluster VARCHAR = NULL: only this cluster
SELECT
    cluster,
    pool,
    account,
    period,
    attempts,
    tuwt_s,
    nuwt,
    missed_delivered,
    miss_delivered_s,
    re_unfairness_net,
    nuwt - lag(nuwt) OVER (PARTITION BY cluster, pool, account ORDER BY period) AS nuwt_change
FROM account_fairness
WHERE
    schedule = 'observed'
    AND ($account IS NULL OR account = $account)
    AND ($cluster IS NULL OR cluster = $cluster)
ORDER BY cluster, pool, account, period

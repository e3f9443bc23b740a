-- The share of a pool that each account held, hour by hour, beside the one that it was entitled to.
CREATE OR REPLACE VIEW account_shares AS
SELECT
    cluster, pool, period, account, to_timestamp(from_time) AS from_time,
    to_timestamp(to_time) AS to_time, held, entitled, deficit, run_id
FROM share_result
ORDER BY cluster, pool, period, account, share_result.from_time;

COMMENT ON VIEW account_shares IS 'The share of a pool that each account held and the one that it was entitled to, hour by hour; in periods of more than 104 days in longer steps. Hours without demand have no row.';
COMMENT ON COLUMN account_shares.cluster IS 'name of the cluster';
COMMENT ON COLUMN account_shares.pool IS 'set of partitions that share hardware';
COMMENT ON COLUMN account_shares.period IS 'name of the period';
COMMENT ON COLUMN account_shares.account IS 'account charged; in SWF the group';
COMMENT ON COLUMN account_shares.from_time IS 'begin of the hour';
COMMENT ON COLUMN account_shares.to_time IS 'end of the hour';
COMMENT ON COLUMN account_shares.held IS 'mean dominant share in use: the greatest fraction of the capacity, over all resources; 1: all of the pool';
COMMENT ON COLUMN account_shares.entitled IS 'mean dominant share under dominant-resource fairness, by the shares of the site (else equal ones), at most what the account demanded; 1: all of the pool';
COMMENT ON COLUMN account_shares.deficit IS 'time integral of entitled − held where it is positive; s of the whole pool';
COMMENT ON COLUMN account_shares.run_id IS 'run that computed the row; see runs';

-- The configuration with which the figures of a cluster were computed, as JSON: those of the period
-- of an instant (epoch s), else the latest ones.
-- parameters: cluster VARCHAR, at BIGINT
SELECT config::VARCHAR AS settings
FROM run
WHERE cluster = $cluster AND stage = 'compute'
ORDER BY coalesce(from_time <= $at AND to_time > $at, false) DESC, to_time DESC NULLS LAST, period
LIMIT 1

-- The mails of a cluster's reports, oldest change first.
-- parameters: cluster VARCHAR
SELECT run_id, period, recipient, state, attempts, message_id, report_state, error
FROM delivery
WHERE cluster = $cluster
ORDER BY updated_at NULLS FIRST, run_id, recipient

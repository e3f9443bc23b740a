-- Mark a mail as due if it is not in the ledger, or in the state that it may leave.
-- parameters: run_id VARCHAR, report VARCHAR, recipient VARCHAR, cluster VARCHAR, period VARCHAR, message_id VARCHAR, now BIGINT, leave VARCHAR
INSERT INTO delivery (
    run_id, report, recipient, cluster, period, state, attempts, message_id, updated_at
)
VALUES ($run_id, $report, $recipient, $cluster, $period, 'claimed', 0, $message_id, $now)
ON CONFLICT (run_id, report, recipient) DO UPDATE SET state = 'claimed', updated_at = $now
WHERE delivery.state = $leave
RETURNING attempts

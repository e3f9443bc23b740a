-- Change the state of a mail; no row if it is not in the expected state.
-- parameters: run_id VARCHAR, report VARCHAR, recipient VARCHAR, leave VARCHAR, state VARCHAR, tried BIGINT, report_state VARCHAR, error VARCHAR, now BIGINT
UPDATE delivery
SET
    state = $state,
    attempts = attempts + $tried,
    report_state = coalesce($report_state, report_state),
    error = $error,
    updated_at = $now
WHERE run_id = $run_id AND report = $report AND recipient = $recipient AND state = $leave
RETURNING attempts

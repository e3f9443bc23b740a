-- Delete unsent mails with earlier versions of a report.
-- parameters: cluster VARCHAR, period VARCHAR, recipient VARCHAR, run_id VARCHAR
DELETE FROM delivery
WHERE cluster = $cluster AND period = $period AND recipient = $recipient AND run_id <> $run_id
    AND state = 'claimed'
RETURNING run_id

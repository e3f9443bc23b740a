-- Mails per report and recipient; empty until delivery is configured.
CREATE OR REPLACE VIEW deliveries AS
SELECT
    run_id,
    report,
    recipient,
    state,
    attempts,
    message_id,
    to_timestamp(updated_at) AS updated_at,
    error
FROM delivery;

COMMENT ON VIEW deliveries IS 'Mails per report and recipient; empty until delivery is configured.';
COMMENT ON COLUMN deliveries.run_id IS 'run of the report';
COMMENT ON COLUMN deliveries.report IS 'file of the report';
COMMENT ON COLUMN deliveries.recipient IS 'address';
COMMENT ON COLUMN deliveries.state IS 'claimed, sending, sent, refused or unknown';
COMMENT ON COLUMN deliveries.attempts IS 'tries so far';
COMMENT ON COLUMN deliveries.message_id IS 'stable id of the mail';
COMMENT ON COLUMN deliveries.updated_at IS 'last change';
COMMENT ON COLUMN deliveries.error IS 'what the mail server said';

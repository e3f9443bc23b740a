-- Mails, one for each report and recipient.
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

COMMENT ON VIEW deliveries IS 'Mails, one for each report and recipient; empty where none is configured.';
COMMENT ON COLUMN deliveries.run_id IS 'run of the report';
COMMENT ON COLUMN deliveries.report IS 'CLUSTER/PERIOD';
COMMENT ON COLUMN deliveries.recipient IS 'address';
COMMENT ON COLUMN deliveries.state IS 'claimed (due), sending, sent, refused, or unknown: handed over, but nobody said it was taken';
COMMENT ON COLUMN deliveries.attempts IS 'tries so far';
COMMENT ON COLUMN deliveries.message_id IS 'id of the mail, the same at each try';
COMMENT ON COLUMN deliveries.updated_at IS 'last change of state';
COMMENT ON COLUMN deliveries.error IS 'what the mail server said last; NULL when sent';

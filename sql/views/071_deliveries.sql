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

COMMENT ON VIEW deliveries IS 'Mails, one for each report and recipient; empty if no mail is configured.';
COMMENT ON COLUMN deliveries.run_id IS 'run of the report';
COMMENT ON COLUMN deliveries.report IS 'CLUSTER/PERIOD';
COMMENT ON COLUMN deliveries.recipient IS 'address';
COMMENT ON COLUMN deliveries.state IS 'claimed (due), sending, sent, refused, unknown (handed over, but the server did not confirm it), or quiet (left out: mail.quiet)';
COMMENT ON COLUMN deliveries.attempts IS 'attempts so far';
COMMENT ON COLUMN deliveries.message_id IS 'Message-ID of the mail, the same in each attempt';
COMMENT ON COLUMN deliveries.updated_at IS 'last change of state';
COMMENT ON COLUMN deliveries.error IS 'last answer of the mail server; NULL if sent';

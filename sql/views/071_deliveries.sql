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
COMMENT ON COLUMN deliveries.run_id IS 'run that made the report; see runs';
COMMENT ON COLUMN deliveries.report IS 'cluster and period of the report: CLUSTER/PERIOD';
COMMENT ON COLUMN deliveries.recipient IS 'mail address of the recipient';
COMMENT ON COLUMN deliveries.state IS 'state of the mail: claimed (due), sending, sent, refused, unknown (handed over, but the server did not confirm it), or quiet (left out: mail.quiet)';
COMMENT ON COLUMN deliveries.attempts IS 'number of attempts to send the mail';
COMMENT ON COLUMN deliveries.message_id IS 'Message-ID of the mail, the same in each attempt';
COMMENT ON COLUMN deliveries.updated_at IS 'when state changed last';
COMMENT ON COLUMN deliveries.error IS 'last answer of the mail server; NULL if sent';

-- Mails that a run was handing over when it ended: it is unknown whether the server accepted them.
-- parameters: error VARCHAR, now BIGINT
UPDATE delivery
SET state = 'unknown', error = $error, updated_at = $now
WHERE state = 'sending'
RETURNING report, recipient

-- Mails that a run was handing over when it ended: nobody knows whether the server took them.
-- parameters: error VARCHAR, now BIGINT
UPDATE delivery
SET state = 'unknown', error = $error, updated_at = $now
WHERE state = 'sending'
RETURNING report, recipient

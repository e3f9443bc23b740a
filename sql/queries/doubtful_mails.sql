-- Mails that may not have arrived, and were not sent again: cluster, report and recipient.
-- parameters: addresses VARCHAR[]
SELECT cluster, report, min(recipient) AS recipient
FROM delivery
WHERE list_contains($addresses, lower(recipient))
GROUP BY cluster, report, lower(recipient)
HAVING bool_or(state IN ('unknown', 'sending')) AND NOT bool_or(state = 'sent')
ORDER BY cluster, report, lower(recipient)

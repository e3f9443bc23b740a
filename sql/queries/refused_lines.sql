-- The first refused lines of one input, with their reasons.
-- parameters: input_id VARCHAR, most BIGINT
SELECT line, reason FROM refused WHERE input_id = $input_id ORDER BY line LIMIT $most

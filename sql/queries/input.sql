-- What is known of one input; no row where the store has not seen it.
-- parameters: input_id VARCHAR
SELECT file, records, refused, steps, elsewhere FROM inputs WHERE input_id = $input_id

-- One input; no row if the store does not know it.
-- parameters: input_id VARCHAR
SELECT file, records, refused, steps, elsewhere, header FROM inputs WHERE input_id = $input_id

-- The jobs of some inputs that other inputs have too.
-- parameters: cluster VARCHAR, inputs VARCHAR[]
SELECT DISTINCT job_id FROM records
WHERE cluster = $cluster AND input_id NOT IN (SELECT unnest($inputs::VARCHAR[])) AND job_id IN (
    SELECT job_id FROM records
    WHERE cluster = $cluster AND input_id IN (SELECT unnest($inputs::VARCHAR[]))
)
ORDER BY job_id

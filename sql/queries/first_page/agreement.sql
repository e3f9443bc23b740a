-- How many of the decisions the best replay of a pool matches in a period (SPEC §10); NULL: unknown.
-- parameters: cluster VARCHAR, period VARCHAR, pool VARCHAR
SELECT max(value) FROM fidelity_result
WHERE cluster = $cluster AND period = $period AND pool = $pool
    AND metric IN ('agreement', 'agreement_nodes')

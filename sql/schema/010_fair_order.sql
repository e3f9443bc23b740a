-- The order in which it would be fair to be served, behind the fair start times of a pool.

ALTER TABLE fidelity_result ADD COLUMN fair_order VARCHAR DEFAULT 'fcfs';

-- What single nodes lacked while enough was free on all nodes together: for each resource, the waiting
-- time, and the request per node with most of it.
-- parameters: cluster VARCHAR, schedule VARCHAR, from_time BIGINT, to_time BIGINT, whole BOOLEAN
-- archive: from_time, to_time
WITH lacks AS (
    SELECT
        pool, greatest(coalesce(nodes, 1), 1) AS nodes,
        unnest([
            {'lack': 'gpus', 'requested': gpus, 'lacked_s': cause_nodes_gpus_s},
            {'lack': 'mem', 'requested': mem_bytes, 'lacked_s': cause_nodes_mem_s},
            {'lack': 'cpus', 'requested': cpus, 'lacked_s': cause_nodes_cpus_s},
            {'lack': 'feature', 'requested': NULL, 'lacked_s': cause_nodes_feature_s},
            {'lack': 'whole', 'requested': NULL, 'lacked_s': cause_nodes_whole_s},
            {'lack': 'several', 'requested': NULL, 'lacked_s': cause_nodes_several_s}
        ], recursive := true)
    FROM all_results
    WHERE cluster = $cluster AND schedule = $schedule AND standing = 'ended' AND cause_nodes_s > 0
        AND ($whole OR (end_time >= $from_time AND end_time < $to_time))
),
requests AS (
    SELECT
        pool, lack, nodes, ceil(requested / nodes)::BIGINT AS amount,
        sum(lacked_s::DECIMAL(18, 3)) AS of_request_s, count(*) AS jobs
    FROM lacks
    WHERE lacked_s > 0
    GROUP BY ALL
)
SELECT
    pool, lack, (sum(of_request_s) OVER of_lack)::DOUBLE AS lacked_s,
    (sum(jobs) OVER of_lack)::BIGINT AS attempts, nodes, amount,
    (of_request_s / sum(of_request_s) OVER of_lack)::DOUBLE AS part
FROM requests
WINDOW of_lack AS (PARTITION BY pool, lack)
QUALIFY row_number() OVER (PARTITION BY pool, lack ORDER BY of_request_s DESC, nodes, amount) = 1
ORDER BY pool, lacked_s DESC, lack

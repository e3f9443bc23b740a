-- The zone of a cluster, and what was inferred about it when a period was computed.
-- parameters: cluster VARCHAR, period VARCHAR
SELECT
    coalesce(run_note.zone, clusters.zone) AS zone,
    coalesce(run_note.notes, clusters.notes)::VARCHAR AS notes
FROM clusters
LEFT JOIN run_note ON run_note.cluster = clusters.cluster AND run_note.period = $period
WHERE clusters.cluster = $cluster

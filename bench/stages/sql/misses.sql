-- By how much fair start times were missed.
SELECT
    line,
    greatest(start_time - fst_strict, 0) AS miss_strict_s,
    greatest(start_time - fst_relaxed, 0) AS miss_relaxed_s,
    greatest(
        1, (fst_strict + end_time - start_time - arrival_time) / greatest(runtime_s, 10)
    ) AS fair_slowdown
FROM described

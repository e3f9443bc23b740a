-- Usage of each user at each midnight: of the last seven days, each weighing 0.7 of the one after.
WITH parts AS (
    SELECT
        "user" AS entity,
        least(cpus / getvariable('capacity'), 1) AS penalty,
        unnest(range(
            (start_time - getvariable('midnight')) // 86400 + 1,
            (end_time - 1 - getvariable('midnight')) // 86400 + 2
        )) AS day,
        start_time,
        end_time
    FROM attempts
    WHERE end_time > start_time
),
added AS (
    SELECT
        entity,
        day,
        sum(penalty * (least(end_time, until) - greatest(start_time, until - 86400))) AS used
    FROM (SELECT *, getvariable('midnight') + 86400 * day AS until FROM parts)
    WHERE day <= getvariable('days')
    GROUP BY entity, day
),
weighed AS (
    SELECT entity, day + ago AS day, sum(used * pow(0.7, ago)) AS usage
    FROM added, range(7) AS ages (ago)
    WHERE day + ago <= getvariable('days')
    GROUP BY entity, day + ago
)
SELECT getvariable('midnight') + 86400 * day AS as_of, entity, usage
FROM weighed
ORDER BY as_of, entity

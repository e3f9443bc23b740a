-- Usage of each user at each midnight; a week halves its weight.
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
        sum(penalty * 604800 / ln(2) * (
            pow(2, (least(end_time, until) - until) / 604800)
            - pow(2, (greatest(start_time, until - 86400) - until) / 604800)
        )) AS usage
    FROM (SELECT *, getvariable('midnight') + 86400 * day AS until FROM parts)
    WHERE day <= getvariable('days')
    GROUP BY entity, day
),
every AS (
    SELECT entity, day
    FROM (SELECT entity, min(day) AS first FROM added GROUP BY entity),
        range(1, getvariable('days') + 1) AS days (day)
    WHERE day >= first
)
SELECT
    getvariable('midnight') + 86400 * day AS as_of,
    entity,
    pow(2, -day / 7) * sum(coalesce(usage, 0) * pow(2, day / 7)) OVER (
        PARTITION BY entity ORDER BY day
    ) AS usage
FROM every
LEFT JOIN added USING (entity, day)
ORDER BY as_of, entity

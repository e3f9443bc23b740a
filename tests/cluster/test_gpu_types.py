"""A made cluster with two types of GPUs, one of them scarce."""

from pathlib import Path
from random import Random

import pytest

from audit.config import Config
from audit.model import Pool, Resource
from audit.oneoff.audit import AuditOptions, audit
from audit.pipeline.opening import LogRequest, Session
from audit.pipeline.published import open_published
from audit.store import database
from tests import stores
from tests.cluster.test_hardware import CPUS, DAY, GPUS, Job, Ran, clock, run

NODES = {"c": 4, "a": 3, "h": 4}
"""Nodes without GPUs, with A100s, and with H100s."""
TYPES = {"a": "a100", "h": "h100"}

FITTED = """
    SELECT
        sum(wait_s)
        - sum(cause_earlier_s + cause_later_s + cause_own_s + cause_unavailable_s + cause_nodes_s)
    FROM job_fairness
    WHERE job_id IN ({})
"""


def jobs(random: Random) -> list[Job]:
    """Return three weeks of jobs that ask for 90 % of the A100s, half of the H100s, or any."""
    found: list[Job] = []
    at = 0
    while at < 21 * DAY:
        at += random.randrange(1, 700)
        kind = random.choices(["batch", "a100", "h100", "any"], [40, 40, 25, 5])[0]
        gpus = 0 if kind == "batch" else random.choice([1, 1, 2, 4])
        length = random.randrange(600, 7_000 if gpus else 9 * 3_600)
        found.append(Job(len(found) + 1, at, kind, 8 * gpus or 4, gpus, length))
    return found


def site() -> tuple[dict[str, tuple[int, int]], dict[str, list[str]]]:
    """Return the CPUs and GPUs of nodes, and the nodes of each kind of jobs."""
    free = {
        f"{kind}{k}": (CPUS, GPUS if kind in TYPES else 0)
        for kind, count in NODES.items()
        for k in range(count)
    }
    of_types = {TYPES[kind]: [name for name in free if name[0] == kind] for kind in TYPES}
    return free, {"batch": list(free), "any": [*of_types["a100"], *of_types["h100"]], **of_types}


def write_log(folder: Path, ran: list[Ran], *, types: bool) -> Path:
    """Write the log as sacct -P would, with or without the types of GPUs."""
    lines = [
        "JobID|User|Account|Partition|State|Submit|Start|End|Timelimit|AllocTRES|ReqTRES|NodeList"
    ]
    for job, start, node in ran:
        plain = f"cpu={job.cpus},node=1" + (f",gres/gpu={job.gpus}" if job.gpus else "")
        typed = f",gres/gpu:{TYPES[node[0]]}={job.gpus}" if job.gpus and types else ""
        requested = plain + (typed if job.partition != "any" else "")
        times = "|".join(clock(t) for t in (job.submit, start, start + job.length))
        who = f"{job.number}|u{job.number * 7 % 301}|a{job.number % 3}|main|COMPLETED"
        lines.append(f"{who}|{times}|10:00:00|{plain}{typed}|{requested}|{node}")
    path = folder / "made.psv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def results() -> list[tuple[Ran, float]]:
    return list(run(*site(), jobs(Random(5))))


def audited(folder: Path, results: list[tuple[Ran, float]], *, types: bool) -> tuple[Pool, int]:
    """Return the pool, and the seconds of waiting for A100s in which such a job fitted."""
    log = write_log(folder, [one for one, _ in results], types=types)
    settings = Config()
    outcome = audit(
        Session(LogRequest(logs=[log]), settings, fit=True), AuditOptions(out=folder, pdf=False)
    )
    (pool,) = open_published(outcome.database, settings).setting.pools
    numbers = ",".join(f"'{one.job.number}'" for one, _ in results if one.job.partition == "a100")
    with stores.published(outcome.database) as con:
        assert database.rows(con, "SELECT rule FROM rules") == []
        [(fitted,)] = database.rows(con, FITTED.format(numbers))
    return pool, round(fitted)


@pytest.mark.thorough
def test_the_scarce_type_is_found(tmp_path: Path, results: list[tuple[Ran, float]]) -> None:
    pool, fitted = audited(tmp_path, results, types=True)
    amounts = dict(pool.amounts)
    assert pool.resource is Resource.cpus
    assert amounts["gpus:a100"] == NODES["a"] * GPUS
    assert amounts["gpus:h100"] == NODES["h"] * GPUS
    assert amounts["gpus"] <= (NODES["a"] + NODES["h"]) * GPUS
    of_type = [(one, fits) for one, fits in results if one.job.partition == "a100"]
    waited = sum(one.start - one.job.submit for one, _ in of_type)
    assert abs(fitted - sum(fits for _, fits in of_type)) < 0.01 * waited


@pytest.mark.thorough
def test_without_types_the_scarcity_is_hidden(
    tmp_path: Path, results: list[tuple[Ran, float]]
) -> None:
    pool, fitted = audited(tmp_path, results, types=False)
    assert {"gpus:a100", "gpus:h100"}.isdisjoint(dict(pool.amounts))
    of_type = [(one, fits) for one, fits in results if one.job.partition == "a100"]
    waited = sum(one.start - one.job.submit for one, _ in of_type)
    assert fitted > sum(fits for _, fits in of_type) + 0.25 * waited

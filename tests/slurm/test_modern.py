"""A modern Slurm cluster, recorded twice: causes of waits, starts and shares, against Slurm's own.

The bounds are the figures reached; tests/data/modern/README.md explains what is missing.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from audit import config
from audit.cluster import charges, fairshare
from audit.cluster.delivered import held_until
from audit.metrics.attempts.account import Durations
from audit.metrics.attempts.account import account as booked_waits
from audit.metrics.attempts.reasons import NO_HOLDS, hold_kind
from audit.model import EVIDENCE
from audit.oneoff.sshare.inputs import SshareRequest
from audit.oneoff.sshare.recompute import SshareResult, recompute
from audit.pipeline.inferring import compared_with
from audit.registry.causes import COLUMNS
from audit.scenario.delivered.agreement import agreement_on_nodes
from bench.modern import ceiling, evidence, reasons
from bench.modern.captured import CAPTURES, OF_SLURM, Capture
from bench.modern.record import CLUSTERS

PERIOD_S: Final = 60
"""PriorityCalcPeriod."""
ONE_OFTEN: Final = ("north", pytest.param("south", marks=pytest.mark.thorough))
"""Both clusters, of which the second only runs with the thorough tests."""


def test_both_clusters_got_the_same_jobs() -> None:
    submitted = [[*Capture(CAPTURES / name).keys().values()] for name in CLUSTERS]
    assert submitted[0] == submitted[1]
    assert len(submitted[0]) == 286


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "least"), [("north", 0.89), pytest.param("south", 0.88, marks=pytest.mark.slow)]
)
def test_causes_agree_with_squeue(name: str, least: float, tmp_path: Path) -> None:
    """By time, where squeue showed a reason; see tests/data/modern/README.md for the rest."""
    capture = Capture(CAPTURES / name)
    shown = [*reasons.compared(capture, tmp_path)]
    assert len(shown) > 6_000
    assert reasons.agreement(shown) >= least


@pytest.mark.thorough
@pytest.mark.parametrize("name", ONE_OFTEN)
def test_evidence_halves_what_is_unexplained(name: str, tmp_path: Path) -> None:
    """docs/report/evidence.md has all figures; squeue once a minute and the logs."""
    capture = Capture(CAPTURES / name)
    log, of = capture.site(tmp_path), evidence.files(capture)
    nothing = pl.DataFrame(schema=EVIDENCE)
    shares = [
        evidence.unexplained(evidence.with_files(log, said, limits=False))
        for said in (
            nothing,
            pl.concat([of.squeue, of.sprio, of.log]),
            pl.concat(of),
            pl.concat(of).with_columns(expected_start=pl.lit(None, pl.Int64)),
        )
    ]
    assert shares[1] < shares[0] / 3
    assert shares[2] < shares[0] / 6
    assert shares[3] < shares[0] / 2


def test_drains_are_dated_to_the_second(tmp_path: Path) -> None:
    capture = Capture(CAPTURES / "north")
    log, of = capture.site(tmp_path), evidence.files(capture)
    commands = [at for at, act in capture.blocks("acts.txt") if "state=drain" in act]
    assert evidence.drains(evidence.with_files(log, of.log)) == tuple(map(int, commands))
    late = [a - b for a, b in zip(evidence.drains(log), map(int, commands), strict=True)]
    assert late == [435, 287]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "least"), [("north", (0.57, 0.68, 0.71)), ("south", (0.59, 0.73, 0.75))]
)
def test_evidence_of_drains_and_holds_raises_agreement_by_nodes(
    name: str, least: tuple[float, ...], tmp_path: Path
) -> None:
    """docs/decisions.md has the causes of what is left."""
    capture = Capture(CAPTURES / name)
    log, of = capture.site(tmp_path), evidence.files(capture)
    usage = fairshare.of_site(log.cluster, tmp_path)
    nothing = pl.DataFrame(schema=EVIDENCE)
    shares = []
    for said in (nothing, of.log, pl.concat([of.log, of.squeue])):
        known = evidence.with_files(log, said)
        (pool,) = known.setting.pools
        scenario = compared_with(known.described, pool, known.setting, usage)
        until = held_until(known.described, pool, NO_HOLDS)
        shares.append(agreement_on_nodes(scenario, pool.policy, held_until=until) or 0.0)
    assert shares == sorted(shares)
    assert all(share >= bound for share, bound in zip(shares, least, strict=True))


@pytest.mark.parametrize("name", ONE_OFTEN)
def test_the_last_reason_explains_only_its_part_of_a_wait(name: str, tmp_path: Path) -> None:
    """Every wait is booked as a whole, whatever reason sacct recorded last."""
    log = Capture(CAPTURES / name).site(tmp_path)
    (pool,) = log.setting.pools
    made = booked_waits(
        log.described, pool, log.setting.now, durations=Durations(PERIOD_S)
    ).attempts
    started = made.filter(pl.col("start_time").is_not_null())
    assert started.height > 400
    booked = started.select(pl.sum_horizontal(COLUMNS)).to_series()
    assert booked.to_list() == pytest.approx(started["wait_s"].to_list())
    held = started.filter(hold_kind(started).is_not_null())
    assert held.height > 50
    share = held.select(pl.col("cause_held_s").sum() / pl.col("wait_s").sum()).item()
    assert 0 < share < 0.1


@pytest.mark.thorough
def test_both_clusters_started_many_jobs_at_the_same_time(tmp_path: Path) -> None:
    """The ceiling of any replay."""
    found = ceiling.ceilings({name: ceiling.observed(name, tmp_path / name) for name in CLUSTERS})
    assert {name: (one.judged, round(one.share, 3)) for name, one in found.items()} == {
        "all": ((143, 147), 0.721),
        "whole nodes": ((13, 13), 0.731),
        "shared nodes": ((130, 134), 0.72),
        "cpu": ((43, 49), 0.576),
        "bigmem": ((1, 1), 0.0),
        "gpu": ((52, 51), 0.835),
        "debug": ((24, 23), 0.83),
        "scavenger": ((10, 10), 0.6),
    }


@pytest.mark.thorough
def test_a_replay_starts_most_of_those_jobs_at_that_time(tmp_path: Path) -> None:
    """Of submissions, limits, nodes, walltimes and runtimes, without any later state."""
    truths = {name: ceiling.observed(name, tmp_path / name) for name in CLUSTERS}
    replays = {
        name: ceiling.starts(ceiling.replayed(tmp_path / name), Capture(CAPTURES / name))
        for name in CLUSTERS
    }
    found = ceiling.compared(truths, replays)
    assert found["all"].share >= 0.66
    assert found["whole nodes"].share >= 0.8
    assert found["shared nodes"].share >= 0.65
    assert found["gpu"].share >= 0.84
    assert found["debug"].share >= 0.82


# --- sshare


def accounted(capture: Capture) -> Iterator[tuple[str, str, int, int]]:
    """Return account, user, start and end of each attempt that ran."""
    header, *rows = (line.split("\x1f") for line in capture.text("sacct.txt").splitlines())
    for row in rows:
        record = dict(zip(header, row, strict=True))
        if record["Start"] not in {"Unknown", "None"}:
            yield record["Account"], record["User"], epoch(record["Start"]), epoch(record["End"])


def epoch(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def unsure(capture: Capture, at: int, tick: int) -> set[tuple[str, str]]:
    """Return the users whose usage depends on what came first in one second.

    These are ends in the second of a tick, and starts and ends in the second of the sample.
    """
    found = set()
    for account, user, start, end in accounted(capture):
        on_tick = start <= at and end <= at + 1 and (end - tick) % PERIOD_S == 0
        if on_tick or {start, end} & {at - 1, at, at + 1}:
            found.add((account, user))
    return found


@pytest.mark.parametrize("name", ONE_OFTEN)
def test_sshare_is_recomputed(name: str, tmp_path: Path) -> None:
    """RawUsage to the printed digit where the order within a second is irrelevant; all ranks."""
    capture = Capture(CAPTURES / name)
    pairs = (line.split() for line in capture.text("ticks.txt").splitlines())
    ticks = {int(at): int(tick) for at, tick in pairs}
    for file in ("sacct.txt", *OF_SLURM.values()):
        (tmp_path / file).write_text(capture.text(file))
    equal = 0
    for at, said in [*capture.blocks("sshare_samples.txt")][::3]:
        printed = [line.split("|") for line in said.splitlines()[1:]]
        made = recomputed(tmp_path, int(at), ticks[int(at)]).cells()[1:]
        doubtful = unsure(capture, int(at), ticks[int(at)])
        for ours, theirs in zip(made, printed, strict=True):
            assert ours[:4] == theirs[:4]
            if theirs[1] and (theirs[0].strip(), theirs[1]) not in doubtful:
                assert ours[4] == theirs[4], (at, theirs)
                equal += ours[4] != "0"
            assert float(ours[4]) == pytest.approx(float(theirs[4]), rel=2.1e-3)
            assert ours[7] == theirs[7], (at, theirs)
    assert equal >= {"north": 20, "south": 40}[name]


def recomputed(folder: Path, at: int, tick: int) -> SshareResult:
    request = SshareRequest(
        sacct=[folder / "sacct.txt"],
        associations=folder / OF_SLURM["associations"],
        qos=folder / OF_SLURM["qos"],
        partitions=folder / OF_SLURM["partitions"],
        slurm_conf=folder / OF_SLURM["slurm_conf"],
        as_of=str(at),
        phase=str(tick),
    )
    return recompute(request, config.Config())


def test_what_requests_would_have_been_charged(tmp_path: Path) -> None:
    """Billing of AllocTRES and ReqTRES, as slurmctld counts them, in whole units."""
    log = Capture(CAPTURES / "north").site(tmp_path)
    assert log.cluster is not None
    shares = fairshare.read(log.cluster.usage, tmp_path, log.cluster.name)
    billed = charges.charged(log.described, log.setting, shares)
    billed = charges.beyond_requests(billed, log.setting, shares)
    more = billed.filter(pl.col("cpus") > pl.col("req_cpus"), pl.col("start_time").is_not_null())
    factor = more["qos"].replace_strict(dict(shares.factors), default=1.0)
    ours = more.select(
        *("job_id", "start_time"),
        allocated=pl.col("penalty") / factor,
        requested=(pl.col("penalty") - pl.col("beyond_penalty")) / factor,
    )
    shown = billing(tmp_path / "sacct.txt")
    compared = [
        (int(allocated + 1e-9), max(int(requested + 1e-9), 1)) == shown[job, start]
        for job, start, allocated, requested in ours.iter_rows()
    ]
    assert compared == [True] * 33


def billing(path: Path) -> dict[tuple[str, int], tuple[int, int]]:
    """Return what sacct shows as billing of the allocation and of the request, by job and start."""
    header, *rows = (line.split("\x1f") for line in path.read_text().splitlines())
    records = (dict(zip(header, row, strict=True)) for row in rows)

    def billed(tres: str) -> int:
        return int(dict(part.split("=") for part in tres.split(",")).get("billing", 0))

    return {
        (record["JobID"], epoch(record["Start"])): (
            billed(record["AllocTRES"]),
            billed(record["ReqTRES"]),
        )
        for record in records
        if record["AllocTRES"]
    }

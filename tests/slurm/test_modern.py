"""A modern Slurm cluster, recorded twice: causes of waits, starts and shares, against Slurm's own.

The bounds are the figures reached; tests/data/modern/README.md explains what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from audit import config
from audit.oneoff.sshare.inputs import Request
from audit.oneoff.sshare.recompute import Outcome, recompute
from tests.slurm.modern import ceiling, reasons
from tests.slurm.modern.captured import CAPTURES, OF_SLURM, Capture
from tests.slurm.modern.record import CLUSTERS

PERIOD_S: Final = 60
"""PriorityCalcPeriod."""


def test_both_clusters_got_the_same_jobs() -> None:
    submitted = [[*Capture(CAPTURES / name).keys().values()] for name in CLUSTERS]
    assert submitted[0] == submitted[1]
    assert len(submitted[0]) == 286


@pytest.mark.parametrize(
    ("name", "least"), [("north", 0.88), pytest.param("south", 0.87, marks=pytest.mark.slow)]
)
def test_causes_agree_with_squeue(name: str, least: float, tmp_path: Path) -> None:
    """By time, where squeue showed a reason; see tests/data/modern/README.md for the rest."""
    capture = Capture(CAPTURES / name)
    shown = [*reasons.compared(capture, capture.site(tmp_path))]
    assert len(shown) > 6_000
    assert reasons.agreement(shown) >= least


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


@pytest.mark.parametrize("name", CLUSTERS)
def test_sshare_is_recomputed(name: str, tmp_path: Path) -> None:
    """RawUsage to the printed digit where the order within a second is irrelevant; all ranks."""
    capture = Capture(CAPTURES / name)
    pairs = (line.split() for line in capture.text("ticks.txt").splitlines())
    ticks = {int(at): int(tick) for at, tick in pairs}
    for file in ("sacct.txt", *OF_SLURM.values()):
        (tmp_path / file).write_text(capture.text(file))
    equal = 0
    for at, said in capture.blocks("sshare_samples.txt"):
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
    assert equal >= {"north": 70, "south": 128}[name]


def recomputed(folder: Path, at: int, tick: int) -> Outcome:
    request = Request(
        sacct=[folder / "sacct.txt"],
        associations=folder / OF_SLURM["associations"],
        qos=folder / OF_SLURM["qos"],
        partitions=folder / OF_SLURM["partitions"],
        slurm_conf=folder / OF_SLURM["slurm_conf"],
        as_of=str(at),
        phase=str(tick),
    )
    return recompute(request, config.Config())

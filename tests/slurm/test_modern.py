"""A modern Slurm cluster, recorded twice: causes of waits, starts and shares, against Slurm's own.

The bounds are the figures reached; see docs/simulation.md and tests/data/modern/README.md.
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


@pytest.mark.parametrize(("name", "least"), [("north", 0.0), ("south", 0.0)])
def test_causes_agree_with_squeue(name: str, least: float, tmp_path: Path) -> None:
    capture = Capture(CAPTURES / name)
    shown = [*reasons.compared(capture, capture.site(tmp_path))]
    assert len(shown) > 6_000
    assert reasons.agreement(shown) >= least


def test_starts_are_foretold(tmp_path: Path) -> None:
    found = ceiling.figures(tmp_path)
    assert {group: found[group].judged for group in ("whole nodes", "shared nodes")} == {}
    assert round(found["all"].ceiling, 3) == 0
    assert found["all"].ours >= 0


# --- sshare


def accounted(capture: Capture) -> Iterator[tuple[str, str, int, int]]:
    """Return account, user, start and end of each attempt that ran."""
    header, *rows = (line.split("\x1f") for line in capture.text("sacct.txt").splitlines())
    for row in rows:
        record = dict(zip(header, row, strict=True))
        if record["Start"] not in {"Unknown", "None"}:
            instants = (
                int(datetime.fromisoformat(record[name]).replace(tzinfo=UTC).timestamp())
                for name in ("Start", "End")
            )
            yield record["Account"], record["User"], *instants


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
    """RawUsage to the printed digit, ranks exactly, where nothing else happened in that second."""
    capture = Capture(CAPTURES / name)
    ticks = dict(map(int, line.split()) for line in capture.text("ticks.txt").splitlines())
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
            assert float(ours[4]) == pytest.approx(float(theirs[4]), rel=2e-3, abs=20)
            assert ours[7] == theirs[7], (at, theirs)
    assert equal > 40


def recomputed(folder: Path, at: int, tick: int) -> Outcome:
    files = {option: folder / name for option, name in OF_SLURM.items()}
    request = Request(sacct=[folder / "sacct.txt"], as_of=str(at), phase=str(tick), **files)
    return recompute(request, config.Config())

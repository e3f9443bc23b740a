"""A ``sacct`` that fails in every way: when it works again, the figures are those without."""

import random
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from audit.config.places import Site
from audit.errors import AuditError
from audit.nightly.run import run
from audit.nightly.stages import Night
from tests.faults import sacct
from tests.nightly import test_run
from tests.nightly.test_run import DAY, FIGURES
from tests.nightly.test_timetable import epoch

BEGIN = epoch("2026-03-20T00:00+00:00")
NIGHTS = 5
COLUMNS = (
    *(
        "JobID",
        "User",
        "Account",
        "Partition",
        "QOS",
        "State",
        "Submit",
        "Eligible",
        "Start",
        "End",
    ),
    *("ElapsedRaw", "Suspended", "TimelimitRaw", "NNodes", "AllocCPUS", "AllocTRES"),
)
TABLES = ("job_fairness", "user_fairness", "account_fairness", "fairshare_history", "summary")


def rows() -> str:
    """Jobs of some days; the number of each is its hour of the end, and three digits."""
    lines = ["|".join(COLUMNS)]
    for job in range(NIGHTS * 24 * 2 - 8):
        end = BEGIN + 3_600 * (job // 2) + 1_800 * (job % 2) + 900
        start, wait = end - 800, job % 5 * 400

        def shown(at: int) -> str:
            return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")

        cells = (
            *(end // 3_600 * 1000 + job % 2, f"u{job % 3}", f"a{job % 2}", "batch", "normal"),
            *("COMPLETED", *map(shown, (start - wait, start - wait, start, end))),
            *(800, "00:00:00", 60, 1, 1 + job % 4, f"cpu={1 + job % 4},node=1"),
        )
        lines.append("|".join(map(str, cells)))
    return "".join(f"{line}\n" for line in lines)


def night(folder: Path, number: int) -> Night:
    """A night at the end of a day that asks for all windows again."""
    command = (sys.executable, "-I", sacct.__file__, str(folder), "{from_epoch}", "{to_epoch}")
    source = {
        "command": command,
        "since": date(2026, 3, 20),
        "timeout_s": 5,
        "overlap_days": 30,
    }
    settings = test_run.site(folder, zone="UTC", sources=(source,))
    return run(Site(settings, folder), BEGIN + number * DAY + DAY, stages=FIGURES)


def figures(folder: Path) -> dict[str, object]:
    """The figures; runs are named after all they read, also after what was refused."""
    some = {"summary": "WHERE metric <> 're_conservation'"}
    return {
        view: test_run.published(
            folder, f"SELECT * EXCLUDE (run_id) FROM {view} {some.get(view, '')} ORDER BY ALL"
        )
        for view in TABLES
    }


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1, marks=pytest.mark.thorough),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8)),
    ],
)
def test_a_command_that_fails_in_every_way(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for name in ("calm", "disturbed"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "rows").write_text(rows())
        (folder / "plan").write_text("")
    for number in range(NIGHTS):
        assert night(tmp_path / "calm", number).failures == []
        plan = chance.sample(sacct.FAULTS, 4)
        (tmp_path / "disturbed" / "plan").write_text("".join(f"{line}\n" for line in plan))
        done = night(tmp_path / "disturbed", number)
        assert all(isinstance(failure, AuditError) for failure in done.failures)
        (tmp_path / "disturbed" / "plan").write_text("")
    assert night(tmp_path / "disturbed", NIGHTS - 1).failures == []
    assert figures(tmp_path / "disturbed") == figures(tmp_path / "calm")

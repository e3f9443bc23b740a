"""A machine that loses nodes within a log."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from audit.pipeline.opening import LogRequest
from tests.audited import audited

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = "JobID|User|Submit|Start|End|State|AllocCPUS|AllocNodes|NodeList"


def _log(file: Path) -> Path:
    """Four jobs of four hours a day on each of two nodes; after day 50 one of them is gone."""
    lines = [COLUMNS]
    for day in range(100):
        for number, hour in enumerate((0, 5, 10, 15)):
            for node in ("n1", "n2")[: 1 if day >= 50 else 2]:
                submit = FIRST + timedelta(days=day, hours=hour)
                start = submit + timedelta(minutes=5 if day < 50 else 50)
                times = (submit, start, start + timedelta(hours=4))
                said = "|".join(f"{time:%Y-%m-%dT%H:%M:%S}" for time in times)
                user = f"u{(day + number) % 7}"
                lines.append(f"{len(lines)}|{user}|{said}|COMPLETED|16|1|{node}")
    file.write_text("\n".join([*lines, ""]))
    return file


def test_nodes_that_are_gone_lower_the_capacity(tmp_path: Path) -> None:
    request = LogRequest(logs=[_log(tmp_path / "sacct.txt")], zone="UTC")
    outcome, page = audited(request, tmp_path / "out")
    busy = page.strip[-1]
    assert [one.plain for one in busy][1] == "of up to 32 CPUs (2 nodes) were busy"
    assert page.changed.plain.startswith("At almost the same load (67, then 67 %), ")
    assert page.changed.plain.endswith(" The capacity fell by 50 %.")
    assert dict(outcome.lines)["Changed"].startswith("Capacity down 50 %. At almost")

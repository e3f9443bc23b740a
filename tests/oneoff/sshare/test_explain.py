"""`fairaudit sshare --explain`: the same figures as the table, and what is asked wrongly."""

import functools
import re
from collections import Counter

import pytest

from audit import config
from audit.errors import UsageError
from audit.oneoff.sshare.explain import FairShareQuestion, explain
from tests.oneoff.sshare.lab import TICK, recompute, request, samples
from tests.places import SLURM
from tests.studies import commands

LATE = samples()[-1][0]
EARLY = samples()[0][0]


@functools.cache
def figures() -> dict[str, tuple[float, float]]:
    """Usage in hours and FairShare of each user with one association, at the last sample's tick."""
    tick = int(LATE) - (int(LATE) - int(TICK)) % 60
    found = recompute(request("decay", as_of=str(tick), phase=TICK)).rows
    users = Counter(row["User"] for row in found)
    only = [row for row in found if row["User"] and users[row["User"]] == 1]
    return {row["User"]: (row["RawUsage"] / 3600, row["FairShare"]) for row in only}


@pytest.mark.thorough
def test_the_last_line_of_the_course_is_that_of_the_table() -> None:
    for user, (used, factor) in figures().items():
        require_course(user, used, factor)


def require_course(user: str, used: float, factor: float) -> None:
    asked = FairShareQuestion(user, since=EARLY)
    lines, facts, _ = explain(request("decay", as_of=LATE, phase=TICK), asked, config.Config())
    first = lines.index(next(line for line in lines if line.startswith("time")))
    rows = lines[first + 1 : lines.index("", first)]
    last = [float(cell.replace(",", "")) for cell in rows[-1].split()[-2:]]
    assert last[0] == pytest.approx(used, abs=0.006), user
    assert last[1] == pytest.approx(factor, abs=1e-6), user
    assert any(line.startswith(("Back at ", "FairShare is at least ")) for line in lines)
    assert any("half-life" in fact for fact in facts)
    (sum_,) = (line for line in lines if line.startswith("usage "))
    old, less, new, whole = map(float, re.findall(r"[\d.]+", sum_.replace(",", "")))
    assert old - less + new == pytest.approx(whole, abs=0.02)


def test_wrong_questions() -> None:
    asked = request("decay", as_of=LATE, phase=TICK)
    with pytest.raises(UsageError, match="user 'nobody' has no association"):
        explain(asked, FairShareQuestion("nobody"), config.Config())
    with pytest.raises(UsageError, match="--since must be at least 60 s before the instant"):
        explain(asked, FairShareQuestion(min(figures()), since=LATE), config.Config())


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    lab = SLURM / "decay"
    files = {"sacct": "sacct.txt", "assoc": "assoc.psv", "slurm-conf": "config.txt"}
    words = [word for name, file in files.items() for word in (f"--{name}", str(lab / file))]

    def command(*more: str) -> tuple[object, str, str]:
        code = commands.run("sshare", *words, "--as-of", LATE, *more)
        return code, *capsys.readouterr()

    code, said, facts = command("--explain", min(figures()), "--since", EARLY, "--back-at", "1")
    assert code == 0
    assert f"user {min(figures())} of " in said
    assert "Back at 1.000000: " in said or "FairShare is at least 1.000000 now" in said
    assert "as of 2026" in facts
    code, said, why = command("--since", EARLY)
    assert (code, said) == (2, "")
    assert "--since, --back-at, --want and --job require --explain" in why

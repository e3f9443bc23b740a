"""Which jobs are charged, and to whom."""

import re
from pathlib import Path

import pytest

from audit.errors import LogError
from audit.formats.dialects import Reading
from tests.oneoff.sshare.lab import raw, recompute, request
from tests.places import SLURM


def test_no_suspension_is_taken_off_and_the_first_run_of_a_requeued_job_counts(
    tmp_path: Path,
) -> None:
    lines = (SLURM / "plain" / "sacct.txt").read_text().splitlines()
    kept = [lines[0], *(line for line in lines if re.match(r"(19|20)\x1f", line))]
    (tmp_path / "sacct.txt").write_text("\n".join(kept) + "\n")
    found = raw(recompute(request(sacct=[tmp_path / "sacct.txt"])))
    billing = 2 + 2000 / 1024 * 0.25
    assert found["phys_theory", "lab_ana"] == billing * 10  # 3 s of them suspended
    assert found["phys_theory", "lab_ben"] == billing * (10 + 12)


def test_logs_that_overlap_count_once() -> None:
    log = SLURM / "plain" / "sacct.txt"
    assert raw(recompute(request(sacct=[log, log]))) == raw(recompute(request()))


def test_who_left_is_charged_to_the_account(tmp_path: Path) -> None:
    listing = (SLURM / "plain" / "assoc.psv").read_text()
    fewer = "".join(
        line for line in listing.splitlines(keepends=True)
        if "|lab_ben|" not in line and "|phys_exp|" not in line
    )  # fmt: skip
    (tmp_path / "assoc.psv").write_text(fewer)
    found = recompute(request(associations=tmp_path / "assoc.psv"))
    whole = raw(recompute(request()))
    assert raw(found)["phys_theory", ""] == whole["phys_theory", ""]
    assert raw(found)["root", ""] == whole["root", ""]
    assert raw(found)["physics", ""] == whole["physics", ""] - whole["phys_exp", ""]
    said = " ".join(found.warnings)
    assert "who have no association there: 6 jobs, of phys_theory (6)" in said
    assert "charged to root alone, of unknown accounts: 4 jobs, of phys_exp (4)" in said


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    lines = (SLURM / "plain" / "sacct.txt").read_text().splitlines()
    broken = [lines[0], *(line.replace("2026-", "20xx-") for line in lines[1:])]
    (tmp_path / "sacct.txt").write_text("\n".join(broken) + "\n")
    with pytest.raises(LogError, match="records were refused"):
        recompute(request(sacct=[tmp_path / "sacct.txt"]))


def test_columns_can_be_named(tmp_path: Path) -> None:
    header, rest = (SLURM / "plain" / "sacct.txt").read_text().split("\n", 1)
    (tmp_path / "sacct.txt").write_text(rest)
    reading = Reading(tuple(header.split("\x1f")), "\x1f")
    found = recompute(request(sacct=[tmp_path / "sacct.txt"], reading=reading))
    assert raw(found) == raw(recompute(request()))

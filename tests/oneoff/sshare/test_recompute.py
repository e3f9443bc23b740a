"""`fairaudit sshare` compared with the output of sshare, from files and from the database."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit import config
from audit.config.places import Site
from audit.errors import AuditError, LogError
from audit.formats.dialects import Reading
from audit.nightly.run import run
from audit.oneoff.sshare.inputs import SshareRequest
from audit.oneoff.sshare.recompute import comma_separated, psv
from audit.oneoff.sshare.recompute import recompute as recompute_with
from audit.words import Algorithm
from tests.oneoff.sshare.lab import TAKEN, TICK, raw, recompute, request, samples
from tests.places import SLURM
from tests.studies import commands

PLAIN = SLURM / "plain"


@pytest.mark.parametrize(
    ("changes", "printed"),
    [
        ({}, "sshare.psv"),
        ({"by_partition": True}, "sshare_m.psv"),
        ({"associations": PLAIN / "dump.cfg"}, "sshare.psv"),
    ],
)
def test_without_decay_it_equals_sshare(changes: dict[str, Any], printed: str) -> None:
    assert psv(recompute(request(**changes))) == (PLAIN / printed).read_text()


def assoc_mgr() -> dict[str, list[float]]:
    """Raw usage in the output of `scontrol show assoc_mgr`, to a hundredth."""
    lines = (SLURM / "decay" / "assoc_mgr_usage.psv").read_text().splitlines()
    return {at: [float(text) for text in rest] for at, *rest in (row.split("|") for row in lines)}


@pytest.mark.parametrize(("at", "printed"), samples()[::3], ids=[at for at, _ in samples()[::3]])
def test_with_decay_it_equals_sshare(at: str, printed: str) -> None:
    found = recompute(request("decay", as_of=at, phase=TICK))
    assert psv(found) == printed
    usage = np.array([row["RawUsage"] for row in found.rows])
    assert np.abs(usage - assoc_mgr()[at]).max() < 0.01


@pytest.mark.parametrize(
    ("lab", "phase", "at", "printed"),
    [
        (lab, phase, at, printed)
        for lab, phase in (
            # shares of 0 and parent, a user below root, associations by partition, running jobs
            ("classic", "1795265729"),
            ("oblivious", "1795266569"),  # DEPTH_OBLIVIOUS, MAX_TRES and odd weights
            ("ties", "1795264702"),  # accounts with equal usage and shares of parent
        )
        for at, printed in samples(lab)
    ],
)
def test_other_settings_equal_sshare(lab: str, phase: str, at: str, printed: str) -> None:
    assert psv(recompute(request(lab, as_of=at, phase=phase))) == printed


def test_another_half_life() -> None:
    longer = recompute(request("decay", as_of="1795234440", half_life="14-0"))
    shorter = recompute(request("decay", as_of="1795234440", half_life="00:05:00"))
    assert raw(longer)["root", ""] > raw(shorter)["root", ""]
    assert "half-life 1,209,600 s" in " ".join(longer.facts)


def test_one_sample_gives_the_recalculations_of_all(tmp_path: Path) -> None:
    (first, printed), (last, expected) = samples()[5], samples()[-1]
    sample = tmp_path / "sample.psv"
    sample.write_text(printed)
    found = recompute(request("decay", as_of=last, sample=sample, sample_time=first))
    assert psv(found) == expected
    assert any("7 of 7 users agree" in fact for fact in found.facts)


def test_another_algorithm() -> None:
    found = recompute(request(algorithm=Algorithm.classic))
    assert "LevelFS" not in found.columns
    root, chem = found.rows[0], found.rows[2]
    assert (root["NormShares"], root["FairShare"]) == (1.0, 0.5)
    assert chem["FairShare"] == pytest.approx(2 ** -(0.361519 / (60 / 101)), rel=1e-5)


def test_instants() -> None:
    whole = raw(recompute(request()))
    early = raw(recompute(request(as_of="2026-11-21T04:02:40")))
    assert 0 < early["root", ""] < whole["root", ""]
    latest = recompute(request(as_of=None))
    assert latest.facts[0] == "as of 2026-11-21T04:05:00 (UTC), the last known instant"
    assert raw(latest) == whole
    local = request(as_of="2026-11-21T04:06:43", zone="Europe/Berlin")
    assert raw(recompute(local)) == whole


CONFIG = """
[[clusters]]
name = "lab"
zone = "UTC"
[[clusters.sources]]
files = "sacct.txt"
[clusters.usage]
method = "slurm"
penalty = "billing"
operator = "fair_tree"
associations = "assoc.psv"
qos = "qos.psv"
partitions = "partitions.txt"
slurm_conf = "config.txt"
"""


def test_the_database_gives_the_same(tmp_path: Path) -> None:
    for file in PLAIN.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "config.toml").write_text(CONFIG)
    chosen = config.load(tmp_path / "config.toml")
    with pytest.raises(AuditError, match="no such database"):
        recompute_with(SshareRequest(), chosen, tmp_path)
    assert run(Site(chosen, tmp_path), 1_795_234_000, stages=("ingest", "publish")).published
    found = recompute_with(SshareRequest(as_of=TAKEN), chosen, tmp_path)
    assert psv(found) == (PLAIN / "sshare.psv").read_text()
    assert found.warnings == ()


@pytest.mark.parametrize(("lab", "at"), [("plain", "2026-11-20"), ("decay", "2027-12-01")])
def test_an_instant_without_usage_is_stated(lab: str, at: str) -> None:
    *_, last = recompute(request(lab, as_of=at)).warnings
    assert last.startswith(f"no usage is on record for {at}T00:00:00 (UTC): the first job starts")
    latest = recompute(request(lab, as_of=None))
    assert not any("on record" in text for text in latest.warnings)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"associations": None}, "no associations: give --assoc FILE"),
        ({"associations": PLAIN / "assoc_default.psv"}, "default.psv:1: .*ParentName"),
        ({"associations": SLURM / "none"}, "none: cannot be read"),
        ({"qos": PLAIN / "partitions.txt"}, "partitions.txt:1: no column Name"),
        ({"partitions": PLAIN / "qos.psv"}, "qos.psv:1: no partition"),
        ({"as_of": "yesterday"}, "--as-of 'yesterday': write it as"),
        ({"phase": "x"}, "--phase 'x'"),
        ({"half_life": "UNLIMITED"}, "--half-life 'UNLIMITED'"),
        ({"half_life": "soon"}, "--half-life 'soon'"),
        ({"lab": "decay", "half_life": "0"}, "never be forgotten"),
        ({"sample": PLAIN / "qos.psv"}, "no column Account, User, RawUsage"),
        ({"sacct": []}, "give --sacct and --assoc files"),
        ({"sacct": [SLURM / "none"]}, "no such file"),
        ({"zone": "Mars/Olympus"}, "time zone 'Mars/Olympus'"),
    ],
)
def test_refusals(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AuditError, match=message):
        recompute(request(**changes))


def test_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    files = "sacct=sacct.txt assoc=assoc.psv qos=qos.psv partitions=partitions.txt"
    pairs = (item.split("=") for item in f"{files} slurm-conf=config.txt".split())
    flags = [text for flag, name in pairs for text in (f"--{flag}", str(PLAIN / name))]
    assert commands.run("sshare", *flags, "--as-of", TAKEN) == 0
    printed = capfd.readouterr()
    assert printed.out == (PLAIN / "sshare.psv").read_text()
    assert "Fair Tree, no decay" in printed.err


# jobs ---------------------------------------------------------------------------------------


def test_suspended_time_and_every_run_of_a_requeued_job_are_charged(tmp_path: Path) -> None:
    lines = (PLAIN / "sacct.txt").read_text().splitlines()
    kept = [lines[0], *(line for line in lines if re.match(r"(19|20)\x1f", line))]
    (tmp_path / "sacct.txt").write_text("\n".join(kept) + "\n")
    found = raw(recompute(request(sacct=[tmp_path / "sacct.txt"])))
    billing = 2 + 2000 / 1024 * 0.25
    assert found["phys_theory", "lab_ana"] == billing * 10  # 3 s of them suspended
    assert found["phys_theory", "lab_ben"] == billing * (10 + 12)


def test_overlapping_logs_count_once() -> None:
    log = PLAIN / "sacct.txt"
    assert raw(recompute(request(sacct=[log, log]))) == raw(recompute(request()))


def test_users_without_association_are_charged_to_the_account(tmp_path: Path) -> None:
    listing = (PLAIN / "assoc.psv").read_text().splitlines(keepends=True)
    fewer = [line for line in listing if "|lab_ben|" not in line and "|phys_exp|" not in line]
    (tmp_path / "assoc.psv").write_text("".join(fewer))
    found = recompute(request(associations=tmp_path / "assoc.psv"))
    whole = raw(recompute(request()))
    assert raw(found)["phys_theory", ""] == whole["phys_theory", ""]
    assert raw(found)["root", ""] == whole["root", ""]
    assert raw(found)["physics", ""] == whole["physics", ""] - whole["phys_exp", ""]
    warnings = " ".join(found.warnings)
    assert "since the user has no association: 6 jobs, of phys_theory (6)" in warnings
    assert "charged to root only, since the account is unknown: 4 jobs, of phys_exp" in warnings


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    lines = (PLAIN / "sacct.txt").read_text().splitlines()
    broken = [*lines, *("damaged" for _ in lines)]
    (tmp_path / "sacct.txt").write_text("\n".join(broken) + "\n")
    with pytest.raises(LogError, match="records were refused"):
        recompute(request(sacct=[tmp_path / "sacct.txt"]))


def test_columns_can_be_named(tmp_path: Path) -> None:
    header, rest = (PLAIN / "sacct.txt").read_text().split("\n", 1)
    (tmp_path / "sacct.txt").write_text(rest)
    reading = Reading(tuple(header.split("\x1f")), "\x1f")
    found = recompute(request(sacct=[tmp_path / "sacct.txt"], reading=reading))
    assert raw(found) == raw(recompute(request()))


# table --------------------------------------------------------------------------------------


def test_hostile_names_break_no_line_and_no_field(tmp_path: Path) -> None:
    (tmp_path / "assoc").write_text(
        "Account\x1fUser\x1fShare\x1fParentName\nroot\x1f\x1f1\x1f\n=a|b\x1f\x1f1\x1froot\n"
        "=a|b\x1f+cmd|' /C calc'!A0\x1f1\x1f\n=a|b\x1f\x1b[31mred\x1f1\x1f\n"
    )
    found = recompute(request(associations=tmp_path / "assoc"))
    lines = psv(found).splitlines()
    assert len(lines) == 1 + len(found.rows) == 5
    assert {line.count("|") for line in lines} == {10}
    assert "\x1b" not in psv(found)
    assert r"+cmd\x7c' /C calc'!A0" in lines[4]
    rows = list(csv.reader(io.StringIO(comma_separated(found))))
    assert {len(row) for row in rows} == {11}
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert rows[4][1] == "'+cmd|' /C calc'!A0"

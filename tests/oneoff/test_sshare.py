"""`fairaudit sshare` against what the real one printed, and from files and the database alike."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit import config
from audit.cli import app as cli
from audit.errors import AuditError, LogError, UsageError
from audit.formats.dialects import Reading
from audit.nightly import run as night
from audit.oneoff import sshare
from audit.oneoff.sshare import Outcome, Request
from audit.words import Algorithm
from tests.places import SLURM

TAKEN = "2026-11-21T04:06:43"
TICK = "1795234198"
"""When slurmctld of the lab with decay recalculated once."""


def request(lab: str = "plain", **changes: Any) -> Request:
    folder = SLURM / lab
    whole = Request(
        sacct=[folder / "sacct.txt"],
        associations=folder / "assoc.psv",
        qos=folder / "qos.psv",
        partitions=folder / "partitions.txt",
        slurm_conf=folder / "config.txt",
        as_of=TAKEN,
    )
    return replace(whole, **changes)


def recompute(asked: Request) -> Outcome:
    return sshare.recompute(asked, config.Config())


def samples(lab: str = "decay") -> list[tuple[str, str]]:
    whole = (SLURM / lab / "sshare_samples.txt").read_text()
    parts = re.split(r"^== (\d+)\n", whole, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


# against the real one ----------------------------------------------------------------------------


def test_without_decay_it_prints_what_sshare_printed() -> None:
    assert sshare.psv(recompute(request())) == (SLURM / "plain" / "sshare.psv").read_text()


def test_with_partitions_it_prints_what_sshare_m_printed() -> None:
    found = sshare.psv(recompute(request(by_partition=True)))
    assert found == (SLURM / "plain" / "sshare_m.psv").read_text()


def test_from_a_dump_too() -> None:
    found = sshare.psv(recompute(request(associations=SLURM / "plain" / "dump.cfg")))
    assert found == (SLURM / "plain" / "sshare.psv").read_text()


def test_there_are_27_samples() -> None:
    assert len(samples()) == 27


def assoc_mgr() -> dict[str, list[float]]:
    """Raw usage as `scontrol show assoc_mgr` printed it, to a hundredth."""
    lines = (SLURM / "decay" / "assoc_mgr_usage.psv").read_text().splitlines()
    rows = [line.split("|") for line in lines]
    return {at: [float(text) for text in rest] for at, *rest in rows}


@pytest.mark.parametrize(("at", "printed"), samples(), ids=[at for at, _ in samples()])
def test_with_decay_it_prints_what_sshare_printed(at: str, printed: str) -> None:
    found = recompute(request("decay", as_of=at, phase=TICK))
    assert sshare.psv(found) == printed
    usage = np.array([row.raw_usage for row in found.rows])
    assert np.abs(usage - assoc_mgr()[at]).max() < 0.01


@pytest.mark.parametrize(("at", "printed"), samples("classic"))
def test_classic_fairshare_too(at: str, printed: str) -> None:
    """Shares of 0 and of parent, a user below root, associations by partition, running jobs."""
    found = recompute(request("classic", as_of=at, phase="1795265729"))
    assert sshare.psv(found) == printed


def test_depth_oblivious_with_max_tres_and_odd_weights() -> None:
    ((at, printed),) = samples("oblivious")
    assert sshare.psv(recompute(request("oblivious", as_of=at, phase="1795266569"))) == printed


@pytest.mark.parametrize(("at", "printed"), samples("ties"))
def test_accounts_that_tie_and_those_with_parent(at: str, printed: str) -> None:
    found = recompute(request("ties", as_of=at, phase="1795264702"))
    assert sshare.psv(found) == printed


def test_one_sample_tells_the_ticks_of_all(tmp_path: Path) -> None:
    (first, printed), (last, expected) = samples()[5], samples()[-1]
    sample = tmp_path / "sample.psv"
    sample.write_text(printed)
    asked = request("decay", as_of=last, sample=sample, sample_time=first)
    found = recompute(asked)
    assert sshare.psv(found) == expected
    assert any("7 of 7 users agree" in fact for fact in found.facts)


# settings ----------------------------------------------------------------------------------------


def raw(outcome: Outcome) -> dict[tuple[str, str], float]:
    return {(row.account, row.user): row.raw_usage for row in outcome.rows}


def test_another_half_life() -> None:
    longer = recompute(request("decay", as_of="1795234440", half_life="14-0"))
    shorter = recompute(request("decay", as_of="1795234440", half_life="00:05:00"))
    assert raw(longer)["root", ""] > raw(shorter)["root", ""]
    assert "half-life 1,209,600 s" in " ".join(longer.facts)


def test_another_algorithm() -> None:
    found = recompute(request(algorithm=Algorithm.classic))
    assert "LevelFS" not in found.columns
    root, chem = found.rows[0], found.rows[2]
    assert (root.norm_shares, root.fairshare) == (1.0, 0.5)
    assert chem.fairshare == pytest.approx(2 ** -(0.361519 / (60 / 101)), rel=1e-5)


def test_usage_up_to_an_instant_of_the_past() -> None:
    early = recompute(request(as_of="2026-11-21T04:02:40"))
    assert 0 < raw(early)["root", ""] < raw(recompute(request()))["root", ""]


def test_without_an_instant_it_is_the_last_that_is_known() -> None:
    found = recompute(request(as_of=None))
    assert found.facts[0] == "as of 2026-11-21T04:05:00 (UTC), the last that is known"
    assert raw(found) == raw(recompute(request()))


def test_local_times() -> None:
    zone = request(as_of="2026-11-21T04:06:43", zone="Europe/Berlin")
    assert raw(recompute(zone)) == raw(recompute(request()))


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


def test_without_weights_cpus_are_billed() -> None:
    found = recompute(request(partitions=None))
    assert "without --partitions jobs are billed their CPUs" in found.warnings
    assert raw(found)["root", ""] < raw(recompute(request()))["root", ""]


def test_weights_of_slurm_conf(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    weights = 'TRESBillingWeights="CPU=1.0,Mem=0.25G,GRES/gpu=8.0"'
    conf.write_text(
        "ClusterName=lab\nPriorityDecayHalfLife=0\nPriorityUsageResetPeriod=YEARLY\n"
        f"PartitionName=DEFAULT {weights}\nPartitionName=batch\nPartitionName=short\n"
    )
    found = recompute(request(partitions=None, slurm_conf=conf))
    assert raw(found) == raw(recompute(request()))


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


# the database ------------------------------------------------------------------------------------

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
    for file in (SLURM / "plain").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "config.toml").write_text(CONFIG)
    chosen = config.load(tmp_path / "config.toml")
    done = night.run(chosen, tmp_path, 1_795_234_000, stages=("ingest", "publish"))
    assert done.published
    found = sshare.recompute(Request(as_of=TAKEN), chosen, tmp_path)
    printed = (SLURM / "plain" / "sshare.psv").read_text()
    assert sshare.psv(found) == printed
    assert found.warnings == ()


def test_nothing_in_the_database(tmp_path: Path) -> None:
    for file in (SLURM / "plain").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "config.toml").write_text(CONFIG)
    chosen = config.load(tmp_path / "config.toml")
    with pytest.raises(AuditError, match="no such database"):
        sshare.recompute(Request(), chosen, tmp_path)


# what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"associations": None}, "nothing says who belongs to which account: --assoc FILE"),
        ({"associations": SLURM / "plain" / "assoc_default.psv"}, "default.psv:1: .*ParentName"),
        ({"associations": SLURM / "none"}, "none: cannot be read"),
        ({"qos": SLURM / "plain" / "partitions.txt"}, "partitions.txt:1: no column Name"),
        ({"partitions": SLURM / "plain" / "qos.psv"}, "qos.psv:1: no partition"),
        ({"as_of": "yesterday"}, "--as-of 'yesterday': write it as"),
        ({"phase": "x"}, "--phase 'x'"),
        ({"half_life": "UNLIMITED"}, "--half-life 'UNLIMITED'"),
        ({"half_life": "soon"}, "--half-life 'soon'"),
        ({"sample": SLURM / "plain" / "qos.psv"}, "no column Account, User, RawUsage"),
        ({"sacct": []}, "whose\\? Give --sacct"),
        ({"sacct": [SLURM / "none"]}, "no such file"),
        ({"zone": "Mars/Olympus"}, "time zone 'Mars/Olympus'"),
    ],
)  # fmt: skip
def test_what_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AuditError, match=said):
        recompute(request(**changes))


def test_no_decay_needs_a_reset() -> None:
    with pytest.raises(UsageError, match="never be forgotten"):
        recompute(request("decay", half_life="0"))


def test_all_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "assoc").write_text("Account|User|Share|ParentName\nroot||x|\na||y|root\n")
    (tmp_path / "conf").write_text("PriorityDecayHalfLife=soon\n")
    with pytest.raises(UsageError) as caught:
        recompute(request(associations=tmp_path / "assoc", slurm_conf=tmp_path / "conf"))
    assert len(str(caught.value).splitlines()) == 4
    assert f"{tmp_path / 'assoc'}:3: share 'y'" in str(caught.value)


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    lines = (SLURM / "plain" / "sacct.txt").read_text().splitlines()
    broken = [lines[0], *(line.replace("2026-", "20xx-") for line in lines[1:])]
    (tmp_path / "sacct.txt").write_text("\n".join(broken) + "\n")
    with pytest.raises(LogError, match="records were refused"):
        recompute(request(sacct=[tmp_path / "sacct.txt"]))


# hostile names -----------------------------------------------------------------------------------


def hostile(tmp_path: Path) -> Outcome:
    (tmp_path / "assoc").write_text(
        "Account\x1fUser\x1fShare\x1fParentName\nroot\x1f\x1f1\x1f\n=a|b\x1f\x1f1\x1froot\n"
        "=a|b\x1f+cmd|' /C calc'!A0\x1f1\x1f\n=a|b\x1f\x1b[31mred\x1f1\x1f\n"
    )
    return recompute(request(associations=tmp_path / "assoc"))


def test_hostile_names_break_no_line_and_no_field(tmp_path: Path) -> None:
    found = hostile(tmp_path)
    lines = sshare.psv(found).splitlines()
    assert len(lines) == 1 + len(found.rows) == 5
    assert {line.count("|") for line in lines} == {10}
    assert "\x1b" not in sshare.psv(found)
    assert r"+cmd\x7c' /C calc'!A0" in lines[4]


def test_csv_is_no_formula(tmp_path: Path) -> None:
    rows = list(csv.reader(io.StringIO(sshare.comma_separated(hostile(tmp_path)))))
    assert {len(row) for row in rows} == {11}
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert rows[4][1] == "'+cmd|' /C calc'!A0"


def test_columns_can_be_named(tmp_path: Path) -> None:
    header, rest = (SLURM / "plain" / "sacct.txt").read_text().split("\n", 1)
    (tmp_path / "sacct.txt").write_text(rest)
    reading = Reading(tuple(header.split("\x1f")), "\x1f")
    found = recompute(request(sacct=[tmp_path / "sacct.txt"], reading=reading))
    assert raw(found) == raw(recompute(request()))


# the command -------------------------------------------------------------------------------------


def test_the_command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    folder = SLURM / "plain"
    files = {
        "sacct": "sacct.txt", "assoc": "assoc.psv", "qos": "qos.psv",
        "partitions": "partitions.txt", "slurm-conf": "config.txt",
    }  # fmt: skip
    flags = [text for flag, name in files.items() for text in (f"--{flag}", str(folder / name))]
    monkeypatch.setattr("sys.argv", ["fairaudit", "sshare", *flags, "--as-of", TAKEN])
    with pytest.raises(SystemExit) as done:
        cli.main()
    said = capfd.readouterr()
    assert done.value.code == 0
    assert said.out == (folder / "sshare.psv").read_text()
    assert "Fair Tree, no decay" in said.err

"""`fairaudit sshare` against what the real one printed, and from files and the database alike."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audit import config
from audit.cli.app import main
from audit.errors import AuditError, UsageError
from audit.nightly.run import run
from audit.oneoff.sshare.recompute import recompute as recompute_with
from audit.oneoff.sshare.site import Request
from audit.oneoff.sshare.table import psv
from audit.words import Algorithm
from tests.oneoff.sshare.lab import TAKEN, TICK, raw, recompute, request, samples
from tests.places import SLURM


def test_without_decay_it_prints_what_sshare_printed() -> None:
    assert psv(recompute(request())) == (SLURM / "plain" / "sshare.psv").read_text()


def test_with_partitions_it_prints_what_sshare_m_printed() -> None:
    found = psv(recompute(request(by_partition=True)))
    assert found == (SLURM / "plain" / "sshare_m.psv").read_text()


def test_from_a_dump_too() -> None:
    found = psv(recompute(request(associations=SLURM / "plain" / "dump.cfg")))
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
    assert psv(found) == printed
    usage = np.array([row.raw_usage for row in found.rows])
    assert np.abs(usage - assoc_mgr()[at]).max() < 0.01


@pytest.mark.parametrize(("at", "printed"), samples("classic"))
def test_classic_fairshare_too(at: str, printed: str) -> None:
    """Shares of 0 and of parent, a user below root, associations by partition, running jobs."""
    found = recompute(request("classic", as_of=at, phase="1795265729"))
    assert psv(found) == printed


def test_depth_oblivious_with_max_tres_and_odd_weights() -> None:
    ((at, printed),) = samples("oblivious")
    assert psv(recompute(request("oblivious", as_of=at, phase="1795266569"))) == printed


@pytest.mark.parametrize(("at", "printed"), samples("ties"))
def test_accounts_that_tie_and_those_with_parent(at: str, printed: str) -> None:
    found = recompute(request("ties", as_of=at, phase="1795264702"))
    assert psv(found) == printed


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
    done = run(chosen, tmp_path, 1_795_234_000, stages=("ingest", "publish"))
    assert done.published
    found = recompute_with(Request(as_of=TAKEN), chosen, tmp_path)
    printed = (SLURM / "plain" / "sshare.psv").read_text()
    assert psv(found) == printed
    assert found.warnings == ()


def test_nothing_in_the_database(tmp_path: Path) -> None:
    for file in (SLURM / "plain").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "config.toml").write_text(CONFIG)
    chosen = config.load(tmp_path / "config.toml")
    with pytest.raises(AuditError, match="no such database"):
        recompute_with(Request(), chosen, tmp_path)


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


def test_the_command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    folder = SLURM / "plain"
    files = {
        "sacct": "sacct.txt", "assoc": "assoc.psv", "qos": "qos.psv",
        "partitions": "partitions.txt", "slurm-conf": "config.txt",
    }  # fmt: skip
    flags = [text for flag, name in files.items() for text in (f"--{flag}", str(folder / name))]
    monkeypatch.setattr("sys.argv", ["fairaudit", "sshare", *flags, "--as-of", TAKEN])
    with pytest.raises(SystemExit) as done:
        main()
    said = capfd.readouterr()
    assert done.value.code == 0
    assert said.out == (folder / "sshare.psv").read_text()
    assert "Fair Tree, no decay" in said.err


def test_one_sample_tells_the_ticks_of_all(tmp_path: Path) -> None:
    (first, printed), (last, expected) = samples()[5], samples()[-1]
    sample = tmp_path / "sample.psv"
    sample.write_text(printed)
    asked = request("decay", as_of=last, sample=sample, sample_time=first)
    found = recompute(asked)
    assert psv(found) == expected
    assert any("7 of 7 users agree" in fact for fact in found.facts)


def test_no_decay_needs_a_reset() -> None:
    with pytest.raises(UsageError, match="never be forgotten"):
        recompute(request("decay", half_life="0"))

"""The numbers on page one of a report, recomputed from the log by a script without fairaudit."""

import gzip
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from audit.cluster.declared import NodeFiles
from audit.config import Config
from audit.formats import swf
from audit.oneoff.audit import AuditOptions, audit
from audit.pipeline.opening import LogRequest, Session
from bench.logs.sites.planted import PLANTED, QUEUE, WITHOUT
from bench.logs.sites.site import made as true_site
from tests.audited import public
from tests.places import DATA, ROOT
from tests.scenario.windows import sites
from tests.shared import once

SCRIPT = ROOT / "docs" / "report" / "recompute.py"
LOGS = ("KTH-SP2-1996-2.1-cln", "LANL-CM5-1994-4.1-cln", "UniLu-Gaia-2014-1")


def audited(log: Path, out: Path, *, fit: bool = False) -> Path:
    """Return page one of a log; ``fit``: with the rules that it shows."""
    audit(Session(LogRequest(logs=[log]), Config(), fit=fit), AuditOptions(out=out, pdf=False))
    return out / "report.html"


def recomputed(log: Path, page: Path, *nodes: Path) -> subprocess.CompletedProcess[str]:
    """Run the script, which must not find fairaudit; ``nodes``: files of nodes and their drains."""
    command = [sys.executable, "-S", str(SCRIPT), *map(str, (log, page, *nodes))]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def site(path: Path, planted: sites.Planted, seed: int = 1) -> Path:
    """Write the log of a made site."""
    described, pool = sites.made(planted, seed)
    numbered, comments = swf.numbered(described)
    header = {"UnixStartTime": str(sites.EPOCH), "MaxProcs": str(pool.capacity)}
    path.write_bytes(swf.write(numbered, header | {"TimeZoneString": "UTC"}, comments))
    return path


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The log of a small site with closed hours, and its page."""

    def make(folder: Path) -> None:
        log = site(folder / "closed.swf", sites.Planted(sites.LONG, days=28, a_day=60))
        audited(log, folder / "out")

    folder = once(tmp_path_factory, "closed-hours", make)
    return folder / "closed.swf", folder / "out" / "report.html"


def test_every_number_of_a_made_site(closed: tuple[Path, Path]) -> None:
    result = recomputed(*closed)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 numbers differ" in result.stdout
    assert result.stdout.count("| yes") > 60


WRONG = (
    (r"<b>([^<]*)</b><span[^>]*>typical wait", "99 d"),
    (r"full of earlier jobs</span></th><td>([^<]*)", "99 %"),
    (r'data-label="Of all waiting">([^<]*)', "98 %"),
    (r'<bdi>User \d+</bdi></th>.*?data-label="Similar jobs">([^<]*)', "98 d"),
    (r"have [^<]* of all waiting, .*? their ([^<]*?) of the CPU", "97 %"),
    (r'<span class="word"><svg.*?</svg>([^<]*)', "Mixed"),
)
"""A figure, a cause, a size, a user, a half and the word."""


def test_wrong_numbers_are_found(closed: tuple[Path, Path], tmp_path: Path) -> None:
    log, page = closed
    text = page.read_text(encoding="utf-8")
    for pattern, wrong in WRONG:
        found = re.search(pattern, text)
        assert found is not None
        text = f"{text[: found.start(1)]}{wrong}{text[found.end(1) :]}"
    changed = tmp_path / "wrong.html"
    changed.write_text(text, encoding="utf-8")
    result = recomputed(log, changed)
    assert result.returncode == 1
    for _, wrong in WRONG:
        assert f"    {wrong} | " in result.stdout
    assert f"{len(WRONG)} numbers differ" in result.stdout


def test_a_sentence_that_the_script_does_not_know_is_listed(
    closed: tuple[Path, Path], tmp_path: Path
) -> None:
    log, page = closed
    text = page.read_text(encoding="utf-8")
    other = tmp_path / "other.html"
    added = "".join(f"<p>There are {n} elephants.</p>" for n in range(5))
    other.write_text(text.replace("</header>", f"</header>{added}", 1), encoding="utf-8")
    result = recomputed(log, other)
    assert result.returncode == 1
    assert "There are 4 elephants." in result.stdout


@pytest.mark.parametrize(
    "name", [LOGS[0], *(pytest.param(n, marks=pytest.mark.slow) for n in LOGS[1:])]
)
def test_every_number_of_a_public_log(name: str, real_logs: Path, tmp_path: Path) -> None:
    log = real_logs / "swf" / f"{name}.swf.gz"
    page = audited(log, tmp_path, fit=name == LOGS[0])
    result = recomputed(log, page)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("| yes") > 60
    if "jobs held back for reasons" not in page.read_text():  # what could not start is not redone
        assert re.search(r"^    (Fair|Cannot tell) \| \1 \| yes$", result.stdout, re.MULTILINE)


def capture(name: str, folder: Path) -> tuple[Path, tuple[Path, ...]]:
    """Unpack a recorded Slurm: its log, and its nodes and their drains."""
    files = [folder / file for file in ("sacct.txt", "nodes.txt", "events.psv")]
    for file in files:
        packed = (DATA / "modern" / name / f"{file.name}.gz").read_bytes()
        file.write_bytes(gzip.decompress(packed))
    return files[0], tuple(files[1:])


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["north", "south"])
def test_every_number_and_the_word_of_a_log_with_nodes_and_gpus(name: str, tmp_path: Path) -> None:
    log, files = capture(name, tmp_path)
    request = LogRequest(logs=[log], zone="UTC", cluster=name, files=NodeFiles(*files))
    audit(Session(request, Config()), AuditOptions(out=tmp_path / "out", pdf=False))
    page = tmp_path / "out" / "report.html"
    result = recomputed(log, page, *files)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "    Cannot tell | Cannot tell | yes" in result.stdout
    assert result.stdout.count("| yes") > 60
    text = page.read_text(encoding="utf-8")
    for label in ("but scattered", "about to start"):
        found = re.search(rf"{label}</span></th><td>([^<]*)", text)
        assert found is not None
        page.write_text(f"{text[: found.start(1)]}99 %{text[found.end(1) :]}", encoding="utf-8")
        assert "1 numbers differ" in recomputed(log, page, *files).stdout


@pytest.mark.thorough
def test_every_number_and_the_word_of_an_export_of_open_xdmod(
    real_logs: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = real_logs / "slurm" / "xdmod-phillips.log.gz"
    result = recomputed(log, public(tmp_path_factory, log, fit=True)[0].html)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "    Cannot tell | Cannot tell | yes" in result.stdout
    assert result.stdout.count("| yes") >= 20


MADE = {
    "fair": (WITHOUT["EASY"], "Fair"),
    "limited": (PLANTED["jobs of a user"], "Fair"),
    "victim": (replace(QUEUE, last=("user", "u01")), "Mixed"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MADE)
def test_every_number_and_the_word_of_a_site_with_a_true_scheduler(
    name: str, tmp_path: Path
) -> None:
    kind, word = MADE[name]
    made = true_site(kind, 1)
    numbered, comments = swf.numbered(made.jobs)
    begin = int(made.jobs["submit_time"].to_numpy().min())
    header = {"UnixStartTime": str(begin), "MaxProcs": str(made.pool.capacity)}
    log = tmp_path / "made.swf"
    log.write_bytes(swf.write(numbered, header | {"TimeZoneString": "UTC"}, comments))
    result = recomputed(log, audited(log, tmp_path / "out", fit=True))
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("| yes") > 60
    assert f"    {word} | {word} | yes" in result.stdout

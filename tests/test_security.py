"""The promises of docs/security.md: hostile names, private results, no secrets."""

import base64
import csv
import io
import os
import re
import stat
from html.parser import HTMLParser
from pathlib import Path

import pypdfium2  # type: ignore[import-untyped]
import pytest

from audit import config
from audit.config.places import Site
from audit.errors import SourceError
from audit.nightly.run import run
from audit.store import database, snapshots
from tests import processes
from tests.logs import write
from tests.nightly.test_run import NOW, month, site
from tests.places import ROOT
from tests.shared import once

SECRET = "geheim-47-11"
NAMES = {
    "script": "<script>alert(1)</script>",
    "handler": "\"><img src=x onerror=alert(1)>'",
    "formula": '=HYPERLINK("http://127.0.0.1/",1)',
    "minus": "-2+3",
    "header": "a\rBcc: everybody@example.com\rX: ",
    "colours": "\x1b[2J\x1b]0;title\x07red",
    "reversed": "\u202egnp.exe\u2066",
    "nul": "a\0b",
    "long": "n" * 10_000,
    "template": "{{ 7*7 }}{% raw %}",
    "sql": "'; DROP TABLE records; --",
    "file": "file:///etc/passwd",
    "web": "http://127.0.0.1:9/x.png",
    "css": "</style>url(http://127.0.0.1:9/)",
    "path": "../../../etc/cron.d/x",
}
"""Hostile names of jobs, accounts and users."""


def hostile_log() -> bytes:
    """sacct's text, in which each name is a user, an account, a job and a reason."""
    rows = [b"JobID|User|Account|Partition|State|Submit|Start|End|AllocCPUS|Reason|JobName"]
    names = [name.encode() for name in NAMES.values()]
    names += [b"\xff\xfe\xed\xa0\x80", b"plain"]
    for number in range(1, 10 * len(names)):
        name = names[number % len(names)]
        clock = [
            f"2026-01-{1 + second // 86_400:02}T{second // 3600 % 24:02}:{second // 60 % 60:02}:00"
            for second in (600 * number, 600 * number + 300, 600 * number + 1500)
        ]
        rows.append(
            b"|".join(
                [
                    *(str(number).encode(), name, name, b"batch", b"COMPLETED"),
                    *(text.encode() for text in clock),
                    *(b"%d" % (1 + number % 4), name, name),
                ]
            )
        )
    return b"\n".join(rows) + b"\n"


def audited(folder: Path) -> None:
    """Audits the hostile log, and keeps what the command said."""
    log = folder / "=<img src=x onerror=alert(1)> \x1b[31m'.psv"
    log.write_bytes(hostile_log())
    cluster = '"><script>alert(1)</script>\r\nBcc: x'
    (folder / "c.toml").write_text(
        "[uncertainty]\nresamples = 100\n[ingest]\nrefused_limit = 0.5\n"
    )
    done = processes.python(
        *("-m", "audit", "audit", log.name, "--cluster", cluster),
        *("--config", "c.toml", "--out", "out", "--zone", "Europe/Berlin"),
        cwd=folder,
        env={**os.environ, "FAIRAUDIT_SMTP_PASSWORD": SECRET},
        umask=0,
        text=False,
    )
    assert done.returncode == 0, done.stderr
    (folder / "said").write_bytes(done.stdout + done.stderr)


class Made:
    """All that one audit of the hostile log left."""

    def __init__(self, folder: Path) -> None:
        self.said = (folder / "said").read_bytes().decode()
        self.out = folder / "out"
        self.page = (self.out / "report.html").read_text(encoding="utf-8")
        self.pdf = pypdfium2.PdfDocument(self.out / "report.pdf")
        self.paper = " ".join(page.get_textpage().get_text_range() for page in self.pdf)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(once(tmp_path_factory, "hostile-audit", audited))


class _Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def _cells(made: Made) -> list[str]:
    """Every cell of every table that the page and the PDF carry."""
    files = [
        base64.b64decode(found).decode()
        for found in re.findall(r"data:text/csv;charset=utf-8;base64,([A-Za-z0-9+/=]+)", made.page)
    ]
    files += [
        bytes(made.pdf.get_attachment(number).get_data()).decode()
        for number in range(made.pdf.count_attachments())
    ]
    assert len(files) == 6
    return [
        cell for text in files for row in csv.reader(io.StringIO(text, newline="")) for cell in row
    ]


@pytest.mark.parametrize("door", ["html", "pdf", "csv", "sql", "terminal"])
def test_hostile_names_do_nothing_at_any_door(made: Made, door: str) -> None:
    raw = ("\x1b", "\x07", "\0", "\u202e", "\u2066")
    if door == "html":
        read = _Reader(made.page)
        scripts = [element for element in read.elements if element[0] == "script"]
        assert [kind.get("type") for _, kind in scripts] == [None]
        assert made.page.count("<script") == 1
        assert "iframe" not in {tag for tag, _ in read.elements}
        for _, attributes in read.elements:
            assert not any(name.startswith("on") for name in attributes)
            for name in ("src", "href", "data", "action"):
                assert (attributes.get(name) or "data:").startswith(("data:", "#"))
        assert "{{ 7*7 }}{% raw %}" in read.text
        assert not any(char in made.page for char in raw)
    elif door == "pdf":
        assert "alert(1)" in made.paper
        assert not any(char in made.paper for char in raw)
    elif door == "csv":
        cells = _cells(made)
        assert "'" + NAMES["formula"] in cells
        for cell in cells:
            assert not cell.lstrip().startswith(("=", "+", "@"))
            assert not cell.startswith("-") or float(cell) <= 0
    elif door == "sql":
        con = snapshots.open_snapshot(made.out / "audit.duckdb")
        found = database.fetch(con, 'SELECT DISTINCT "user" AS name FROM job_fairness')["name"]
        for name in NAMES.values():
            query = 'SELECT count(*) FROM records WHERE "user" = $name'
            count = database.fetch(con, query, {"name": name}).item()
            assert bool(count) is (name in found.to_list())
        kept = set(found.to_list()) & set(NAMES.values())
        assert {NAMES[name] for name in ("script", "formula", "sql", "template", "web")} <= kept
        con.close()
    else:
        assert "alert(1)" in made.said
        assert not any(char in made.said for char in (*raw, "\r"))


def _modes(folder: Path) -> set[tuple[bool, int]]:
    return {
        (path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in (folder, *folder.rglob("*"))
    }


def test_what_an_audit_writes_is_its_users_alone(made: Made) -> None:
    assert _modes(made.out) == {(True, 0o700), (False, 0o600), (False, 0o400)}
    assert stat.S_IMODE((made.out / "audit.duckdb").stat().st_mode) == 0o400


def test_no_secret_is_kept_or_reported(made: Made, tmp_path: Path) -> None:
    for path in made.out.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()
    write(tmp_path / "own.swf", month(0))
    base = site(tmp_path, sources=({"command": ("cat", "own.swf")}, {"files": "logs/*"}))
    clusters = base.model_dump()["clusters"]
    fails = ("sh", "-c", "exit 3", SECRET)
    clusters[0]["sources"] = (*clusters[0]["sources"], {"command": fails})
    settings = config.Config.model_validate({**base.model_dump(), "clusters": clusters})
    done = run(Site(settings, tmp_path), NOW)
    assert [type(failure) for failure in done.failures] == [SourceError]
    assert SECRET not in str(done.failures[0])
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


def test_every_promise_names_a_test_that_exists() -> None:
    page = ROOT / "docs" / "security.md"
    if not page.exists():
        pytest.skip("tested outside a checkout: documents not compared")
    rows = [
        line
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and not line.startswith(("| Promise", "| Layer"))
    ]
    assert len(rows) > 15
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, name in named:
            assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"

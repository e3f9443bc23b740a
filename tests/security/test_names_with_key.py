"""With a key, a night of failures leaves and prints no real name."""

import base64
import gzip
import io
import json
import os
import re
import sys
import tarfile
import traceback
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from email import message_from_bytes
from pathlib import Path
from threading import Event
from typing import Final

import polars as pl
import pypdfium2  # type: ignore[import-untyped]
import pytest

from audit import config
from audit.cli.app import main
from audit.config import places
from audit.errors import AuditError, ConfigError, DefectError
from audit.model import RECORDS
from audit.nightly import history, pulling, service
from audit.nightly.run import run
from audit.store import database, snapshots
from bench.logs.writers import gridengine, htcondor, lsf, pbs, sacct, sacct_json
from tests import mailserver, stores
from tests.formats.contract import EPOCH, PLAIN_JOB
from tests.logs import line, log
from tests.nightly.test_run import NOW, month, site

pytestmark = pytest.mark.thorough

REAL: Final = "qzxwvkjq"
"""Part of every real name, and of nothing else."""
USERS: Final = tuple(f"{name}qzxwvkjq" for name in ("anna", "ben", "cleo"))
JOBS: Final = 6


def frame(first: int, schedd: str = "") -> pl.DataFrame:
    """Return jobs with real names only."""
    jobs = [
        {
            **PLAIN_JOB,
            "job_id": f"{schedd}{number}{'.0' if schedd else ''}",
            "job_number": number,
            "user": USERS[number % len(USERS)],
            "account": "physicsqzxwvkjq",
            "group": "staffqzxwvkjq",
            "reservation": "daysqzxwvkjq",
            "reason": "held by ottoqzxwvkjq",
            "constraints": "fast&pauqzxwvkjq",
            "nodes": 1,
            "submit_time": EPOCH + 900 * number,
            "eligible_time": EPOCH + 900 * number,
            "start_time": EPOCH + 900 * number + 300,
            "end_time": EPOCH + 900 * number + 2_000,
            "occupancy_s": 1_700,
        }
        for number in range(first, first + JOBS)
    ]
    return pl.DataFrame(jobs).match_to_schema(
        RECORDS, missing_columns="insert", extra_columns="ignore"
    )


def damaged(data: bytes) -> bytes:
    """Return the log with a name instead of the first number after the last job's user."""
    at = data.rindex(USERS[0].encode())
    return (
        data[:at]
        + re.sub(rb"\d+", b"dora qzxwvkjq", data[at:], count=1)
        + b"emil\tqzxwvkjq|1 2 3\n"
    )


def logs() -> dict[str, bytes]:
    """Return logs of every dialect, each with good records and a refused one."""
    swf = log(
        [*(line(900 + k, submit=600 * k, user=k % 3) for k in range(JOBS)), "950 finnqzxwvkjq 3"],
        UnixStartTime=f"{EPOCH} by annaqzxwvkjq",
        MaxProcs="64",
        Note="for benqzxwvkjq",
        Computer="cleoqzxwvkjq-cluster",
        TimeZoneString="annaqzxwvkjq/Berlin",
    )
    missing = pl.lit(None, pl.String)
    json_ = sacct_json.write(frame(200))
    wrong_clock = frame(800).with_columns(
        pl.col("submit_time", "eligible_time", "start_time", "end_time") - 40 * 365 * 86_400
    )
    return {
        "a.sacct": damaged(sacct.write(frame(100))),
        "a.json": re.sub(rb'("start": )\d+', rb'\1"gregqzxwvkjq"', json_, count=1),
        "a.pbs": damaged(pbs.write(frame(300))),
        "a.lsf": damaged(lsf.write(frame(400))),
        "a.ge": damaged(gridengine.write(frame(500).with_columns(reservation=missing))),
        "a.condor": damaged(htcondor.write(frame(600, "ap#"))),
        "a.ads": damaged(htcondor.write(frame(650, "ap#"), "jsonl")),
        "a.xml": damaged(htcondor.write(frame(700, "ap#"), "xml")),
        "a.swf": swf.encode(),
        "b.csv": re.sub(r"(?m)^\d.*$", lambda row: row[0].replace(" ", ","), swf).encode(),
        "late.sacct": sacct.write(pl.concat([frame(750), frame(760), wrong_clock[:1]])),
    }


WRONG_PEOPLE: Final = {
    "header": "user,account,annaqzxwvkjq\n",
    "twice": "user,account\nannaqzxwvkjq,physicsqzxwvkjq\nannaqzxwvkjq,chemistryqzxwvkjq\n",
    "nothing": "user,account\nannaqzxwvkjq,\n",
    "day": "user,account,from\nannaqzxwvkjq,physicsqzxwvkjq,since benqzxwvkjq\n",
    "fields": "user,account\nannaqzxwvkjq,physicsqzxwvkjq,benqzxwvkjq\n",
    "long": "user,account\nannaqzxwvkjq," + "benqzxwvkjq" * 30_000,
    "latin": "user,account\nannaqzxwvkjq,\udcff\n",
}

COMMANDS: Final = {
    "fails": "echo annaqzxwvkjq has no account >&2; echo benqzxwvkjq; exit 3",
    "killed": "echo annaqzxwvkjq >&2; kill -9 $$",
    "slow": "echo annaqzxwvkjq >&2; exec sleep 60",
    "unknown": "echo annaqzxwvkjq and benqzxwvkjq are no log",
}
SACCT: Final = "JobID|User|Account|Cluster|Submit|Start|End|State|AllocCPUS\n"


def sacct_row(job: int, cluster: str) -> str:
    times = "|".join(f"2026-01-01T0{hour}:00:00" for hour in (1, 2, 3))
    return f"{job}|annaqzxwvkjq|physicsqzxwvkjq|{cluster}|{times}|COMPLETED|1\n"


DAMAGED: Final = {
    "unknown": b"annaqzxwvkjq logged in\n",
    "binary": b"annaqzxwvkjq\0\1\2\n",
    "cut.gz": gzip.compress(SACCT.encode() + sacct_row(1, "c").encode() * 900)[:-20],
    "no-header": sacct_row(1, "c").encode().replace(b"|c|", b"|") * 9,
    "no-time": b"JobID|User|annaqzxwvkjq\n1|annaqzxwvkjq|benqzxwvkjq\n",
    "clusters": (SACCT + sacct_row(1, "lab") + sacct_row(2, "annaqzxwvkjq")).encode() * 20,
    "refused": (SACCT + "1|annaqzxwvkjq|benqzxwvkjq\n" * 9).encode(),
    "near.swf": (log([line(1)]).replace(" ", ",") + "annaqzxwvkjq," * 17 + "benqzxwvkjq\n").encode()
    * 9,
}
"""Logs that cannot be read."""


def text_of(settings: dict[str, object]) -> str:
    """Return settings as a config.toml of inline tables, with values as in JSON."""

    def written(value: object) -> str:
        if isinstance(value, dict):
            pairs = (f"{json.dumps(key)} = {written(of)}" for key, of in value.items())
            return "{" + ", ".join(pairs) + "}"
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(written, value)) + "]"
        return json.dumps(value)

    return "".join(f"{key} = {written(value)}\n" for key, value in settings.items())


def write_site(folder: Path) -> None:
    """Write a site with one cluster per failure, one that is computed, and one key."""
    (folder / "people.key").write_bytes(b"k" * 32)
    (folder / "people.key").chmod(0o600)
    (folder / "people.csv").write_text("user,group\nannaqzxwvkjq,departmentqzxwvkjq\n")
    hidden = {
        "key_file": "people.key",
        "pseudonyms": ["user", "account", "group", "reservation"],
        "file": "people.csv",
    }
    clusters: list[dict[str, object]] = [
        {"name": "good", "people": hidden, "sources": [{"files": f"{name}"} for name in logs()]}
    ]
    for name, content in logs().items():
        (folder / name).write_bytes(content)
    for name, script in COMMANDS.items():
        limit = 1 if name == "slow" else 20
        sources = [{"command": ["sh", "-c", script], "timeout_s": limit}]
        clusters.append({"name": f"command-{name}", "people": hidden, "sources": sources})
    for name, people in WRONG_PEOPLE.items():
        (folder / f"{name}.csv").write_bytes(people.encode(errors="surrogateescape"))
        wrong = {**hidden, "file": f"{name}.csv"}
        source = {"files": "a.sacct"}
        clusters.append({"name": f"people-{name}", "people": wrong, "sources": [source]})
    for name, content in DAMAGED.items():
        (folder / f"bad-{name}").write_bytes(content)
        os.utime(folder / f"bad-{name}", (0, 0))  # whole, so what is cut is not being written
        source = {"files": f"bad-{name}"}
        clusters.append({"name": f"log-{name}", "people": hidden, "sources": [source]})
    (folder / "slurm.conf").write_text(
        "PriorityDecayHalfLife=annaqzxwvkjq\nPartitionName=benqzxwvkjq X\n"
    )
    (folder / "qos.txt").write_text("Name|Priority|UsageFactor\nannaqzxwvkjq|benqzxwvkjq|1\n")
    (folder / "own.sacct").write_bytes(sacct.write(frame(1)))
    usage = {"slurm_conf": "slurm.conf", "qos": "qos.txt"}
    clusters.append(
        {"name": "slurm", "people": hidden, "usage": usage, "sources": [{"files": "own.sacct"}]}
    )
    settings: dict[str, object] = {
        "ingest": {"refused_limit": 0.7},
        "uncertainty": {"resamples": 100},
        "thresholds": [{"metric": "re_unfairness", "above": -1.0, "dimension": "user"}],
        "mail": {
            "via": "outbox",
            "sender": "audit@example.org",
            "domains": ["example.org"],
            "operators": ["operator@example.org"],
        },
        "recipients": [{"addresses": ["boss@example.org"]}],
        "clusters": clusters,
    }
    (folder / "config.toml").write_text(text_of(settings))


class Site:
    """A site after its night, and all output of commands there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: dict[str, str] = {}
        self.codes: dict[str, int] = {}

    def call(self, *words: str) -> str:
        """Return the output of a command on stdout and stderr."""
        kept = io.BytesIO()
        out = io.TextIOWrapper(kept, encoding="utf-8", write_through=True)
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(out):
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["fairaudit", *words])
            with pytest.raises(SystemExit) as ended:
                main()
        name = " ".join(words)
        said = kept.getvalue().decode()
        self.said[name] = said
        assert isinstance(ended.value.code, int)
        self.codes[name] = ended.value.code
        return said

    def left(self) -> Iterator[Path]:
        """Yield all files that fairaudit wrote."""
        for name in ("fairaudit-state", "fairaudit-reports", "fairaudit-outbox", "saved"):
            yield from (path for path in (self.folder / name).rglob("*") if path.is_file())
        yield self.folder / "fairaudit.duckdb"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    write_site(folder)
    made = Site(folder)
    made.call("run")
    return made


def test_every_failure_happened(made: Site) -> None:
    """Otherwise the searches below would find nothing."""
    entries = history.read(made.folder / "fairaudit-state")
    failed = {entry.cluster for entry in entries if entry.state == "failed"} - {None}
    known = [of.name for of in config.load(made.folder / "config.toml").clusters]
    assert failed == {*known} - {"good"}
    with closing(snapshots.open_snapshot(made.folder / "fairaudit.duckdb")) as con:
        refused = database.rows(
            con,
            "SELECT dialect, count(DISTINCT code), max(records) > max(inputs.refused) FROM inputs "
            "JOIN refused USING (input_id) WHERE inputs.cluster = 'good' GROUP BY ALL ORDER BY 1",
        )
        doubtful = database.rows(con, "SELECT DISTINCT cluster FROM doubtful")
        people = database.rows(con, "SELECT DISTINCT cluster FROM job_fairness ORDER BY ALL")
    assert [name for name, _, _ in refused] == [
        *("gridengine", "htcondor", "htcondor-json", "htcondor-xml", "lsf", "near-swf", "pbs"),
        *("sacct", "sacct-json", "swf"),
    ]
    assert all(good for _, _, good in refused)
    assert doubtful == [("good",)]
    assert people == [("good",)]


def test_failures_are_reported_with_the_place_to_look(made: Site) -> None:
    said = made.said["run"]
    for message in (
        "command 'sh' failed with exit code 3; run it by hand to see what it says",
        "command 'sh' failed with signal 9; run it by hand",
        "twice.csv:3: its user belongs elsewhere in this time by line 2",
        "day.csv:2: from must be a day such as 2026-04-01",
        "bad-unknown: not a log that fairaudit reads",
        "bad-no-header: is Slurm's sacct (-P), but its columns cannot be read: 'fairaudit audit'",
        "the records are of several clusters; choose one (clusters.name of 'log-clusters')",
        "slurm.conf:1",
        "qos.txt:2",
        "failure by configuration: good 2023-11, pool all: re_unfairness of user u-",
    ):
        assert message in said, said


@pytest.mark.slow
def test_no_command_prints_a_name(made: Site) -> None:
    folder = made.folder
    ((job,),) = stores.rows(folder / "fairaudit.duckdb", "SELECT min(job_id) FROM job_fairness")
    of_config = ("--config", "config.toml")
    of_site = ("--db", "fairaudit.duckdb")
    made.call("sql", "SELECT * FROM runs", "--format", "csv", *of_site)
    texts = made.call("refused", "--format", "json", *of_site)
    good = sacct.write(frame(900)).decode().splitlines()[-1]
    mended = [
        {**row, "text": good if row["file"] == "a.sacct" else "annaqzxwvkjq|benqzxwvkjq"}
        for row in json.loads(texts)
    ]
    (folder / "mended.json").write_text(json.dumps(mended))
    (folder / "odd.json").write_text(json.dumps([{**mended[0], "byte_offset": "annaqzxwvkjq"}]))
    (folder / "saved").mkdir(exist_ok=True)
    for words in (
        ("status",),
        ("status", "--format", "json"),
        ("refused", *of_site),
        ("refused", "--replay", "--mended", "mended.json", *of_config, "--cluster", "good"),
        ("refused", "--replay", "--mended", "odd.json", *of_config, "--cluster", "good"),
        ("refused", "--replay", *of_config, "--cluster", "good"),
        ("explain", job, "--cluster", "good", *of_config),
        ("explain", "none", "--cluster", "good", *of_config),
        ("stuck", "--cluster", "good", *of_config),
        ("sql", "SELECT x FROM job_fairness", *of_site),
        ("sql", 'SELECT "user"::INTEGER FROM job_fairness', *of_site),
        ("doctor", *of_config),
        ("archive",),
        ("backup", "saved"),
        ("audit", "a.sacct", "--cluster", "good", *of_config, "--out", "saved/own"),
        ("run",),
    ):
        made.call(*words)
    lines: list[str] = []
    settings = config.load(folder / "config.toml")
    for cluster in ("command-fails", "log-clusters"):
        service.attend(places.Site(settings, folder), cluster, lambda: NOW, Event(), lines.append)
    assert any("failed with exit code 3" in line for line in lines)
    made.said["service"] = "\n".join(lines)
    assert list((folder / "saved").glob("*.tar"))
    assert "accepted 2 records" in next(v for k, v in made.said.items() if "mended.json" in k)
    for name, said in made.said.items():
        assert said, name
        assert REAL not in said.lower(), name


def test_no_file_contains_a_name(made: Site) -> None:
    searched = set()
    for path in made.left():
        for where, content in forms(path.name, path.read_bytes(), path):
            assert REAL.encode() not in content.lower(), f"{path}: {where}"
            searched.add(where)
    assert {"bytes", "table", "part of a mail", "data of a page", "text of a PDF"} <= searched
    assert "attachment of a PDF" in searched


def test_no_member_of_a_backup_contains_a_name(made: Site, tmp_path: Path) -> None:
    folder = made.folder / "saved"
    folder.mkdir(exist_ok=True)
    made.call("backup", str(folder))
    file = max(folder.glob("*.tar"))
    with tarfile.open(file) as tar:
        tar.extractall(tmp_path, filter="data")
    members = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(members) >= 3
    for path in members:
        for where, content in forms(path.name, path.read_bytes(), path):
            assert REAL.encode() not in content.lower(), f"{path.name}: {where}"


def forms(name: str, content: bytes, path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of a file, and its encoded or compressed parts."""
    yield "bytes", content
    if name.endswith(".duckdb"):
        con = snapshots.open_snapshot(path)
        with closing(con):
            for (table,) in database.rows(con, "SELECT table_name FROM duckdb_tables()"):
                rows = database.rows(con, f"SELECT * FROM {database.quote_name(table)}")
                yield "table", repr(rows).encode()
    elif name.endswith(".eml"):
        for part in message_from_bytes(content).walk():
            data = part.get_payload(decode=True)
            if isinstance(data, bytes):
                yield "part of a mail", data
                yield from forms(part.get_filename() or "part.html", data, path)
    elif name.endswith(".html"):
        for found in re.findall(rb"(?:base64,|fairaudit-report:)([\w+/=-]{8,})", content):
            yield "data of a page", base64.b64decode(found + b"==", altchars=_either(found))
    elif name.endswith(".pdf"):
        pdf = pypdfium2.PdfDocument(content)
        for page in pdf:
            text = page.get_textpage().get_text_range()
            yield "text of a PDF", "".join(text.split()).encode()  # names may be broken
        for number in range(pdf.count_attachments()):
            yield "attachment of a PDF", bytes(pdf.get_attachment(number).get_data())


def _either(found: bytes) -> bytes:
    """The last two digits of base64, as written in addresses or elsewhere."""
    return b"-_" if set(found) & set(b"-_") else b"+/"


@pytest.mark.parametrize("when", ["connect", "recipient", "content"])
def test_answers_of_a_mail_server_are_not_kept(
    made: Site, tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = site(tmp_path, people={"key_file": "people.key"})
    (tmp_path / "people.key").write_bytes(b"k" * 32)
    (tmp_path / "people.key").chmod(0o600)
    (tmp_path / "logs" / "1.swf").write_text(month(0))
    said = "550 5.1.1 <annaqzxwvkjq@example.org>: user annaqzxwvkjq is unknown"
    with mailserver.running(None) as server:
        if when == "recipient":
            server.answers["boss@example.org"] = [said]
        elif when == "content":
            server.content_answers["boss@example.org"] = [said]
        else:
            monkeypatch.setattr("aiosmtpd.smtp.SMTP.smtp_EHLO", _refusing(said))
            monkeypatch.setattr("aiosmtpd.smtp.SMTP.smtp_HELO", _refusing(said))
        mail = {
            "via": "smtp",
            "port": server.port,
            "security": "none",
            "timeout_s": 20,
            "sender": "audit@example.org",
            "domains": ("example.org",),
            "attempts": 1,
        }
        mailing = config.Config.model_validate(
            {
                **settings.model_dump(),
                "mail": mail,
                "recipients": ({"addresses": ("boss@example.org",), "charts": False},),
            }
        )
        night = run(places.Site(mailing, tmp_path), NOW)
    (failure,) = night.failures
    assert "550 5.1.1; the rest is withheld" in str(failure)
    assert REAL not in str(failure)
    ((error,),) = stores.rows(tmp_path / "fairaudit.duckdb", "SELECT error FROM deliveries")
    assert "550 5.1.1; the rest is withheld" in error
    assert REAL not in error
    for path in (tmp_path / "fairaudit-state").rglob("*"):
        assert REAL.encode() not in path.read_bytes()


def _refusing(said: str) -> object:
    async def refuse(server: object, _name: str) -> None:
        await server.push(said)  # type: ignore[attr-defined]

    return refuse


@pytest.mark.parametrize("key", [True, False])
def test_a_defect_shows_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bool
) -> None:
    """The message of an unexpected error is withheld if any name is hidden."""
    settings = site(tmp_path, people={"key_file": "people.key"} if key else {})

    def broken(*_: object) -> None:
        raise ValueError("annaqzxwvkjq")

    monkeypatch.setattr(pulling, "ingest", broken)
    with pytest.raises((ValueError, DefectError)) as caught:
        run(places.Site(settings, tmp_path), NOW)
    shown = "".join(traceback.format_exception(caught.value))
    shown = re.sub(r'raise ValueError\("annaqzxwvkjq"\)', "", shown)  # this file's own text
    kept = "\n".join(str(entry.error) for entry in history.read(tmp_path / "fairaudit-state"))
    for text in (shown, kept, str(caught.value)):
        assert (REAL in text) is not key
        assert "ValueError" in text or not key
    assert "in broken" in shown


@pytest.mark.parametrize("error", [AuditError("a", ": b", ": c"), ConfigError("a: c", "", ": x")])
def test_a_withheld_error_keeps_its_advice(error: AuditError) -> None:
    assert str(error.withheld()) == "a: c"
    assert type(error.withheld()) is type(error)
    assert error.withheld().withheld() is not None

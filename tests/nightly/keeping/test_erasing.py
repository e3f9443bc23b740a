"""A person is erased everywhere; figures stay, and the next run has nothing to do."""

import io
import json
import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from audit import config
from audit.config.places import Site
from audit.errors import UsageError
from audit.ingest import people
from audit.model import RECORDS
from audit.nightly import history
from audit.nightly.keeping import erasing
from audit.nightly.run import run
from audit.nightly.stages import Night
from audit.store import archive, database
from bench.logs.writers import sacct
from tests import processes, stores
from tests.formats.contract import PLAIN_JOB
from tests.security.test_names_with_key import forms
from tests.shared import once
from tests.studies import commands

pytestmark = pytest.mark.thorough

NOW: Final = 2_000_000_000
BEGIN: Final = 1_767_600_000  # 5 January 2026
DAY: Final = 86_400
USERS: Final = ("anna", "ben", "hedwig", "heidi")
VIEWS: Final = (
    *("user_fairness", "account_fairness", "job_fairness", "summary", "fairshare_history"),
    *("restatements", "rules", "coverage"),
)


def month(number: int) -> bytes:
    """Jobs that queue for 8 CPUs, and lines that cannot be read."""
    begin = BEGIN + 31 * DAY * number
    jobs, free = [], begin
    for place in range(60):
        user = USERS[place % len(USERS)]
        submit = begin + 1_500 * place
        start = max(submit, free)
        free = start + 2_000
        jobs.append(
            {
                **PLAIN_JOB,
                "job_id": f"{1000 * number + place}",
                "job_number": 1000 * number + place,
                "user": user,
                "account": user if user == "hedwig" else "physics",
                "group": "staff",
                "reason": f"held by {user}",
                "nodes": 1,
                "cpus": 5,
                "submit_time": submit,
                "eligible_time": submit,
                "start_time": start,
                "end_time": free,
                "occupancy_s": 2_000,
            }
        )
    frame = pl.DataFrame(jobs).match_to_schema(
        RECORDS, missing_columns="insert", extra_columns="ignore"
    )
    text = sacct.write(frame).decode()
    lines = text.splitlines()
    other, own = (next(one for one in lines if f"|{name}|" in one) for name in ("anna", "hedwig"))
    assert other != own
    damaged = [line.replace("2026-", "hedwig-", 1) for line in (other, own)]
    return (text + "\n".join(damaged) + "\n").encode()


def settings(*, pdf: bool = False, **people: str) -> config.Config:
    pool = {"name": "all", "capacity": {"cpus": 8}}
    cluster = {
        "name": "c",
        "sources": ({"files": "logs/*.sacct"},),
        "pools": (pool,),
        "people": people,
    }
    content = {
        "uncertainty": {"resamples": 100},
        "report": {"owner_cards": True, "pdf": pdf},
        "retention": {"archive_months": 1},
        "ingest": {"refused_limit": 0.5},
        "mail": {"via": "outbox", "sender": "audit@example.org", "domains": ("example.org",)},
        "recipients": ({"addresses": ("h@example.org",), "users": ("hedwig",)},),
        "thresholds": ({"metric": "re_unfairness", "above": -1.0, "dimension": "user"},),
        "clusters": (cluster,),
    }
    return config.Config.model_validate(content)


def night(folder: Path, of: config.Config) -> Night:
    done = run(Site(of, folder), NOW)
    assert done.failures == []
    return done


def build(folder: Path, *, pdf: bool = False) -> None:
    (folder / "logs").mkdir()
    for number in range(3):
        (folder / "logs" / f"{number}.sacct").write_bytes(month(number))
    done = night(folder, settings(pdf=pdf))
    assert done.computed == ["c 2026-01", "c 2026-02", "c 2026-03"]
    assert any("hedwig" in text for text in done.exceeded)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "site-of-four-users", build)


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "site"))


def kept(folder: Path) -> Iterator[Path]:
    """The files of a site, but not its logs and delivered mails."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).parts[0] not in ("logs", "fairaudit-outbox"):
            yield path


def naming(folder: Path, name: str = "hedwig") -> set[str]:
    """The files whose name or content contains a name."""
    found = set()
    for path in kept(folder):
        where = str(path.relative_to(folder))
        for _, content in [("name", where.encode()), *forms(path.name, path.read_bytes(), path)]:
            if name.encode() in content:
                found.add(where)
        if path.suffix == ".parquet" and name in repr(pl.read_parquet(path).rows()):
            found.add(where)
    return found


def figures(folder: Path, *names: str) -> dict[str, pl.DataFrame]:
    """The published figures, with one word in place of ``names``."""
    found = {}
    with stores.published(folder / "fairaudit.duckdb") as con:
        for view in VIEWS:
            frame = database.fetch(con, f"FROM {view}")
            texts = [name for name, kind in frame.schema.items() if kind == pl.String]
            renamed = [pl.col(texts).str.replace_all(rf"\b{name}\b", "PERSON") for name in names]
            for each in renamed:
                frame = frame.with_columns(each)
            found[view] = frame.sort(pl.all())
    return found


def states(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes())
        for path in kept(folder)
        if path.suffix in (".html", ".pdf", ".parquet", ".duckdb", ".json")
        and path.name != "store.duckdb"
    }


def test_nothing_but_logs_and_mails_contains_the_name(tmp_path: Path) -> None:
    place, of = tmp_path, settings(pdf=True)
    build(place, pdf=True)
    before, had = figures(place, "hedwig"), naming(place)
    for part in (
        *("fairaudit-state/store.duckdb", "fairaudit.duckdb", "fairaudit-reports/index.html"),
        *("user-hedwig.html", "user-hedwig.json", "report.pdf", "report.html", ".parquet"),
    ):
        assert any(part in path for path in had), (part, had)
    reports = {path.parent.name for path in place.rglob("report.pdf")}
    mails = sorted((place / "fairaudit-outbox").rglob("*"))

    done = erasing.erase(Site(of, place), "hedwig", NOW)
    assert done.night.failures == []
    assert done.token.startswith("erased-")
    assert done.records == 3 * 15
    assert done.lines == 3 * 2
    assert done.months == 1
    assert {page.parent.name for page in done.night.reports} == reports
    assert naming(place) == set()
    assert sorted((place / "fairaudit-outbox").rglob("*")) == mails
    for name in ("html", "json"):
        assert len(list(place.rglob(f"user-{done.token}.{name}"))) == len(
            list((place / "fairaudit-reports").rglob("report.html"))
        )
    after = figures(place, done.token)
    assert after.keys() == before.keys()
    for view, frame in before.items():
        assert_frame_equal(after[view], frame)
    others = stores.rows(
        place / "fairaudit.duckdb", "SELECT count(*) FROM all_records WHERE \"user\" = 'heidi'"
    )
    assert others == [(45,)]

    then = states(place)
    again = night(place, of)
    assert (again.read, again.computed, again.reports, again.sent) == ([], [], [], [])
    assert not again.published
    assert states(place) == then
    with pytest.raises(UsageError, match="no such user"):
        erasing.erase(Site(of, place), "hedwig", NOW)
    assert states(place) == then
    entries = history.read(place / "fairaudit-state")
    assert [(one.stage, one.state) for one in entries if one.stage == erasing.STAGE] == [
        ("erase", "done")
    ]


@pytest.mark.ci
def test_an_unknown_name_changes_nothing(place: Path) -> None:
    before = {path: path.read_bytes() for path in kept(place)}
    for name, message in (("nobody", "no such user"), ("", "not a name"), ("\udcff", "not a name")):
        with pytest.raises(UsageError, match=message):
            erasing.erase(Site(settings(), place), name, NOW)
    assert {path: path.read_bytes() for path in kept(place)} == before


def test_without_a_store(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no store yet"):
        erasing.erase(Site(settings(), tmp_path), "hedwig", NOW)


def test_with_a_key_the_pseudonym_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "0.sacct").write_bytes(month(0))
    (tmp_path / "people.key").write_bytes(b"k" * 32)
    (tmp_path / "people.key").chmod(0o600)
    of = settings(key_file="people.key").model_copy(update={"recipients": ()})
    night(tmp_path, of)
    pseudonym = people.filter_of(of.clusters[0], tmp_path).pseudonym("user", "hedwig")
    assert naming(tmp_path, pseudonym)
    done = erasing.erase(Site(of, tmp_path), "hedwig", NOW)
    assert done.records == 15
    assert naming(tmp_path, pseudonym) == set()


@pytest.mark.ci
def test_the_command_names_what_it_cannot_reach(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports whose figures are gone are removed if they name the person."""
    reports = place / "fairaudit-reports" / "c"
    for name in ("2025-11", "2025-12"):
        shutil.copytree(reports / "2026-03", reports / name)
    (reports / "2025-12" / "notes.txt").write_text("mine")
    (reports / "2025-11" / "report.html").write_text("of anna and heidi")
    written = settings().model_dump_json(exclude_defaults=True)
    text = "".join(f"{key} = {_toml(value)}\n" for key, value in json.loads(written).items())
    (place / "config.toml").write_text(text)
    monkeypatch.chdir(place)
    out = io.StringIO()
    with redirect_stdout(out):
        assert commands.run("erase", "--user", "hedwig") == 0
    said = out.getvalue()
    for message in (
        "replaces the name in 45 records, 6 refused lines and 1 archived months",
        "backups ('fairaudit backup')",
        "mails that were delivered (fairaudit-outbox)",
        "c: logs/*.sacct; jobs that it delivers again bring the name back",
        "config.toml: it contains the name",
    ):
        assert message in said, said
    told = [line for line in said.splitlines() if not line.startswith("removed ")]
    assert "hedwig" not in "".join(told)
    left = {str(path.relative_to(reports)) for path in reports.glob("2025-*/*")}
    assert {"2025-12/notes.txt", "2025-11/report.html"} <= left
    assert not {"2025-12/report.html", "2025-11/user-hedwig.html"} & left
    assert naming(place) == {"config.toml"}


def _toml(value: object) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {_toml(of)}" for key, of in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


KILLED: Final = """
import importlib, os, signal, sys
from pathlib import Path
from audit.config.places import Site
from audit.nightly.keeping import erasing
from tests.nightly.keeping.test_erasing import NOW, settings

module, name, calls = sys.argv[2].split(":")
module = importlib.import_module(module)
real, left = getattr(module, name), [None] * int(calls)
def killing(*given, **named):
    left.pop()
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **named)
setattr(module, name, killing)
erasing.erase(Site(settings(), Path(sys.argv[1])), "hedwig", NOW)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "erased"),
    [
        ("audit.nightly.history:copy_to:1", False),
        ("audit.files.state_folder:replace:1", False),
        ("audit.files.state_folder:_finish:2", True),
        ("audit.nightly.due:report:1", True),
        ("audit.store.publish:publish:1", True),
        ("audit.store.archive:tidy:1", True),
    ],
)
def test_killed_it_leaves_the_old_state_or_the_next_run_ends_it(
    place: Path, where: str, *, erased: bool
) -> None:
    before = figures(place, "hedwig")
    had = naming(place)
    done = processes.python("-c", KILLED, place, where)
    assert done.returncode == -9, done.stderr
    night(place, settings())
    assert naming(place) == (set() if erased else had)
    assert (place / "fairaudit-reports" / "index.html").exists()
    names = ["hedwig"]
    with stores.published(place / "fairaudit.duckdb") as con:
        tokens = 'SELECT DISTINCT "user" FROM all_records WHERE "user" LIKE \'erased-%\''
        names += [token for (token,) in database.rows(con, tokens)]
        assert len(archive.months(con)) == 1
    for view, frame in figures(place, *names).items():
        assert_frame_equal(frame, before[view])

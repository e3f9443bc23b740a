"""Crafted backups, and killed backups and restores."""

import gzip
import hashlib
import json
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from audit import config
from audit.config.places import Site
from audit.errors import AuditError, StoreError, UsageError
from audit.files import state_folder
from audit.nightly import history
from audit.nightly.keeping import archiving, backup
from audit.nightly.stages import own_state
from audit.store import archive, database, migrations, publish
from tests import processes, stores
from tests.shared import once
from tests.store.test_archive import fill, record

NOW: Final = 2_000_000_000
SETTINGS: Final = config.Config.model_validate(
    {
        "retention": {"archive_months": 1},
        "clusters": ({"name": "c", "zone": "UTC", "sources": ({"files": "logs/*"},)},),
    }
)
MANIFEST: Final = "manifest.json"
STORE: Final = "store.duckdb"
HISTORY: Final = "history.sqlite"
BEFORE: Final = (["first", "old"], ["first"])
"""Jobs and stages in the backup."""
LATER: Final = (["first", "old", "second", "third"], ["second", "first"])
"""The same before the restore."""


def work(folder: Path, job: str, *more: str) -> None:
    """Do the work of a night: archive all jobs in one file, record a stage, publish the store."""
    state = own_state(Site(SETTINGS, folder))
    with (
        state_folder.held(state, "test") as store,
        closing(history.RunHistory(state, lambda: NOW)) as past,
    ):
        past.end(past.begin(job), "done")
        with migrations.migrated(store, base=folder) as con:
            archiving.claim(con, Site(SETTINGS, folder))
            with database.transaction(con):
                archive.bring_back(con, "c", 0)
            fill(con, *(record(name, 50) for name in (job, *more)))
            archive.move(con, "c", (0, 100), folder, "fairaudit-archive/c")
            past.copy(con)
            publish.publish(con, folder / "fairaudit.duckdb")
            archive.tidy(con, folder, "fairaudit-archive/c")


def found(folder: Path) -> tuple[list[str], list[str]]:
    """Return jobs and stages as the next process finds them; it removes leftovers."""
    state = own_state(Site(SETTINGS, folder))
    with (
        state_folder.held(state, "test") as store,
        migrations.migrated(store, base=folder) as con,
    ):
        archive.tidy(con, folder, "fairaudit-archive/c")
        jobs = [job for (job,) in database.rows(con, "SELECT job_id FROM all_records ORDER BY 1")]
        results = database.rows(con, "SELECT job_id FROM all_results ORDER BY 1")
        assert [job for (job,) in results] == jobs
        named = {name for month in archive.months(con) for name in month.files}
    assert {str(file.relative_to(folder)) for file in folder.rglob("*.parquet*")} == named
    assert {path.name for path in state.iterdir()} == {STORE, HISTORY}
    return jobs, [entry.stage for entry in history.read(state)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a backup, and a night after it whose archive has other files."""

    def make(folder: Path) -> None:
        work(folder, "first", "old")
        backup.save(Site(SETTINGS, folder), folder / "b.tar", NOW)
        assert found(folder) == BEFORE
        work(folder, "second", "third")
        assert found(folder) == LATER

    return once(tmp_path_factory, "saved-site", make)


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "site")


# --- crafted -----------------------------------------------------------------------------------


def members(file: Path) -> dict[str, bytes]:
    with tarfile.open(file) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar}  # type: ignore[union-attr]


def entry(name: str, content: bytes = b"", **header: Any) -> bytes:
    """Return a member of a tar: its header with these fields, and its content."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in header.items():
        setattr(info, field, value)
    padding = b"\0" * (-len(content) % 512)
    return info.tobuf(tarfile.GNU_FORMAT) + content + padding


def tar(parts: Iterable[bytes]) -> bytes:
    return b"".join(parts) + b"\0" * 1024


def whole(inside: dict[str, bytes]) -> bytes:
    return tar(entry(name, content) for name, content in inside.items())


def claimed(**values: object) -> Callable[[dict[str, bytes]], bytes]:
    """Return a maker of backups with other values in the manifest."""
    return lambda inside: whole(
        {**inside, MANIFEST: json.dumps({**json.loads(inside[MANIFEST]), **values}).encode()}
    )


def manifest(text: bytes) -> Callable[[dict[str, bytes]], bytes]:
    return lambda inside: whole({**inside, MANIFEST: text})


def with_first(*parts: bytes) -> Callable[[dict[str, bytes]], bytes]:
    """Return a maker of backups that begin with these members."""
    return lambda inside: tar([*parts, whole(inside)])


def instead(name: str, *parts: bytes) -> Callable[[dict[str, bytes]], bytes]:
    """Return a maker of backups in which other members replace one."""
    return lambda inside: tar(
        [*(entry(each, content) for each, content in inside.items() if each != name), *parts]
    )


def pax(name: str, content: bytes, **headers: str) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.pax_headers = headers
    return info.tobuf(tarfile.PAX_FORMAT) + content + b"\0" * (-len(content) % 512)


def header_at(offset: int, value: bytes) -> Callable[[dict[str, bytes]], bytes]:
    """Return a maker of backups with other bytes in the first header, whose checksum is right."""

    def change(inside: dict[str, bytes]) -> bytes:
        made = bytearray(whole(inside))
        made[offset : offset + len(value)] = value
        made[148:156] = b" " * 8
        made[148:156] = b"%06o\0 " % sum(made[:512])
        return bytes(made)

    return change


FOUR_GB: Final = 4 << 30
SHA: Final = "a" * 64
NESTED: Final = b'{"format": ' + b"[" * 100_000

CRAFTED: Final[dict[str, Callable[[dict[str, bytes]], bytes]]] = {
    # manifests
    "sha256 is null": claimed(sha256=None),
    "sha256 holds null": claimed(sha256={STORE: None, HISTORY: None}),
    "sha256 lacks the history": claimed(sha256={STORE: SHA}),
    "sha256 names more": claimed(sha256={STORE: SHA, HISTORY: SHA, "../x": SHA}),
    "sha256 is a path": claimed(sha256={STORE: "../../x", HISTORY: SHA}),
    "archive is a list": claimed(archive=["x"]),
    "archive is null": claimed(archive=None),
    "archive leads elsewhere": claimed(archive={"../../x.parquet": SHA}),
    "archive is absolute": claimed(archive={"/etc/passwd": SHA}),
    "archive has a NUL": claimed(archive={"a\0b": SHA}),
    "archive is empty": claimed(archive={}),
    "failing is a number": claimed(failing=5),
    "failing steers a terminal": claimed(failing=["\x1b[2J"]),
    "failing breaks the line": claimed(failing=["a\nb"]),
    "rows is a list": claimed(rows=[]),
    "rows are negative": claimed(rows={"records": -1}),
    "rows are true": claimed(rows={"records": True}),
    "rows are endless": manifest(b'{"format": 2, "rows": {"records": ' + b"9" * 9_999 + b"}}"),
    "migration is text": claimed(migration="23"),
    "migration is of tomorrow": claimed(migration=999),
    "version breaks the line": claimed(version="a\nb"),
    "a newer version breaks the line": claimed(format=9, version="a\nb"),
    "format is null": claimed(format=None),
    "format is 0": claimed(format=0),
    "made_at steers a terminal": claimed(made_at="\x1b]0;x\x07"),
    "a key that is not known": claimed(**{"x\ny": 1}),
    "nested": manifest(NESTED),
    "nested within": manifest(b'{"format": 2, "archive": ' + b'{"a":' * 9_999),
    "no JSON": manifest(b"\xff\xfe"),
    "no object": manifest(b"[]"),
    "nothing": manifest(b""),
    "a huge manifest": manifest(b" " * (17 << 20)),
    "two manifests": with_first(entry(MANIFEST, b"{}")),
    # names and kinds of members
    "a NUL in a name": header_at(0, b"mani\0fest.json"),
    "a name that is no text": header_at(0, b"\xff\xfe"),
    "a way up": with_first(entry("../../x", b"x")),
    "an absolute name": with_first(entry("/tmp/x", b"x")),
    "more than is named": with_first(entry(f"archive-{SHA}.parquet", b"x")),
    "a member twice": lambda inside: tar([whole(inside)[:-1024], entry(STORE, inside[STORE])]),
    **{
        f"a member of type {kind!r}": instead(
            STORE, entry(STORE, type=kind, linkname="/etc/passwd", devmajor=1, devminor=5)
        )
        for kind in (bytes([code]) for code in b"1234567SLKxgXV")
    },
    "a folder": instead(STORE, entry(f"{STORE}/", type=tarfile.DIRTYPE)),
    "a long name": with_first(entry("././@LongLink", b"../../x\0", type=b"L")),
    # sizes
    "an old sparse file": instead(STORE, entry(STORE, b"x" * 512, type=tarfile.GNUTYPE_SPARSE)),
    "a sparse file": instead(
        STORE,
        pax(
            STORE,
            b"1\n0\n512\n".ljust(512, b"\0") + b"x" * 512,
            **{
                "GNU.sparse.major": "1",
                "GNU.sparse.minor": "0",
                "GNU.sparse.name": STORE,
                "GNU.sparse.realsize": str(FOUR_GB),
            },
        ),
    ),
    "another size in an extended header": instead(STORE, pax(STORE, b"x", size=str(FOUR_GB))),
    "another name in an extended header": with_first(pax("x", b"x", path="../../x")),
    "a size beyond the file": lambda inside: tar([entry(STORE, size=FOUR_GB), whole(inside)]),
    "a negative size": header_at(124, b"\xff" * 12),
    "a size that is none": header_at(124, b"12z4567\0"),
    "a size of 8 EB": header_at(124, b"\x80\0\0\0\x7f" + b"\xff" * 7),
    "a wrong sum": lambda inside: b"n" + whole(inside)[1:],
    "cut off in a header": lambda inside: whole(inside)[:100],
    "cut off before its end": lambda inside: whole(inside)[:-1024],
    "empty": lambda _: b"",
    "zeros": lambda _: b"\0" * 10_240,
    "text": lambda _: b"no backup" * 1000,
    "compressed": lambda inside: gzip.compress(whole(inside), 1),
}


def refused(place: Path, text: bytes) -> AuditError:
    """Return the error of restoring a backup, which must change nothing."""
    (place / "b.tar").write_bytes(text)
    before = _content(place)
    with pytest.raises((UsageError, StoreError)) as caught:
        backup.restore(Site(SETTINGS, place), place / "b.tar", force=True)
    assert _content(place) == before
    return caught.value


def _content(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
    }


@pytest.mark.thorough
def test_a_crafted_backup_is_refused_before_anything_is_replaced(place: Path) -> None:
    inside = members(place / "b.tar")
    for name, craft in CRAFTED.items():
        text = craft(dict(inside))
        error = refused(place, text)
        said = str(error)
        assert said.startswith(f"{place / 'b.tar'}: "), name
        assert said.isprintable(), name  # on one line
        assert len(said) < len(str(place)) + 300, name
    (place / "b.tar").write_bytes(whole(inside))  # what the others were made of is sound
    backup.restore(Site(SETTINGS, place), place / "b.tar", force=True)
    assert found(place) == BEFORE


@pytest.mark.thorough
def test_the_command_reports_it_in_one_line(place: Path) -> None:
    (place / "config.toml").write_text('[[clusters]]\nname = "c"\nzone = "UTC"\n')
    (place / "b.tar").write_bytes(claimed(failing=5)(members(place / "b.tar")))
    done = processes.python("-m", "audit", "restore", "b.tar", "--force", cwd=place)
    assert done.returncode == 4
    assert done.stderr == (
        "fairaudit: b.tar: is damaged, or not a backup of fairaudit: manifest.json is not as "
        "fairaudit writes it (failing)\n"
    )


def crafted(place: Path, member: str) -> Path:
    """Return a copy of a file in the backup, to be changed."""
    file = place.parent / f"crafted-{member}"
    file.write_bytes(members(place / "b.tar")[member])
    return file


def with_store(place: Path, *statements: str, **values: object) -> bytes:
    """Return the backup with another store and a manifest that matches it."""
    inside = members(place / "b.tar")
    file = crafted(place, STORE)
    with closing(database.open_store(file)) as con:
        for statement in statements:
            database.execute(con, statement)
        tables = database.rows(
            con, "SELECT table_name FROM system.main.duckdb_tables() WHERE NOT internal"
        )
        rows = {
            table: database.rows(con, f"SELECT count(*) FROM {table}")[0][0] for (table,) in tables
        }
    inside[STORE] = file.read_bytes()
    sha256 = {name: hashlib.sha256(inside[name]).hexdigest() for name in (STORE, HISTORY)}
    return claimed(rows=rows, sha256=sha256, **values)(inside)


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["CREATE MACRO count(x) AS 7"], "not belong to fairaudit"),
        (["CREATE MACRO duckdb_tables() AS TABLE SELECT 1 AS x"], "not belong to fairaudit"),
        (["CREATE SCHEMA more", "CREATE TYPE more.a AS ENUM ('a')"], "not one of fairaudit"),
        (["CREATE SEQUENCE more"], "not one of fairaudit"),
        (["CREATE INDEX more ON records (cluster)"], "not one of fairaudit"),
        (
            ["DROP TABLE archived_input", "CREATE VIEW archived_input AS SELECT 1 AS x"],
            "not one of fairaudit",
        ),
        (
            [
                "DROP TABLE identity",
                "CREATE TABLE identity (store VARCHAR AS (repeat('x', 9)), y BIGINT)",
            ],
            "does not belong to fairaudit",
        ),
        (
            [
                "DROP TABLE migrations",
                "CREATE VIEW migrations AS SELECT 'a' AS number, 'b' AS name",
            ],
            "not belong to fairaudit",
        ),
        (["DELETE FROM migrations"], "not one of fairaudit"),
    ],
)
def test_tables_of_others_are_refused(place: Path, statements: list[str], said: str) -> None:
    file = crafted(place, STORE)
    with closing(database.open_store(file)) as con:
        for statement in statements:
            database.execute(con, statement)
    with pytest.raises(StoreError, match=said):
        backup._examined(file, checks=False)


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["CREATE TABLE more (x BIGINT)"], "not one of fairaudit"),
        (["UPDATE archived SET records_file = '/etc/passwd'"], "names other files"),
        (["UPDATE identity SET store = '../../x'"], "identity is damaged"),
        (["INSERT INTO identity VALUES ('0123456789abcdef')"], "identity is damaged"),
    ],
)
def test_a_crafted_store_is_refused(place: Path, statements: list[str], said: str) -> None:
    assert said in str(refused(place, with_store(place, *statements)))


@pytest.mark.thorough
def test_a_store_that_names_files_outside_its_archive_is_refused(place: Path) -> None:
    named = json.loads(members(place / "b.tar")[MANIFEST])["archive"]
    for name in ("/etc/passwd", "../../x", "fairaudit-archive/c/../../x", "a\0b"):
        archived = {name if "records" in file else file: sha256 for file, sha256 in named.items()}
        hostile = name.replace("\0", "' || chr(0) || '")
        change = f"UPDATE archived SET records_file = '{hostile}'"
        error = refused(place, with_store(place, change, archive=archived))
        assert "not in the archive" in str(error)


def test_views_of_a_backup_are_recreated(place: Path) -> None:
    (place / "b.tar").write_bytes(
        with_store(place, "CREATE OR REPLACE VIEW stuck AS SELECT 'crafted' AS cluster")
    )
    backup.restore(Site(SETTINGS, place), place / "b.tar", force=True)
    assert found(place) == BEFORE
    with migrations.migrated(place / "fairaudit-state" / STORE, base=place) as con:
        assert database.rows(con, "SELECT count(*) FROM stuck") == [(0,)]


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE VIEW more AS SELECT 1"],
        ["CREATE TRIGGER more AFTER INSERT ON history BEGIN DELETE FROM settled; END"],
        ["CREATE INDEX more ON history (abs(id))"],
        ["CREATE VIRTUAL TABLE more USING fts5(x)"],
        ["DROP TABLE history", "CREATE TABLE history (id)"],
        ["UPDATE history SET state = 'new'"],
        ["UPDATE history SET stage = CAST(x'ff' AS TEXT)"],
        ["UPDATE history SET error = x'00'"],
        ["INSERT INTO planned VALUES ('c', 'soon')"],
        ["DROP TABLE planned", "CREATE TABLE planned (cluster)"],
    ],
)
def test_a_crafted_history_is_refused(place: Path, statements: list[str]) -> None:
    file = crafted(place, HISTORY)
    with closing(sqlite3.connect(file, isolation_level=None)) as con:
        for statement in statements:
            con.execute(statement)
    with pytest.raises(StoreError):
        history.examine(file)


def test_a_backup_with_a_crafted_history_is_refused(place: Path) -> None:
    inside = members(place / "b.tar")
    file = crafted(place, HISTORY)
    with closing(sqlite3.connect(file, isolation_level=None)) as con:
        con.execute("CREATE VIEW more AS SELECT 1")
    inside[HISTORY] = file.read_bytes()
    sha256 = {name: hashlib.sha256(inside[name]).hexdigest() for name in (STORE, HISTORY)}
    assert "more than a history" in str(refused(place, claimed(sha256=sha256)(inside)))


# --- killed ------------------------------------------------------------------------------------


KILLING: Final = """
import os, shutil, signal, sys
from pathlib import Path
from audit.nightly.keeping import backup
from audit.config.places import Site
from tests.security.test_backups import NOW, SETTINGS, found

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "shutil.copyfile"}

def forked(do):
    child = os.fork()
    if child == 0:
        do()
        os._exit(0)
    return os.waitpid(child, 0)[1]

def killed_at(step, folder, do):
    seen = []
    def hook(event, arguments):
        writes = event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
        if (writes or event in CHANGES) and str(arguments[0]).startswith(str(folder)):
            seen.append(event)
            if len(seen) == step:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    do(folder)

def restore(folder):
    backup.restore(Site(SETTINGS, folder), folder / "b.tar", force=True)

def save(folder):
    backup.save(Site(SETTINGS, folder), folder / "there" / "c.tar", NOW)

def look(folder):
    print(len(found(folder)[0]), flush=True)

def save_again(folder):
    save(folder)
    assert [path.name for path in (folder / "there").iterdir()] == ["c.tar"]
    print(1, flush=True)

site, place, what = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
do, after = {"restore": (restore, look), "save": (save, save_again)}[what]
step, status = 0, signal.SIGKILL
while status == signal.SIGKILL:
    step += 1
    folder = place / str(step)
    shutil.copytree(site, folder)
    (folder / "there").mkdir()
    status = forked(lambda: killed_at(step, folder, do))
    assert forked(lambda: after(folder)) == 0, step
    shutil.rmtree(folder)
assert status == 0
"""


def killed(what: str, site: Path, folder: Path) -> list[int]:
    """Return what is found after killing a process before each change of a file."""
    done = processes.python("-c", KILLING, site, folder, what)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


@pytest.mark.slow
def test_a_restore_killed_anywhere_leaves_the_old_state_or_the_new(
    made: Path, tmp_path: Path
) -> None:
    jobs = killed("restore", made, tmp_path)
    old, new = len(LATER[0]), len(BEFORE[0])
    switched = jobs.index(new)
    assert jobs == [old] * switched + [new] * (len(jobs) - switched)
    assert switched > 10
    assert len(jobs) - switched > 3


@pytest.mark.slow
def test_a_backup_killed_anywhere_leaves_nothing_that_the_next_does_not_remove(
    made: Path, tmp_path: Path
) -> None:
    assert len(killed("save", made, tmp_path)) > 5


def test_an_archived_file_that_is_damaged_is_replaced_and_a_whole_one_left(place: Path) -> None:
    (other,) = (place / "fairaudit-archive" / "c").glob("*-records-*")
    saved = json.loads(members(place / "b.tar")[MANIFEST])["archive"]
    (damaged,) = [place / name for name in saved if "-records-" in name]
    damaged.touch(0o400)
    stamp = other.stat().st_mtime_ns
    backup.restore(Site(SETTINGS, place), place / "b.tar", force=True)
    assert damaged.stat().st_mode & 0o777 == 0o400
    assert damaged.stat().st_size > 0
    assert other.stat().st_mtime_ns == stamp  # readers of what is published still need it
    assert stores.rows(place / "fairaudit.duckdb", "SELECT count(*) FROM all_records") == [
        (len(LATER[0]),)
    ]
    assert found(place) == BEFORE


def test_a_backup_comes_back_elsewhere(made: Path, tmp_path: Path) -> None:
    shutil.copy(made / "b.tar", tmp_path)
    backup.restore(Site(SETTINGS, tmp_path), tmp_path / "b.tar", force=False)
    assert found(tmp_path) == BEFORE
    work(tmp_path, "second", "third")
    assert found(tmp_path) == LATER

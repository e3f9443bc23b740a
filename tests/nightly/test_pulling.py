"""Files as a night finds them: rotated, growing, packed, cut, replaced, or none at all."""

import bz2
import gzip
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from audit import config
from audit.config import Config
from audit.config.places import Site
from audit.config.table import TableMapping, presets
from audit.errors import SilentError
from audit.ingest import replay
from audit.nightly.run import run
from audit.nightly.stages import Night
from audit.store import database, queries
from tests import stores
from tests.logs import line, log, write
from tests.nightly.test_run import FIGURES, NOW, month, site
from tests.places import DATA

DAY = 86_400


def night(settings: Config, folder: Path, now: int = NOW) -> Night:
    return run(Site(settings, folder), now, stages=("ingest",))


def held(folder: Path, wanted: str) -> list[tuple[object, ...]]:
    with stores.published(folder / "fairaudit-state" / "store.duckdb") as con:
        assert queries.failed_checks(con) == {}
        return database.rows(con, wanted)


def jobs(folder: Path) -> list[object]:
    return [job for (job,) in held(folder, "SELECT job_number FROM records ORDER BY ALL")]


def lines(first: int, last: int) -> str:
    return "".join(f"{line(job, submit=job * 600)}\n" for job in range(first, last))


HEADER = log([], UnixStartTime=1_767_225_600)


def new(path: Path, age_s: int = 0) -> None:
    """Set a file's time of change to ``age_s`` before NOW."""
    os.utime(path, (NOW - age_s, NOW - age_s))


def test_what_rotates_and_grows_is_read_once(tmp_path: Path) -> None:
    settings = site(tmp_path, sources=({"files": "logs/log*"},))
    logs = tmp_path / "logs"
    first, second, third = lines(1, 9), "no record\n" + lines(9, 30), lines(30, 35)

    write(logs / "log", HEADER + first)
    assert night(settings, tmp_path).read == ["log: 8 records, 0 refused"]
    with (logs / "log").open("a") as grown:
        grown.write(second)
    assert night(settings, tmp_path).read == ["log: 22 records, 1 refused"]
    assert jobs(tmp_path) == list(range(1, 30))

    (logs / "log").rename(logs / "log.1")
    write(logs / "log", third)
    assert night(settings, tmp_path).read == ["log: 5 records, 0 refused"]
    (logs / "log.2.gz").write_bytes(gzip.compress((logs / "log.1").read_bytes()))
    (logs / "log").rename(logs / "log.1")
    assert night(settings, tmp_path) == Night()

    with (logs / "log.1").open("a") as grown:  # grown before it was packed
        grown.write(lines(35, 40))
    (logs / "log.3.bz2").write_bytes(bz2.compress((logs / "log.1").read_bytes()))
    (logs / "log.1").unlink()
    again = night(settings, tmp_path)
    assert again.read == ["log.3.bz2: 5 records, 0 refused"]
    assert again.warnings == []
    assert jobs(tmp_path) == list(range(1, 40))
    place = held(tmp_path, "SELECT line, byte_offset, text FROM refused")
    begin = len(HEADER + first)
    assert place == [((HEADER + first).count("\n") + 1, begin, "no record")]


def test_a_log_that_ended_within_a_line_is_read_whole_when_it_grows(tmp_path: Path) -> None:
    settings = site(tmp_path)
    path = write(tmp_path / "logs" / "a.swf", HEADER + lines(1, 30) + "30 18000 0")
    settings = Config.model_validate(
        {**settings.model_dump(exclude_unset=True), "ingest": {"refused_limit": 0.5}}
    )
    night(settings, tmp_path)
    assert jobs(tmp_path) == list(range(1, 30))
    write(path, HEADER + lines(1, 33))
    night(settings, tmp_path)
    assert jobs(tmp_path) == list(range(1, 33))


def test_what_is_still_being_written_waits(tmp_path: Path) -> None:
    settings = site(tmp_path, sources=({"files": "logs"},))
    half = write(tmp_path / "logs" / "half.swf", HEADER + lines(1, 5)[:-20])
    cut = tmp_path / "logs" / "cut.swf.gz"
    whole = gzip.compress((HEADER + lines(5, 400)).encode())
    cut.write_bytes(whole[: len(whole) // 2])
    little = tmp_path / "logs" / "little.swf"
    little.write_bytes((HEADER + lines(400, 402)).encode("utf-16"))
    for path in (half, cut, little):
        new(path)
    found = night(settings, tmp_path)
    names = [text.split(": ")[0].rsplit("/")[-1] for text in found.warnings]
    assert names == ["half.swf", "cut.swf.gz"]
    assert all("still being written" in text for text in found.warnings)
    assert found.failures == []
    assert jobs(tmp_path) == [400, 401]

    new(cut, 3600)
    (failure,) = night(settings, tmp_path).failures
    assert "cut.swf.gz: truncated" in str(failure)
    assert held(tmp_path, "SELECT file, code FROM set_aside") == [("cut.swf.gz", "damaged")]
    cut.write_bytes(whole)
    assert night(settings, tmp_path).failures == []
    assert held(tmp_path, "SELECT file FROM set_aside") == []


def test_one_that_was_replaced_by_a_smaller_one_is_named(tmp_path: Path) -> None:
    settings = site(tmp_path)
    path = write(tmp_path / "logs" / "a.swf", HEADER + lines(1, 30))
    night(settings, tmp_path)
    write(path, HEADER + lines(30, 33))
    (warning,) = night(settings, tmp_path).warnings
    assert warning == f"{path}: was replaced by a smaller file; earlier records are kept"
    assert jobs(tmp_path) == list(range(1, 33))
    assert night(settings, tmp_path) == Night()


@pytest.mark.parametrize("again", [False, True], ids=["others", "the same"])
def test_a_log_that_is_rewritten_while_it_is_read_loses_nothing(
    tmp_path: Path, again: bool
) -> None:
    settings = site(tmp_path)
    write(tmp_path / "logs" / "b.swf", HEADER + lines(30, 40))
    path = write(tmp_path / "logs" / "a.swf", HEADER + lines(1, 30))

    def rewrite(what: str, done: int, _: int) -> None:
        if what == "reading a.swf" and done == 0:  # after it was opened
            path.write_text(HEADER + (lines(1, 6) if again else lines(1, 6) + lines(40, 64)))

    before = path.stat()
    at = int(before.st_mtime)
    found = run(Site(settings, tmp_path), at, stages=("ingest",), on_progress=rewrite)
    (warning,) = (text for text in found.warnings if "a.swf" in text)
    assert "a.swf: changed while it was read, so it is still being written" in warning
    assert found.failures == []
    assert jobs(tmp_path) == list(range(30, 40))
    path.write_text(HEADER + lines(1, 30))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert night(settings, tmp_path).failures == []
    assert jobs(tmp_path) == list(range(1, 40))


def test_a_log_that_grows_while_it_is_read_is_read_as_it_was(tmp_path: Path) -> None:
    settings = site(tmp_path)
    path = write(tmp_path / "logs" / "a.swf", HEADER + lines(1, 30))

    def grow(what: str, done: int, _: int) -> None:
        if what == "reading a.swf" and done == 0:
            with path.open("a") as grown:
                grown.write(lines(30, 40)[:-20])

    found = run(Site(settings, tmp_path), NOW, stages=("ingest",), on_progress=grow)
    assert found.read == ["a.swf: 29 records, 0 refused"]
    path.write_text(HEADER + lines(1, 40))
    assert night(settings, tmp_path).read == ["a.swf: 10 records, 0 refused"]
    assert jobs(tmp_path) == list(range(1, 40))


CUT = "truncated: the .gz ends in the middle of its data; fetch it again"
FIFO = "a FIFO (named pipe): a log is read more than once, so write it to a file first"


def test_what_is_no_file_is_set_aside_and_stops_nothing(tmp_path: Path) -> None:
    settings = site(tmp_path)
    logs = tmp_path / "logs"
    write(logs / "good.swf", month(0))
    os.mkfifo(logs / "fifo.swf")
    (logs / "folder.swf").mkdir()
    (logs / "link.swf").symlink_to("gone")
    odd = Path(os.fsdecode(os.fsencode(logs) + b"/\xff\x1b\n.swf"))
    odd.write_text(month(1))
    broken = Path(os.fsdecode(os.fsencode(logs) + b"/\xfe.swf"))
    broken.write_bytes(b"\x1f\x8b\x08")
    new(broken, DAY)
    found = run(Site(settings, tmp_path), NOW, stages=("ingest", "publish"))
    assert len(found.read) == 2
    assert held(tmp_path, "SELECT file, code, reason FROM set_aside ORDER BY file") == [
        ("\\xfe.swf", "damaged", CUT),
        ("fifo.swf", "unreadable", FIFO),
        ("folder.swf", "unreadable", "is a directory; name the logs in it"),
        ("link.swf", "unreadable", "a link to gone, where nothing is"),
    ]
    again = run(Site(settings, tmp_path), NOW, stages=("ingest", "publish"))
    assert again.read == []
    assert len(again.failures) == 4


def test_folders_beside_logs_are_no_logs(tmp_path: Path) -> None:
    settings = site(tmp_path, sources=({"files": "logs"}, {"files": "logs/**"}))
    write(tmp_path / "logs" / "a.swf", month(0))
    (tmp_path / "logs" / "old").mkdir()
    assert night(settings, tmp_path).failures == []


@pytest.mark.parametrize("source", [{"files": "logs/*"}, {"command": ("cat", "logs/a.swf")}])
def test_a_source_gone_silent_is_an_alarm(tmp_path: Path, source: dict[str, object]) -> None:
    settings = site(tmp_path, sources=({**source, "silent_days": 2},))
    if "files" in source:
        (failure,) = night(settings, tmp_path).failures
        assert "has provided no records yet" in str(failure)
    write(tmp_path / "logs" / "a.swf", month(0))
    night(site(tmp_path, sources=(source,)), tmp_path)
    ((newest,),) = held(tmp_path, "SELECT max(end_time) FROM records")
    assert isinstance(newest, int)
    assert night(settings, tmp_path, newest + 2 * DAY).failures == []
    found = night(settings, tmp_path, newest + 2 * DAY + 1)
    (failure,) = found.failures
    assert isinstance(failure, SilentError)
    assert "is silent: its newest record is of 2026-01-0" in str(failure)
    assert found.exit_code == 1


@pytest.mark.thorough
def test_a_changed_mapping_reads_files_again_and_restates(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log.csv"
    log.parent.mkdir()
    shutil.copy(DATA / "tables" / "helios" / "cluster_log.csv", log)
    new(log, age_s=DAY)

    def read(table: str | TableMapping) -> Night:
        source = config.SourceConfig(files="logs/*", table=table)
        cluster = config.Cluster(name="c", zone="Asia/Shanghai", sources=(source,))
        settings = Config(clusters=(cluster,), report=config.ReportConfig(pdf=False))
        return run(Site(settings, tmp_path), NOW, stages=FIGURES)

    query = "SELECT sum(cpus)::BIGINT AS cpus, count(*) AS n FROM job_fairness"
    assert read("helios").read == ["log.csv: 26 records, 0 refused"]
    assert held(tmp_path, query) == [(688, 26)]
    assert read("helios").read == []
    by_gpus = TableMapping.model_validate(
        presets()["helios"].model_dump(exclude_defaults=True, by_alias=True)
        | {"cpus": {"column": "gpu_num"}}
    )
    assert read(by_gpus).read == ["log.csv: 26 records, 0 refused"]
    assert held(tmp_path, query) == [(256, 26)]
    reasons = "SELECT DISTINCT because FROM restatements"
    ((because,),) = held(tmp_path, reasons)
    assert str(because).startswith("other columns are read of log.csv (26 of this period)")
    assert read(by_gpus).read == []


LOCAL = (
    "JobIDRaw|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|AllocCPUS\n"
    "1|ann|x|p|COMPLETED|2026-03-02T10:00:00|2026-03-02T10:01:00|2026-03-02T11:00:00|3540|1\n"
)


START = "SELECT start_time - 1772445660 FROM records ORDER BY ALL"  # after 10:01 UTC
NINE_HOURS = 9 * 3600


def test_logs_with_local_times_are_read_again_in_a_changed_zone(tmp_path: Path) -> None:
    """Those that are gone stay as they were, with a warning; epoch seconds have no zone."""
    sources = ({"files": "logs/*.txt"}, {"files": "logs/*.swf"})
    site(tmp_path, sources=sources)
    write(tmp_path / "logs" / "1.txt", LOCAL)
    gone = write(tmp_path / "logs" / "2.txt", LOCAL.replace("1|ann", "2|ben"))
    write(tmp_path / "logs" / "3.swf", HEADER + lines(1, 2))
    for path in (tmp_path / "logs").iterdir():
        new(path, age_s=DAY)
    assert night(site(tmp_path, zone="UTC", sources=sources), tmp_path).warnings == []
    before = held(tmp_path, START)
    gone.unlink()
    tokyo = site(tmp_path, zone="Asia/Tokyo", sources=sources)
    first = night(tokyo, tmp_path)
    assert first.read == ["1.txt: 1 records, 0 refused"]
    (warning,) = first.warnings
    assert "times of 1 log of 'logs/*.txt' were read in zone UTC, not Asia/Tokyo" in warning
    assert sorted(set(held(tmp_path, START)) - set(before)) == [(-NINE_HOURS,)]
    again = night(tokyo, tmp_path)
    assert (again.read, again.warnings) == ([], [warning])
    back = night(site(tmp_path, zone="UTC", sources=sources), tmp_path)
    assert (back.read, back.warnings) == (first.read, [])
    assert held(tmp_path, START) == before


def test_a_log_that_grew_when_the_zone_changed_is_read_as_a_whole(tmp_path: Path) -> None:
    sources = ({"files": "logs/*.txt"},)
    site(tmp_path, sources=sources)
    path = write(tmp_path / "logs" / "1.txt", LOCAL)
    new(path, age_s=DAY)
    night(site(tmp_path, zone="UTC", sources=sources), tmp_path)
    row = LOCAL.splitlines(keepends=True)[1]
    write(path, LOCAL + row.replace("1|ann", "2|ben"))
    new(path, age_s=DAY)
    assert night(site(tmp_path, zone="Asia/Tokyo", sources=sources), tmp_path).warnings == []
    assert held(tmp_path, START) == [(-NINE_HOURS,)] * 2


def test_in_a_changed_zone_accepted_dates_stay_and_lost_corrections_are_reported(
    tmp_path: Path,
) -> None:
    sources = ({"files": "logs/*.txt"},)
    site(tmp_path, sources=sources)
    row = LOCAL.splitlines(keepends=True)[1]
    rows = [row.replace("1|ann", f"{job}|ann") for job in range(1, 40)]
    odd = rows[-1].replace("39|ann", "99|ann").replace("2026", "2059")
    write(tmp_path / "logs" / "1.txt", "".join([LOCAL, "no record\n", *rows[1:], odd]))
    new(tmp_path / "logs" / "1.txt", age_s=DAY)
    night(site(tmp_path, zone="UTC", sources=sources), tmp_path)
    store = tmp_path / "fairaudit-state" / "store.duckdb"
    with closing(database.open_store(store)) as con:
        assert replay.accept(con, "c", NOW) == 1
        find = "SELECT input_id, byte_offset FROM refused"
        (place,) = database.rows(con, find)
        corrected = {place: row.replace("1|ann", "77|ann").rstrip()}
        assert replay.replay(con, "c", NOW, mended=corrected).taken == 1
    assert jobs(tmp_path) == [*range(1, 40), 77, 99]
    (lost,) = night(site(tmp_path, zone="Asia/Tokyo", sources=sources), tmp_path).warnings
    assert lost.startswith("1.txt: 1 of its records that were corrected by hand are refused again")
    assert jobs(tmp_path) == [*range(1, 40), 99]


def test_a_cluster_that_was_renamed_is_reported_once(tmp_path: Path) -> None:
    """Its jobs would count twice, and nothing would say so."""
    settings = site(tmp_path)
    write(tmp_path / "logs" / "a.swf", HEADER + lines(1, 9))
    assert night(settings, tmp_path).warnings == []
    renamed = site(tmp_path, name="d")
    (warning,) = night(renamed, tmp_path).warnings
    assert warning.startswith("cluster 'd' is new, and the store also has c, no longer configured")
    assert night(renamed, tmp_path).warnings == []


def test_a_folder_that_may_not_be_searched_stops_no_other_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = site(tmp_path, sources=({"files": "closed/*.swf"}, {"files": "logs/*.swf"}))
    write(tmp_path / "logs" / "a.swf", HEADER + lines(1, 9))
    is_dir = Path.is_dir

    def closed(path: Path) -> bool:
        if "closed" in path.parts:
            raise PermissionError(13, "Permission denied", str(path))
        return is_dir(path)

    monkeypatch.setattr(Path, "is_dir", closed)
    found = night(settings, tmp_path)
    assert found.read == ["a.swf: 8 records, 0 refused"]
    (failure,) = found.failures
    assert str(failure).endswith("closed/*.swf: cannot be read: Permission denied")
    assert held(tmp_path, "SELECT code FROM set_aside") == [("unreadable",)]


def test_a_command_that_prints_local_times_of_its_own_is_read_again(tmp_path: Path) -> None:
    """As ``ssh login sacct`` does; a command that follows its TZ prints other texts."""
    text = write(tmp_path / "out.txt", LOCAL)
    source = {"command": ("cat", str(text))}
    night(site(tmp_path, zone="UTC", sources=(source,)), tmp_path)
    assert held(tmp_path, START) == [(0,)]
    assert night(site(tmp_path, zone="Asia/Tokyo", sources=(source,)), tmp_path).warnings == []
    assert held(tmp_path, START) == [(-NINE_HOURS,)]
    follows = LOCAL.replace("T1", "T0")
    write(text, follows)
    assert night(site(tmp_path, zone="UTC", sources=(source,)), tmp_path).warnings == []


def test_logs_with_one_text_and_no_records_are_reported_once(tmp_path: Path) -> None:
    """As ``sacct`` prints them on idle days: a header row alone."""
    sources = ({"files": "logs/*.txt"},)
    settings = site(tmp_path, zone="UTC", sources=sources)
    for name in "123":
        new(write(tmp_path / "logs" / f"{name}.txt", LOCAL.splitlines(keepends=True)[0]), age_s=DAY)
    assert night(settings, tmp_path).warnings == ["1.txt: contains no records of jobs"]
    assert night(settings, tmp_path).warnings == []

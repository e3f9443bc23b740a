"""sacct's text into the store: steps, clusters, dumps that overlap, and the public logs."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import polars as pl
import pytest

from audit.errors import UsageError
from audit.formats import dialects
from audit.formats.dialects import PLAIN, Header, Parsed, Reading
from audit.formats.lines import Block
from audit.formats.sacct import proposals
from audit.ingest.ingest import Named, Naming, called_by, take_in, take_in_by_name
from audit.ingest.logs import clusters, open_logs
from audit.store import queries
from audit.store.database import Connection, fetch
from tests import stores
from tests.logs import write
from tests.places import DATA

CAPTURES = DATA / "sacct"
HEADER = "JobID|Cluster|State|Submit|Start|End|AllocTRES"


def row(job: str, times: str, state: str = "COMPLETED", cluster: str = "one") -> str:
    return "|".join([job, cluster, state, *times.split(), "cpu=1"])


def attempts(con: Connection, cluster: str = "c") -> pl.DataFrame:
    found = queries.run(con, "attempts", cluster=cluster, since=None, until=None)
    return found.sort("job_id", "attempt")


def test_steps_are_records_but_no_attempts(con: Connection) -> None:
    (taken,) = take_in(con, "c", open_logs([CAPTURES / "steps.psv"]))
    assert (taken.records, taken.refused, taken.steps, taken.elsewhere) == (32, 0, 16, 0)
    assert attempts(con).height == 16
    assert queries.failed_checks(con) == {}


def test_a_requeued_job_has_two_attempts(con: Connection) -> None:
    take_in(con, "c", open_logs([CAPTURES / "x_d.psv"]))
    found = attempts(con).filter(pl.col("job_id") == "19")
    assert found.select("attempt", "state").rows() == [(1, "REQUEUED"), (2, "COMPLETED")]


@pytest.mark.thorough
def test_files_that_tell_of_the_same_jobs_change_nothing(con: Connection) -> None:
    take_in(con, "c", open_logs([CAPTURES / "x_d.psv"]))
    before = attempts(con).drop("line", "byte_offset")
    names = ("epoch.psv", "us.txt", "noconvert.psv", "steps.psv", "nodup.psv")
    take_in(con, "c", open_logs([CAPTURES / name for name in names]))
    assert attempts(con).drop("line", "byte_offset").equals(before)
    assert queries.failed_checks(con) == {}


def test_records_of_another_cluster_are_left_there(con: Connection, tmp_path: Path) -> None:
    rows = [row("1", "100 200 300"), row("1", "100 210 310", cluster="two")]
    path = write(tmp_path / "both", "\n".join([HEADER, *rows, ""]))
    logs = open_logs([path])
    assert clusters(logs[0]) == {"one": 1, "two": 1}
    with pytest.raises(UsageError, match=r"several clusters \(one, two\): choose one"):
        take_in(con, "c", logs)
    assert attempts(con).is_empty()
    for name in ("one", "two"):
        (taken,) = take_in(con, name, logs, called=name)
        assert (taken.records, taken.elsewhere) == (2, 1)
        assert attempts(con, name).height == 1
    assert queries.failed_checks(con) == {}
    assert fetch(con, "SELECT log_cluster FROM inputs ORDER BY ALL").rows() == [("one",), ("two",)]


XDMOD, XDMOD_GRES, AWS, AWS_2, SNOWMAN = (
    Reading(columns=tuple(known.split())) for known in proposals.KNOWN
)


@pytest.mark.parametrize(
    ("name", "reading", "records", "steps", "standings"),
    [
        ("xdmod-phillips.log.gz", XDMOD, 4285, 0, (4046, 0, 0, 239)),
        ("aws-sacct-output-v1.txt", AWS, 878, 395, (423, 0, 0, 60)),
        ("aws-sacct-output-v2.txt", AWS_2, 878, 395, (423, 0, 0, 60)),
        ("rug-hb-jobinfo-sacct-snowman.txt", SNOWMAN, 242, 142, (87, 3, 7, 3)),
        ("slurm2sql-test-data1.csv", PLAIN, 5, 3, (1, 1, 0, 0)),
        ("slurm2sql-test-data2.csv", PLAIN, 5, 3, (1, 1, 0, 0)),
        ("xdmod-unit-slurm-accounting-logs-with-gpu-gres.log", XDMOD_GRES, 24, 0, (1, 0, 0, 0)),
        ("xdmod-unit-slurm-accounting-logs-with-job-arrays.log", XDMOD, 6, 0, (6, 0, 0, 0)),
        ("xdmod-unit-slurm-accounting-logs.log", XDMOD, 4, 0, (4, 0, 0, 0)),
        ("xdmod-unit-slurm-non-ended-job-state.log", XDMOD, 2, 0, (0, 1, 1, 0)),
        ("xdmod-unit-slurm-unknown-job-state.log", XDMOD, 2, 0, (1, 0, 0, 1)),
        ("xdmod-unit-slurm-utf8-multibyte-chars.log", XDMOD, 1, 0, (1, 0, 0, 0)),
    ],
)
def test_public_logs(
    con: Connection,
    real_logs: Path,
    name: str,
    reading: Reading,
    records: int,
    steps: int,
    standings: tuple[int, int, int, int],
) -> None:
    (taken,) = take_in(con, "c", open_logs([real_logs / "slurm" / name], reading=reading))
    assert (taken.records, taken.refused, taken.steps) == (records, 0, steps)
    assert queries.failed_checks(con) == {}
    started, left = pl.col("start_time").is_not_null(), pl.col("end_time").is_not_null()
    found = attempts(con).select(
        ended=(started & left).sum(),
        running=(started & ~left).sum(),
        pending=(~started & ~left).sum(),
        never=(~started & left).sum(),
    )
    assert found.row(0) == standings


def test_the_overflowed_memory_of_a_public_log(con: Connection, real_logs: Path) -> None:
    """ReqMem without its overflow equals AllocTRES's amount."""
    columns = XDMOD.columns or ()
    hidden = tuple("_" if name in {"alloctres", "reqtres"} else name for name in columns)
    for cluster, names in (("lists", columns), ("memory", hidden)):
        path = real_logs / "slurm" / "xdmod-phillips.log.gz"
        take_in(con, cluster, open_logs([path], reading=Reading(columns=names)))
    found, expected = (attempts(con, name)["mem_bytes"] for name in ("memory", "lists"))
    assert found.equals(expected)


def naming(asked: str | None = None) -> Naming:
    def name(names: Sequence[str]) -> Named:
        called = called_by(asked, names, "--cluster")
        return Named(asked or called or "unnamed", "a test", called)

    return name


@pytest.fixture
def parsed_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each call of the parser was given."""
    sizes: list[int] = []
    dialect = dialects.table()["sacct"]

    def parse(block: Block, header: Header) -> Parsed:
        sizes.append(len(block.data))
        return dialect.parse(block, header)

    counting = replace(dialect, parse=parse)
    monkeypatch.setattr("audit.ingest.logs.dialects.detect", lambda *_: counting)
    return sizes


def test_a_log_is_parsed_once_though_its_records_name_the_cluster(
    con: Connection, tmp_path: Path, parsed_bytes: list[int]
) -> None:
    paths = [
        write(tmp_path / name, "\n".join([HEADER, row(name, "100 200 300"), ""])) for name in "12"
    ]
    logs = open_logs(paths)
    named, taken, _ = take_in_by_name(con, logs, naming())
    assert (named.cluster, named.called) == ("one", "one")
    assert sum(parsed_bytes) == sum(log.source.size for log in logs)
    assert [log.records for log in taken] == [1, 1]
    assert attempts(con, "one").height == 2
    # what the store holds is not parsed again
    assert take_in_by_name(con, logs, naming())[0] == named
    assert sum(parsed_bytes) == sum(log.source.size for log in logs)


@pytest.mark.parametrize(
    ("clusters_of_rows", "asked", "cluster", "kept"),
    [
        (["one", "one"], None, "one", 4),
        (["", "one"], None, "one", 4),  # the name comes late
        (["one", "two"], "two", "two", 2),  # the one that is asked for comes late
        (["two", "one"], "two", "two", 2),
        (["", ""], None, "unnamed", 4),
        (["one", ""], "here", "here", 4),
    ],
)
def test_a_name_that_comes_late_is_as_good_as_one_at_once(
    con: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    clusters_of_rows: list[str],
    asked: str | None,
    cluster: str,
    kept: int,
) -> None:
    monkeypatch.setattr("audit.ingest.ingest.BATCH_ROWS", 1)  # an insert for each block
    small = replace(dialects.table()["sacct"], block_bytes=60)
    monkeypatch.setattr("audit.ingest.logs.dialects.detect", lambda *_: small)
    paths = [
        write(
            tmp_path / f"{number}.psv",
            "\n".join([HEADER, *(row(f"{job}{number}", "100 200 300", cluster=name)
                                 for job, name in enumerate(clusters_of_rows, start=1)), ""]),
        )
        for number in range(2)
    ]  # fmt: skip
    named, taken, _ = take_in_by_name(con, open_logs(paths), naming(asked))
    assert named.cluster == cluster
    assert fetch(con, "SELECT DISTINCT cluster FROM records").rows() == [(cluster,)]
    assert attempts(con, cluster).height == kept
    assert sum(log.elsewhere for log in taken) == 4 - kept
    assert queries.failed_checks(con) == {}


@pytest.mark.thorough
@pytest.mark.parametrize("asked", [None, "three"])
def test_several_clusters_leave_the_store_untouched(
    con: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str | None
) -> None:
    monkeypatch.setattr("audit.ingest.ingest.BATCH_ROWS", 1)
    paths = [
        write(
            tmp_path / f"{name}.psv", "\n".join([HEADER, row("1", "100 200 300", cluster=name), ""])
        )
        for name in ("one", "two", "six")
    ]
    logs = open_logs(paths)
    with pytest.raises(UsageError, match=r"one, six, two; choose one \(--cluster\)"):
        take_in_by_name(con, logs, naming(asked))
    for table in ("records", "inputs", "refused"):
        assert fetch(con, f"SELECT count(*) FROM {table}").item() == 0
    take_in(con, "c", logs[:1])  # known for a cluster: still not for another
    with pytest.raises(UsageError, match="one, six, two"):
        take_in_by_name(con, logs, naming(asked))
    assert fetch(con, "SELECT count(*) FROM inputs").item() == 1


def tasks(con: Connection) -> list[tuple[object, ...]]:
    return attempts(con).sort("job_id").select("job_id", "state", "tasks", "array_tasks").rows()


@pytest.mark.thorough
def test_an_array_from_night_to_night(tmp_path: Path) -> None:
    """Whatever the order in which its dumps are read."""
    at = "2026-03-02T00:00:00"
    waits = (f"{at} Unknown Unknown", "PENDING")
    nights = [
        [row("3_[0-9%2]", *waits)],
        [row("3_0", f"{at} {at} Unknown", "RUNNING"), row("3_[1-9%2]", *waits)],
        [
            row("3_0", f"{at} {at} 2026-03-02T01:00:00"),
            row("3_1", f"{at} 2026-03-02T01:00:00 Unknown", "RUNNING"),
            row("3_[2-9%2]", f"{at} None 2026-03-02T01:30:00", "CANCELLED"),
        ],
    ]
    files = [
        write(tmp_path / f"{night}.psv", "\n".join([HEADER, *rows, ""]))
        for night, rows in enumerate(nights)
    ]
    expected = [
        [("3_[0-9%2]", "PENDING", 10, "0-9")],
        [("3_0", "RUNNING", 1, None), ("3_[1-9%2]", "PENDING", 9, "1-9")],
        [
            ("3_0", "COMPLETED", 1, None),
            ("3_1", "RUNNING", 1, None),
            ("3_[2-9%2]", "CANCELLED", 8, "2-9"),
        ],
    ]
    con = stores.new(tmp_path / "db")
    for file, known in zip(files, expected, strict=True):
        take_in(con, "c", open_logs([file]))
        assert tasks(con) == known
        assert queries.failed_checks(con) == {}
    con.close()
    seen = []
    for number, order in enumerate(permutations(files)):
        con = stores.new(tmp_path / f"db{number}")
        for file in order:
            take_in(con, "c", open_logs([file]))
        assert tasks(con) == expected[-1]
        seen.append(fetch(con, "SELECT * FROM records").sort(pl.all()))
        con.close()
    assert all(frame.equals(seen[0]) for frame in seen)

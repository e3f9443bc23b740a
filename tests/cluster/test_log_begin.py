"""When a log begins, by hand: by ends, by the stamps of PBS, and by known windows."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from audit.cluster.log_begin import LogBegin, log_begin
from audit.formats.dialects import Selection, table
from audit.ingest.ingest import take_in
from audit.ingest.logs import open_logs
from tests import stores
from tests.ingest.test_events import ended as pbs_ended
from tests.ingest.test_events import queued, started
from tests.logs import line, log, write

EPOCH = 1_700_000_000
END = "the first end of a job"
PBS = (  # the first line was written at 9,000, about a job that was submitted then
    queued(EPOCH + 9_000).replace(";7.", ";9."),
    pbs_ended(EPOCH + 8_000, EPOCH + 10_000, submit=EPOCH),
    started(EPOCH + 10_000, submit=EPOCH + 50).replace(";7.", ";8."),
)

ROUTED = (
    queued(EPOCH + 8_500, ctime=EPOCH, etime=EPOCH + 8_500).replace(";7.", ";6."),
    started(EPOCH + 8_500, submit=EPOCH, etime=EPOCH + 8_500).replace(";7.", ";6."),
)


def swf(*jobs: tuple[int, int, int]) -> str:
    """A log of jobs: submit, wait and run time, −1 unknown."""
    lines = [
        line(number, submit=submit, wait=wait, run=run, status=0 if wait < 0 else 1)
        for number, (submit, wait, run) in enumerate(jobs, 1)
    ]
    return log(lines, UnixStartTime=EPOCH, MaxProcs=8)


def begin(
    folder: Path, *texts: str, windows: dict[str, int] | None = None
) -> tuple[int, str] | None:
    """The begin of logs as 0.log, 1.log …, in s after EPOCH."""
    paths = [write(folder / f"{number}.log", text) for number, text in enumerate(texts)]
    with closing(stores.new(folder / "store.duckdb")) as con:
        take_in(con, "c", open_logs(paths))
        found = log_begin(con, "c", windows)
    return None if found is None else (found.instant - EPOCH, found.source)


@pytest.mark.parametrize(
    ("text", "by_end"),
    [(swf((0, 100, 900)), True), (swf((0, 10, -1)), False), ("\n".join([*PBS, ""]), False)],
)
def test_logs_that_have_jobs_by_their_end(tmp_path: Path, text: str, by_end: bool) -> None:
    with closing(stores.new(tmp_path / "store.duckdb")) as con:
        take_in(con, "c", open_logs([write(tmp_path / "log", text)]))
        found = log_begin(con, "c")
    assert found is not None
    assert found.by_end is by_end


def test_pbs_alone_has_all_records_of_its_time() -> None:
    by_stamp = {name for name, one in table().items() if one.selection is Selection.BY_STAMP}
    assert by_stamp == {"pbs"}


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        # submitted at 0, started at 100, and another one was there later, but ended first
        ([swf((0, 100, 5_000), (1_000, 0, 600))], (1_600, END)),
        # two files are one log: the earlier counts
        ([swf((3_000, 0, 100)), swf((0, 100, 900))], (1_000, END)),
        # a cancelled job has an end, but no start
        ([swf((0, 10, -1), (500, 0, 700))], (1_200, END)),
        (["\n".join([*PBS, ""])], (9_000, "the first record")),
        # a routing queue passed a job on that was submitted before
        (["\n".join([*ROUTED, *PBS, ""])], (8_500, "the first record")),
        (["\n".join([ROUTED[0], *PBS, ""])], (8_500, "the first record")),
        # the order of lines does not matter
        (["\n".join([*PBS[::-1], ""])], (9_000, "the first record")),
        (["\n".join([*PBS, ""]), swf((8_000, 0, 500))], (8_500, END)),
    ],
)
def test_by_hand(tmp_path: Path, texts: Sequence[str], found: tuple[int, str]) -> None:
    assert begin(tmp_path, *texts) == found


HEAD = "JobID|User|State|Submit|Eligible|Start|End|AllocCPUS\n"


def row(job: int, state: str, submit: str, start: str) -> str:
    submit, start = (at and f"2023-11-{at}:00" for at in (submit, start))
    return f"{job}|ann|{state}|{submit}|{submit}|{start or 'Unknown'}|Unknown|1\n"


def test_without_an_end_the_first_start_counts_else_the_first_submission(tmp_path: Path) -> None:
    pending = row(1, "PENDING", "15T01:00", "")
    running = row(2, "RUNNING", "15T01:00", "15T03:00")
    started_at, submitted_at = 17_200, 10_000  # 03:00 and 01:00
    expected = (
        (pending + running, (started_at, "the first start of a job: none has ended")),
        (pending, (submitted_at, "the first submission: no job has started")),
    )
    for number, (rows, found) in enumerate(expected):
        (folder := tmp_path / str(number)).mkdir()
        assert begin(folder, HEAD + rows) == found


def test_a_known_window_wins_over_the_records_of_its_source(tmp_path: Path) -> None:
    texts = (swf((0, 0, 1_000)), swf((0, 0, 2_000)))
    since = "clusters.sources.since"
    for number, (windows, found) in enumerate(
        (
            ({"0.log": EPOCH + 1_500}, (1_500, since)),
            ({"0.log": EPOCH + 5_000}, (2_000, END)),  # the earliest of all sources
            ({"1.log": EPOCH - 9}, (-9, since)),
            ({"other": EPOCH}, (1_000, END)),
        )
    ):
        (folder := tmp_path / str(number)).mkdir()
        assert begin(folder, *texts, windows=windows) == found


def test_no_records_have_no_begin(tmp_path: Path) -> None:
    with closing(stores.new(tmp_path / "store.duckdb")) as con:
        assert log_begin(con, "c") is None
    assert LogBegin(1, "") < LogBegin(2, "")

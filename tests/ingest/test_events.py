"""Events of jobs → attempts: by hand, in every order of files, and what is settled again."""

from datetime import UTC, datetime
from functools import cache
from itertools import pairwise, permutations
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.formats.lines import Block
from audit.formats.pbs import reader
from audit.ingest.attempts import attempts_of, resolve
from tests.examples import examples

HEAD = reader.header(b"")
DAY = 86_400


def stamp(instant: int) -> str:
    return datetime.fromtimestamp(instant, UTC).strftime("%m/%d/%Y %H:%M:%S")


def event(kind: str, at: int, **items: object) -> str:
    message = " ".join(f"{key}={value}" for key, value in items.items())
    return f"{stamp(at)};{kind};7.srv;{message}"


def queued(at: int, **items: object) -> str:
    return event("Q", at, **{"queue": "batch", **items})


def started(start: int, submit: int = 100, **items: object) -> str:
    said = {"user": "ana", "queue": "batch", "ctime": submit, "etime": submit, "start": start}
    return event("S", start, **{**said, "exec_host": "n1/0-3", **items})


def ended(start: int, end: int, submit: int = 100, kind: str = "E", **items: object) -> str:
    said = {"user": "ana", "queue": "batch", "ctime": submit, "etime": submit, "start": start}
    return event(
        kind, end, **{**said, "exec_host": "n1/0-3", "end": end, "Exit_status": 0, **items}
    )


def day(*lines: str, input_id: str = "a") -> pl.DataFrame:
    """A file of a day."""
    return parsed(*lines).with_columns(input_id=pl.lit(input_id))


@cache
def parsed(*lines: str) -> pl.DataFrame:
    data = "".join(f"{line}\n" for line in lines).encode()
    read = reader.parse(Block(data, 0, 1), HEAD)
    assert read.refusals.is_empty(), read.refusals["reason"].to_list()
    return read.records.with_columns(cluster=pl.lit("c"))


def brief(resolved: pl.DataFrame) -> list[tuple[object, ...]]:
    """The attempts: number, state, arrival, start, end."""
    kept = resolved.filter(~pl.col("superseded")).sort("job_id", "attempt")
    arrival = pl.coalesce("eligible_time", "submit_time")
    return kept.select("attempt", "state", arrival, "start_time", "end_time").rows()


STORIES: dict[str, tuple[list[str], list[tuple[object, ...]]]] = {
    "waits": ([queued(100)], [(1, "PENDING", 100, None, None)]),
    "runs": ([queued(100), started(150)], [(1, "RUNNING", 100, 150, None)]),
    "ended": ([queued(100), started(150), ended(150, 200)], [(1, "COMPLETED", 100, 150, 200)]),
    "deleted before it started": (
        [queued(100), event("D", 140, requestor="ana@h")],
        [(1, "CANCELLED", 100, None, 140)],
    ),
    "deleted while it ran": (
        [queued(100), started(150), event("D", 199), ended(150, 200, Exit_status=271)],
        [(1, "CANCELLED", 100, 150, 200)],
    ),
    "deleted while it ran, and the end was never logged": (
        [queued(100), started(150), event("D", 199)],
        [(1, "CANCELLED", 100, 150, 199)],
    ),
    "aborted by the server": ([queued(100), event("A", 101)], [(1, "CANCELLED", 100, None, 101)]),
    "deleted, by a clock that went back": (
        [queued(100), event("D", 140), event("R", 200)],
        [(1, "CANCELLED", 100, None, 140)],
    ),
    "moved elsewhere": ([queued(100), event("M", 140)], []),
    "rerun, with keys": (
        [queued(100), started(150), ended(150, 200, kind="R"), started(250), ended(250, 300)],
        [(1, "REQUEUED", 100, 150, 200), (2, "COMPLETED", 200, 250, 300)],
    ),
    "rerun, without keys": (
        [queued(100), started(150), event("R", 200), started(250), ended(250, 300)],
        [(1, "REQUEUED", 100, 150, 200), (2, "COMPLETED", 200, 250, 300)],
    ),
    "rerun, and waits": (
        [queued(100), started(150), event("R", 200)],
        [(1, "REQUEUED", 100, 150, 200), (2, "PENDING", 200, None, None)],
    ),
    "rerun, and deleted while it waited again": (
        [queued(100), started(150), event("R", 200), event("D", 240)],
        [(1, "REQUEUED", 100, 150, 200), (2, "CANCELLED", 200, None, 240)],
    ),
    "rerun, with an unknown start": (
        [event("R", 200), started(250), ended(250, 300)],
        [(1, "COMPLETED", 200, 250, 300)],
    ),
    "started again without a word": (
        [started(150), started(250), ended(250, 300)],
        [(1, "COMPLETED", 100, 250, 300)],
    ),
    "ends that contradict each other": (
        [ended(150, 220), ended(150, 200, Exit_status=1)],
        [(1, "COMPLETED", 100, 150, 220)],
    ),
    "an id that is given again": (
        [ended(150, 200), ended(900 * DAY + 50, 900 * DAY + 90, submit=900 * DAY)],
        [
            (1, "COMPLETED", 100, 150, 200),
            (2, "COMPLETED", 900 * DAY, 900 * DAY + 50, 900 * DAY + 90),
        ],
    ),
    "an id that is given again, and waits": (
        [queued(100), started(150), ended(150, 200), queued(20 * DAY)],
        [(1, "COMPLETED", 100, 150, 200), (2, "PENDING", 20 * DAY, None, None)],
    ),
    "an id that is given again after two runs, and waits": (
        [queued(20 * DAY), ended(150, 200), queued(100), ended(250, 300), started(250)],
        [
            (1, "COMPLETED", 100, 150, 200),
            (2, "COMPLETED", 200, 250, 300),
            (3, "PENDING", 20 * DAY, None, None),
        ],
    ),
    "an id that is given again before the first life ended": (
        [queued(100), started(150), started(20 * DAY + 9, submit=20 * DAY)],
        [(1, "RUNNING", 20 * DAY, 20 * DAY + 9, None)],
    ),
    "a head in another zone": (
        [queued(100 + 7 * 3600), event("D", 7 * 3600), started(150), ended(150, 200)],
        [(1, "COMPLETED", 100, 150, 200)],
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_stories(name: str) -> None:
    """In one file, and in files of one record each, in whatever order."""
    lines, attempts = STORIES[name]
    assert brief(resolve(day(*lines))) == attempts
    files = [day(line, input_id=chr(97 + k)) for k, line in enumerate(lines)]
    whole = resolve(pl.concat(files))
    assert brief(whole) == attempts
    orders = list(permutations(files))
    for order in orders[-1 :: -(len(orders) // 2 + 1)]:
        stepwise = resolve(order[0])
        for one in order[1:]:
            stepwise = resolve(pl.concat([stepwise, one], how="diagonal"))
        assert stepwise.sort(pl.all()).equals(whole.select(stepwise.columns).sort(pl.all()))


def test_what_two_files_share_counts_once() -> None:
    lines = [queued(100), started(150), ended(150, 200)]
    once, twice = day(*lines), day(*lines, input_id="b")
    for order in ([once, twice], [twice, once]):
        found = resolve(pl.concat([resolve(order[0]), order[1]], how="diagonal"))
        assert found.height == 3
        assert set(found["input_id"]) == {"a"}


def test_who_left_has_the_columns_of_what_was_left() -> None:
    found = resolve(day(queued(100), started(150), event("R", 200)))
    row: dict[str, Any] = found.filter(state="REQUEUED").row(0, named=True)
    assert (row["user"], row["cpus"], row["occupancy_s"], row["line"]) == ("ana", 4, 50, 3)
    found = resolve(day(queued(100, user="ben"), event("D", 140)))
    row = found.filter(~pl.col("superseded")).row(0, named=True)
    assert (row["user"], row["partition"], row["occupancy_s"]) == ("ben", "batch", None)


def test_what_an_exclusive_node_keeps_counts() -> None:
    start = started(150, **{"resource_assigned.ncpus": 48})
    found = resolve(day(start, ended(150, 200)))
    assert found.filter(~pl.col("superseded"))["cpus"].item() == 48


def test_a_routing_queue_passes_a_job_on_with_the_defaults_of_the_next() -> None:
    default = {"queue": "workq", "ctime": 100, "Resource_List.walltime": "24:00:00"}
    routed, queue = queued(100, queue="route", ctime=100), queued(100, **default)
    for lines in ([routed, queue], [queue, routed]):
        for left in ([], [event("D", 140)]):
            found = attempts_of(day(*lines, *left))
            assert found.select("partition", "walltime_s").rows() == [("workq", 86_400)]


def test_an_array_is_its_tasks() -> None:
    def of(job: str, *lines: str) -> list[str]:
        return [line.replace(";7.srv;", f";{job};") for line in lines]

    lines = [
        *of("9[].srv", queued(100), ended(150, 400)),
        *of("9[4].srv", ended(150, 200)),
        *of("9[5].srv", ended(250, 400)),
        *of("9[].other", queued(100)),
    ]
    found = attempts_of(day(*lines)).sort("job_id")
    assert found["job_id"].to_list() == ["9[4].srv", "9[5].srv", "9[].other"]


def test_suspension() -> None:
    lines = [started(150), event("z", 160), event("r", 170), event("z", 180), ended(150, 200)]
    found = resolve(day(*lines)).filter(~pl.col("superseded"))
    assert found["suspended_s"].item() == 10 + 20
    without = resolve(day(lines[0], lines[-1])).filter(~pl.col("superseded"))
    assert without["suspended_s"].item() is None


_events = st.lists(
    st.sampled_from(
        [
            *(queued(100), queued(120), started(150), started(250), started(350)),
            *(ended(150, 200), ended(250, 300), ended(150, 190, kind="R"), event("R", 200)),
            *(event("D", 140), event("D", 210), event("A", 290), event("R", 300), event("M", 110)),
            *(event("z", 160), event("r", 170), event("z", 270), started(400, submit=90)),
            *(ended(60 * DAY, 61 * DAY, submit=50 * DAY), queued(50 * DAY), event("D", 50 * DAY)),
        ]
    ),
    min_size=1,
    max_size=7,
)


def _compared(resolved: pl.DataFrame) -> pl.DataFrame:
    """Without the place, and when a record that does not count was eligible."""
    known = resolved.with_columns(
        eligible_time=pl.when(~pl.col("superseded")).then("eligible_time")
    )
    names = sorted({*resolved.columns} - {"line", "input_id"})
    return known.select(names).sort(names)


@settings(max_examples=examples(20))
@given(_events, st.randoms(use_true_random=False))
def test_whatever_happens_in_whatever_order(lines: list[str], chance: Any) -> None:
    files = [day(line, input_id=chr(97 + k)) for k, line in enumerate(lines)]
    whole = resolve(pl.concat(files))
    chance.shuffle(files)
    stepwise = resolve(files[0])
    for one in files[1:]:
        stepwise = resolve(pl.concat([stepwise, one], how="diagonal"))
    assert _compared(stepwise).equals(_compared(whole))
    kept = whole.filter(~pl.col("superseded"))
    assert kept.group_by("job_id", "attempt").len()["len"].max() in (None, 1)
    begun = kept.drop_nulls("start_time").sort("submit_time", "start_time")
    for (life, end), (next_life, _) in pairwise(begun.select("submit_time", "end_time").rows()):
        assert end is not None or life != next_life

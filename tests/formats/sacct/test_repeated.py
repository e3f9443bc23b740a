"""The hour that a clock change repeats: what the order of jobs and their times decide."""

import random
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from audit.formats.dialects import Parsed, Reading
from audit.formats.lines import Block
from audit.formats.sacct import text as sacct
from audit.formats.sacct.repeated import UNDECIDED

BERLIN = ZoneInfo("Europe/Berlin")
CHANGE = int(datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp())
"""At 3:00 local time clocks go back to 2:00."""
HEADER = "JobID|State|Submit|Start|End|Elapsed"

Job = tuple[int, int, int]


def clock(instant: int) -> str:
    return datetime.fromtimestamp(instant, BERLIN).strftime("%Y-%m-%dT%H:%M:%S")


def read(jobs: list[Job], header: str = HEADER) -> Parsed:
    """The records of jobs, of which submission, start and end are known."""
    lines = [header]
    for number, (submit, start, end) in enumerate(jobs, start=1):
        spent = end - start
        elapsed = f"{spent // 3600:02}:{spent // 60 % 60:02}:{spent % 60:02}"
        fields = [str(number), "COMPLETED", *map(clock, (submit, start, end)), elapsed]
        lines.append("|".join(fields[: header.count("|") + 1]))
    data = ("\n".join(lines) + "\n").encode()
    return sacct.parse(Block(data, 0, 1), sacct.header(data, Reading(zone="Europe/Berlin")))


def times(parsed: Parsed) -> list[Job]:
    return parsed.records.sort("job_number").select("submit_time", "start_time", "end_time").rows()


def test_jobs_of_a_whole_night_have_the_times_they_had() -> None:
    jobs = [
        (CHANGE - 7_200 + 300 * k, CHANGE - 7_140 + 300 * k, CHANGE - 6_000 + 310 * k)
        for k in range(48)
    ]
    parsed = read(jobs)
    assert times(parsed) == jobs
    # those that may have waited for an hour longer
    assert parsed.remarks == {UNDECIDED: 8}


def test_what_nothing_decides_is_counted() -> None:
    alone = [(CHANGE + 600, CHANGE + 660, CHANGE + 900)]
    parsed = read(alone)
    assert parsed.remarks == {UNDECIDED: 1}
    assert times(parsed) == [(CHANGE - 3_000, CHANGE - 2_940, CHANGE - 2_700)]


@pytest.mark.parametrize(
    "job",
    [
        (CHANGE - 7_200, CHANGE - 600, CHANGE + 600),  # it ran over the change
        (CHANGE - 600, CHANGE - 300, CHANGE + 7_200),
        (CHANGE - 7_200, CHANGE + 600, CHANGE + 7_200),
    ],
)
def test_the_run_time_decides(job: Job) -> None:
    parsed = read([job])
    assert times(parsed)[0][1:] == job[1:]


def test_without_the_run_time_the_order_of_times_is_all_there_is() -> None:
    header = "JobID|State|Submit|Start|End"
    assert read([(CHANGE - 9_000, CHANGE - 600, CHANGE - 300)], header).remarks == {UNDECIDED: 1}
    over = (CHANGE - 9_000, CHANGE - 600, CHANGE + 300)
    assert read([over], header).remarks == {}
    assert times(read([over], header)) == [over]


def test_a_later_time_of_a_requeued_job_is_no_evidence() -> None:
    jobs = [(CHANGE + 20_000, CHANGE + 20_100, CHANGE + 20_200)]
    jobs += [(CHANGE - 3_300 + 400 * k,) * 2 + (CHANGE + 30_000,) for k in range(17)]
    assert times(read(jobs)) == jobs


@pytest.mark.parametrize("seed", range(10))
def test_no_time_is_wrong_without_being_counted(seed: int) -> None:
    chance = random.Random(seed)
    submits = sorted(CHANGE + chance.randint(-9_000, 9_000) for _ in range(chance.randint(2, 40)))
    jobs = []
    for submit in submits:
        start = submit + chance.choice([0, chance.randint(0, 5_000)])
        jobs.append((submit, start, start + chance.randint(1, 9_000)))
    parsed = read(jobs)
    wrong = sum(one != other for one, other in zip(times(parsed), jobs, strict=True))
    assert wrong <= parsed.remarks.get(UNDECIDED, 0)


@pytest.mark.parametrize("shift", [-3_600, 0])
def test_a_job_is_read_an_hour_later_if_its_nodes_were_full_in_the_first(shift: int) -> None:
    """n1 has 4 CPUs. One job has them until the clock changes; the other runs before or after."""
    header = f"{HEADER}|NodeList|NCPUS"
    before = (CHANGE - 9_000, CHANGE - 8_900, CHANGE - 600 + shift)
    job = (CHANGE - 8_000, CHANGE + 300 + shift, CHANGE + 400 + shift)
    small = (CHANGE - 8_000, CHANGE + 60, CHANGE + 360)
    lines = [header]
    for number, ((submit, start, end), nodes) in enumerate(
        ((before, "n1"), (job, "n1"), (small, "n2"), (before, "n2,n3")), start=1
    ):
        spent = f"{(end - start) // 3600:02}:{(end - start) // 60 % 60:02}:{(end - start) % 60:02}"
        of = [str(number), "COMPLETED", *map(clock, (submit, start, end)), spent, nodes, "4"]
        lines.append("|".join(of))
    data = ("\n".join(lines) + "\n").encode()
    parsed = sacct.parse(Block(data, 0, 1), sacct.header(data, Reading(zone="Europe/Berlin")))
    expected = [before, job, (small[0], small[1] - 3_600, small[2] - 3_600)]
    assert times(parsed)[:3] == expected

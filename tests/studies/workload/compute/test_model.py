"""Workload models, their files, and the logs that are drawn from them."""

import dataclasses
import re
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import LogError, UsageError
from audit.formats import swf
from audit.formats.dialects import PLAIN
from audit.formats.lines import Block
from audit.formats.sacct import text as sacct
from audit.scenario.check import check_schedule
from audit.studies.workload.compute import model as model_module
from audit.studies.workload.compute import model_files, synthetic
from audit.studies.workload.compute.classes import weekly_clock
from audit.studies.workload.compute.hyper_exponential import FittedDistribution, HyperExponential
from audit.studies.workload.compute.model import SIZES, Class, LogModel, model_of, of_class, place
from tests.examples import examples
from tests.naive import workload as naive
from tests.studies.workload.attempts import POOL, ZONE, at, described


def made(by: str = "size", rows: list[dict[str, object]] | None = None) -> LogModel:
    placed = place(described(rows or ROWS), POOL, ZONE, by, 1)
    return model_of(placed, POOL, "test", 1)


# Monday 9:00 to Wednesday: two narrow and one wide in peak hours, one narrow at night.
ROWS: list[dict[str, object]] = [
    {"submit_time": at(2, 9), "lasts": 100, "user": "ann", "group": "x"},
    {"submit_time": at(2, 9, 10), "cpus": 3, "lasts": 50, "user": "bob", "group": "y"},
    {"submit_time": at(2, 22), "lasts": 30, "walltime_s": None, "group": "x"},
    {"submit_time": at(4, 16), "lasts": 200, "walltime_s": 600, "user": "bob", "group": "x"},
]


def test_a_model_by_hand() -> None:
    model = made()
    assert (model.first_day, model.days, model.users, model.left_out) == (date(2026, 3, 2), 3, 2, 0)
    assert [(of.label, of.part, of.attempts) for of in model.classes] == [
        ("1", "peak", 2),
        ("1", "off_peak", 1),
        ("3-4", "peak", 1),
    ]
    narrow, night, wide = model.classes
    assert (narrow.hours, night.hours) == (27, 45)
    assert narrow.rate == pytest.approx(2 / 27)
    assert narrow.mean_occupancy_s == 150
    assert narrow.used == 300 / 480
    # 27 hours of peak; gaps of 9:00 Monday to 16:00 Wednesday and round: half of 27 h on average
    assert narrow.gaps.distribution == HyperExponential(1.0, 13.5 * 3600, 13.5 * 3600)
    assert night.gaps.distribution.mean_s == 45 * 3600
    assert (wide.mean_size, wide.sizes) == (3, ((3, 1.0),))
    assert narrow.walltimes == ((600, 0.5), (3600, 0.5))
    assert (night.walltimes, night.with_walltime) == ((), 0)
    # ann and bob have as many attempts; ann came first
    assert narrow.users == ((1, 0.5), (2, 0.5))
    assert narrow.foresight == pytest.approx(-1)
    assert [of.known_foresight for of in model.classes] == [None] * 3  # of at most two attempts


def test_what_has_not_ended_or_has_no_size_is_left_out_and_counted() -> None:
    rows: list[dict[str, object]] = [
        *ROWS,
        {"submit_time": at(3, 9), "lasts": None, "state": "RUNNING"},
        {"submit_time": at(3, 9), "cpus": None},
        {"submit_time": at(3, 9), "start_time": None, "state": "CANCELLED"},
    ]
    model = made(rows=rows)
    assert (model.attempts, model.left_out) == (4, 3)
    with pytest.raises(LogError, match="no attempt has ended"):
        made(rows=rows[-1:])


def test_groups_are_classes_too() -> None:
    classes = made("group").classes
    assert [(of.label, of.attempts) for of in classes] == [("x", 2), ("x", 1), ("y", 1)]


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.integers(0, 3 * 86_400 - 1), min_size=1, max_size=8))
def test_gaps_are_those_of_the_definition(offsets: list[int]) -> None:
    begin = at(6, 0)  # a Friday
    arrivals = sorted(begin + offset for offset in offsets)
    rows: list[dict[str, object]] = [{"submit_time": at(6, 0)}, {"submit_time": at(8, 23, 59)}]
    rows += [{"submit_time": arrival} for arrival in arrivals]
    placed = place(described(rows), POOL, ZONE, "size", 1)
    instants = sorted([at(6, 0), at(8, 23, 59), *arrivals])
    assert placed.attempts["gap_s"].to_list() == naive.gaps(instants, begin, at(9, 0), ZONE)
    for part in ("peak", "off_peak", "weekend"):
        of = of_class(placed, "1", part)
        assert of["gap_s"].sum() == (placed.clock.seconds(part) if of.height else 0)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=80))
def test_a_short_table_keeps_the_mean_and_the_widest(values: list[int]) -> None:
    shares = model_module.shares_of(np.array(values))
    assert len(shares) <= SIZES
    assert shares[-1][0] == max(values)
    if len(set(values)) <= SIZES:
        known = {value: values.count(value) / len(values) for value in set(values)}
        assert dict(shares) == pytest.approx(known)
    assert sum(share for _, share in shares) == pytest.approx(1)
    assert sum(value * share for value, share in shares) == pytest.approx(np.mean(values))
    assert [value for value, _ in shares] == sorted({value for value, _ in shares})


def test_a_table_by_hand() -> None:
    # 9 that are frequent, the widest, and thirds of the others: {20, 21}, {22, 23, 24}, {26, 30}
    values = [size for size in range(1, 10) for _ in range(10)] + [20, 21, 22, 23, 24, 26, 30, 500]
    found = dict(model_module.shares_of(np.array(values)))
    assert set(found) == {*range(1, 10), 20, 21, 23, 28, 500}
    assert found[23] == pytest.approx(3 / 98)
    assert found[28] == pytest.approx(2 / 98)
    assert found[500] == pytest.approx(1 / 98)


@pytest.mark.thorough
def test_a_model_is_the_same_after_its_file() -> None:
    for by in ("size", "group", "clusters"):
        model = made(by)
        text = model_files.to_toml(model)
        assert model_files.from_toml(text, "m.toml") == model
        assert model_files.to_toml(model_files.from_toml(text, "m.toml")) == text


def test_names_in_a_file_are_only_names() -> None:
    name = 'x"\n[[classes]]\nü\x7f\\'
    model = dataclasses.replace(made(), cluster=name)
    assert model_files.from_toml(model_files.to_toml(model), "m.toml").cluster == name


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version = 1", "version = 2", "m.toml: version 2 of a workload model"),
        ("version = 1\n", "", "m.toml: version: Field required"),
        ("capacity = 64", 'capacity = "all"', "m.toml: capacity: .*valid integer .it is 'all'"),
        ("capacity = 64", "capacity = 2", "class 3, sizes: 3 is more than the capacity, 2"),
        ('zone = "Europe/Berlin"', 'zone = "Mars/Base"', "m.toml: zone: .*IANA"),
        ("first_day = .*", 'first_day = "soon"', "m.toml: first_day: .*valid date"),
        ('by = "size"', 'by = "colour"', "m.toml: by: .*'size', 'group' or 'clusters'"),
        ("days = 3", "days = ", "m.toml: not valid TOML"),
        ("attempts = 2", "attempts = 0", "m.toml: class 1, attempts: .*equal to 1"),
        ("p = 1.0", "p = 1.5", "m.toml: class 1, gaps, p: .*less than or equal to 1"),
        ("gaps = .*", "gaps = 7", "m.toml: class 1, gaps: "),
        (r"sizes = .*", "sizes = [[1, 0.5]]", "class 1, sizes: .*shares, which add up to 1"),
        (r"sizes = .*", "sizes = [[1, 0.5], [1, 0.5]]", "class 1, sizes: .*different numbers"),
        (r"sizes = .*", "sizes = [[0, 1.0]]", "class 1, sizes.*equal to 1"),
        (r"sizes = .*", "sizes = []", "class 1, sizes.*at least 1 item"),
        (r"walltimes = .*", "walltimes = []", "class 1: walltimes is empty"),
        (r"users = \[.*", "users = [[9, 1.0]]", "class 1, users: ranks go up to 2"),
        (r"part = .*", 'part = "lunch"', "class 1, part: .*'peak', 'off_peak' or 'weekend'"),
        ("hours = 27.0", "hours = inf", "class 1, hours"),
        (" short_s = 48600.0", " short_s = 90000.0", "class 1, gaps: long_s .* is below short_s"),
        (r"(?s)\[\[classes.*", "", "m.toml: classes: Field required"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(old: str, new: str, said: str) -> None:
    text = model_files.to_toml(made())
    broken = re.sub(rf"(?m)^{old}" if old[0] not in "(p " else old, new, text, count=1)
    assert broken != text
    with pytest.raises(UsageError, match=said):
        model_files.from_toml(broken, "m.toml")


# --- synthetic logs ------------------------------------------------------------------------------


def law(share: float, short: float, long: float) -> FittedDistribution:
    law = HyperExponential(share, short, long)
    return FittedDistribution(**law._asdict(), distance=0.0, exponential_distance=0.0, gain=0.0)


def simple(**changes: object) -> LogModel:
    """A busy machine of 16; all arrive in peak hours."""
    narrow = Class(
        label="1",
        part="peak",
        attempts=5400,
        hours=180.0,
        mean_size=1.0,
        mean_occupancy_s=600.0,
        used=0.5,
        gaps=law(0.9, 30.0, 930.0),
        occupancies=law(0.5, 100.0, 1100.0),
        sizes=((1, 1.0),),
        walltimes=((600, 0.5), (7200, 0.5)),
        with_walltime=0.8,
        foresight=0.7,
        users=((0, 0.2), (1, 0.5), (3, 0.3)),
    )
    wide = dataclasses.replace(
        narrow,
        label="3-4",
        part="weekend",
        attempts=1920,
        hours=192.0,
        gaps=law(1.0, 360.0, 360.0),
        sizes=((3, 0.25), (4, 0.75)),
    )
    whole = LogModel(
        cluster="test",
        by="size",
        resource="cpus",
        capacity=16,
        zone="Europe/Berlin",
        first_day=date(2026, 3, 2),
        days=28,
        users=9,
        left_out=0,
        classes=(narrow, wide),
    )
    return dataclasses.replace(whole, **changes)  # type: ignore[arg-type]


def test_what_is_drawn_has_the_figures_of_the_model() -> None:
    drawn = synthetic.draw(simple(), 1, days=700)
    narrow, wide = (drawn.filter(label=label) for label in ("1", "3-4"))
    clock = weekly_clock(date(2026, 3, 2), 700, ZONE)
    # a mean gap of 120 s in peak hours, of 360 s at weekends
    assert narrow.height == pytest.approx(clock.seconds("peak") / 120, rel=0.03)
    assert wide.height == pytest.approx(clock.seconds("weekend") / 360, rel=0.03)
    for of, part in ((narrow, 0), (wide, 2)):
        assert set(clock.part_of(of["arrival_time"].to_numpy())) == {part}
    assert wide["size"].mean() == pytest.approx(3.75, rel=0.01)
    assert narrow["occupancy_s"].mean() == pytest.approx(600, rel=0.03)
    assert narrow["walltime_s"].null_count() / narrow.height == pytest.approx(0.2, abs=0.01)
    shares = narrow["user"].value_counts(normalize=True)
    of_user = dict(shares.iter_rows())
    assert of_user[1] == pytest.approx(0.5, abs=0.02)
    assert of_user[3] == pytest.approx(0.3, abs=0.02)
    assert set(of_user) == set(range(1, 10))
    asked = drawn.drop_nulls("walltime_s")
    assert (asked["walltime_s"] >= asked["occupancy_s"]).all()
    gaps = np.diff(clock.reading(narrow["arrival_time"].to_numpy()))
    assert gaps.std() / gaps.mean() == pytest.approx(law(0.9, 30, 930).distribution.variation, 0.05)


def test_the_first_arrivals_are_as_frequent_as_the_last() -> None:
    sparse = simple()
    rare = dataclasses.replace(sparse.classes[1], gaps=law(0.5, 60.0, 400_000.0))
    model = dataclasses.replace(sparse, classes=(rare,))
    lasted = weekly_clock(model.first_day, 28, ZONE).seconds("weekend")
    many = [synthetic.draw(model, seed).height for seed in range(300)]
    assert np.mean(many) == pytest.approx(lasted / rare.gaps.distribution.mean_s, rel=0.15)


def test_correlation_of_walltimes_and_occupancies() -> None:
    flat = tuple((10_000 * k, 0.05) for k in range(1, 21))  # longer than any occupancy
    for foresight in (-1.0, 0.0, 0.7, 1.0):
        narrow = dataclasses.replace(
            simple().classes[0], walltimes=flat, foresight=foresight, with_walltime=1.0
        )
        drawn = synthetic.draw(dataclasses.replace(simple(), classes=(narrow,)), 1)
        found = drawn.select(pl.corr("walltime_s", "occupancy_s", method="spearman")).item()
        assert found == pytest.approx(foresight, abs=0.04)


def test_a_log_is_what_easy_makes_of_it_and_passes_the_check() -> None:
    log = synthetic.log(simple(), 3)
    arrival, size, lasts = (log[c].to_numpy() for c in ("submit_time", "cpus", "occupancy_s"))
    asked = log["walltime_s"].fill_null(log["occupancy_s"]).to_numpy()
    assert synthetic.easy(arrival, size, lasts, asked, 16).tolist() == log["start_time"].to_list()
    assert (log["start_time"] > log["submit_time"]).sum() > 50
    schedule = log.select(
        "cluster", "job_id", "attempt", "start_time", "end_time", "occupancy_s",
        arrival_time="submit_time", size="cpus",
    )  # fmt: skip
    assert check_schedule(schedule, schedule, 16).is_empty()


def test_the_same_seed_gives_the_same_log_and_another_another() -> None:
    assert synthetic.log(simple(), 3).equals(synthetic.log(simple(), 3))
    assert not synthetic.log(simple(), 3).equals(synthetic.log(simple(), 4))


def test_a_class_is_drawn_alike_whatever_the_others() -> None:
    one = synthetic.draw(dataclasses.replace(simple(), classes=simple().classes[:1]), 5)
    assert one.equals(synthetic.draw(simple(), 5).filter(label="1"))


@pytest.mark.parametrize("jobs", [1, 500, 40_000])
def test_as_many_jobs_as_requested(jobs: int) -> None:
    log = synthetic.log(simple(capacity=64), 1, jobs=jobs)
    assert log.height == jobs
    assert log["submit_time"].is_sorted()


def test_scaled_up() -> None:
    whole = synthetic.draw(simple(), 1)
    busier = synthetic.draw(simple(), 1, intensity=3)
    assert busier.height == pytest.approx(3 * whole.height, rel=0.1)
    larger = synthetic.log(simple(), 1, machine=3)
    assert larger.height == busier.height
    assert synthetic.capacity(simple(), 3) == 48
    span = larger["submit_time"][-1] - larger["submit_time"][0]
    assert span == pytest.approx(28 * 86_400, rel=0.15)


def test_refuses_a_machine_that_is_smaller_than_an_attempt() -> None:
    with pytest.raises(UsageError, match="has attempts of 4: pass a larger --machine"):
        synthetic.log(simple(), 1, machine=0.1)


def test_both_texts_are_read_again() -> None:
    model = simple(by="group")
    log = synthetic.log(model, 2, jobs=300)
    text = synthetic.to_swf(log, model, 2)
    header = swf.header(text)
    assert (header.capacity["cpus"], header.zone) == (16, "Europe/Berlin")
    read = swf.parse(Block(text, 0, 1), header)
    assert read.refusals.is_empty()
    same = ["job_number", "submit_time", "start_time", "end_time", "cpus", "walltime_s", "user"]
    assert read.records.select(same).equals(log.select(same))
    text = synthetic.to_sacct(log)
    read = sacct.parse(Block(text, 0, 1), sacct.header(text, PLAIN))
    assert read.refusals.is_empty()
    same = ["job_id", "submit_time", "start_time", "end_time", "cpus", "walltime_s", "account"]
    assert read.records.select(same).equals(log.select(same))
    assert read.records["user"].to_list() == [f"user{rank}" for rank in log["user"]]

"""Usage as slurmctld books it: its definition, worked examples, what must not matter."""

import math
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.slurm.fields import tres_weights
from audit.metrics.fairshare.usage import Grouped, by_number, usage
from audit.metrics.slurm.usage import RESETS, SlurmUsage, charge, fit_phase, stored, uncounted
from tests.naive import slurm
from tests.naive.slurm import Job

BERLIN = ZoneInfo("Europe/Berlin")
FAR = 1 << 40
SUNDAY = int(datetime(2026, 10, 25, tzinfo=BERLIN).timestamp())  # the clock is put back

jobs = st.lists(
    st.builds(
        lambda start, length, charge: Job(start, None if length < 0 else start + length, charge),
        st.integers(0, 400),
        st.integers(-1, 300),
        st.sampled_from([0.0, 0.5, 1.0, 3.25]),
    ),
    max_size=6,
)
instants = st.lists(st.integers(-50, 900), min_size=1, max_size=6, unique=True).map(sorted)
half_lives = st.sampled_from([1.0, 5.0, 60.0, 300.0, 1e6])


def grouped(*owners: list[Job]) -> Grouped:
    flat = [(number, job) for number, own in enumerate(owners) for job in own]
    frame = pl.DataFrame(
        {
            "start_time": [job.start for _, job in flat],
            "end_time": [job.end for _, job in flat],
            "penalty": [job.charge for _, job in flat],
        },
        schema={"start_time": pl.Int64, "end_time": pl.Int64, "penalty": pl.Float64},
    )
    places = np.array([number for number, _ in flat], np.int64)
    return by_number(places, len(owners), frame, FAR)


@given(first=jobs, second=jobs, at=instants, half_life=half_lives, data=st.data())
def test_it_is_what_the_ticks_make_of_it(
    first: list[Job], second: list[Job], at: list[int], half_life: float, data: st.DataObject
) -> None:
    period = data.draw(st.integers(1, 70))
    phase = data.draw(st.integers(-5, 100))
    method = SlurmUsage(half_life_s=half_life, period_s=period, phase_s=phase)
    used, total = method.sweep(grouped(first, second), np.array(at))
    for row, instant in enumerate(at):
        for column, own in enumerate((first, second)):
            slow = slurm.usage(own, instant, half_life=half_life, period=period, phase=phase)
            assert used[row, column] == pytest.approx(slow, rel=1e-9, abs=1e-9)
        assert total[row] == pytest.approx(used[row].sum())


@given(own=jobs, at=instants, data=st.data())
def test_resets_drop_all_usage_at_the_first_tick_of_the_day(
    own: list[Job], at: list[int], data: st.DataObject
) -> None:
    reset = data.draw(st.sampled_from(["daily", "weekly", "monthly"]))
    half_life = data.draw(st.sampled_from([0.0, 300.0]))
    period, phase = data.draw(st.integers(20, 70)), data.draw(st.integers(0, 70))
    first = {"daily": datetime(2026, 10, 26), "weekly": datetime(2026, 10, 25)}  # noqa: DTZ001
    day = first.get(reset, datetime(2026, 11, 1))  # noqa: DTZ001
    midnight = int(day.replace(tzinfo=BERLIN).timestamp())
    shift = midnight - 300
    moved = [Job(j.start + shift, None if j.end is None else j.end + shift, j.charge) for j in own]
    when = [instant + shift for instant in at]
    method = SlurmUsage(
        half_life_s=half_life, period_s=period, phase_s=phase, reset=reset, zone=BERLIN
    )
    used, _ = method.sweep(grouped(moved), np.array(when))
    for row, instant in enumerate(when):
        slow = slurm.usage(
            moved, instant, half_life=half_life, period=period, phase=phase, reset=reset,
            zone=BERLIN,
        )  # fmt: skip
        assert used[row, 0] == pytest.approx(slow, rel=1e-9, abs=1e-9)


def test_by_hand() -> None:
    """Half-life 693 s: f = 0.999. A job of 2 units runs from 30 to 150; ticks at 60, 120, 180."""
    method = SlurmUsage(half_life_s=693.0, period_s=60)
    used, _ = method.sweep(grouped([Job(30, 150, 2.0)]), np.array([59, 60, 119, 120, 150, 180]))
    f = 0.999
    at_60 = 2 * 30 * f**30
    at_120 = at_60 * f**60 + 2 * 60 * f**60
    at_150 = at_120 + 2 * 30 * f**30
    assert used[:, 0].tolist() == pytest.approx([0.0, at_60, at_60, at_120, at_150, at_150 * f**60])


def test_without_decay_usage_is_charge_times_time() -> None:
    method = SlurmUsage(half_life_s=0.0, period_s=60, reset="yearly", zone=BERLIN)
    end = SUNDAY + 1_234
    used, _ = method.sweep(grouped([Job(SUNDAY + 7, end, 1.5)]), np.array([end, end + 10_000]))
    assert used[:, 0].tolist() == [1.5 * 1_227] * 2


def test_an_end_in_the_second_of_a_tick_is_charged_before_it() -> None:
    """As the lab of 22.05 shows: the tick then decays it for a whole period."""
    method = SlurmUsage(half_life_s=693.0, period_s=60)
    used, _ = method.sweep(grouped([Job(10, 60, 1.0)]), np.array([60]))
    assert used[0, 0] == pytest.approx(50 * 0.999**50 * 0.999**60)


def test_it_is_a_method_of_usage() -> None:
    frame = pl.DataFrame(
        {"user": ["b", "a", "b"], "start_time": [0, 0, None], "end_time": [60, 30, None],
         "penalty": [1.0, 2.0, 9.0]},
    )  # fmt: skip
    method = SlurmUsage(half_life_s=693.0, period_s=60)
    found = usage(frame, "user", method, [60], now=60)
    assert found.entities.to_list() == ["a", "b"]
    expected = [2 * 30 * 0.999**90, 60 * 0.999**120]
    assert found.usage[0].tolist() == pytest.approx(expected)


def test_the_phase_is_found_in_a_sample() -> None:
    own = grouped([Job(0, None, 3.0)], [Job(17, 300, 40.0)], [Job(100, 431, 7.0)])
    true = SlurmUsage(half_life_s=300.0, period_s=60, phase_s=23)
    printed = [math.floor(value) for value in true.sweep(own, np.array([450]))[0][0]]
    fit = fit_phase(true, own, 450, [float(value) for value in printed])
    assert (fit.phase_s, fit.agree, fit.equals) == (23, 3, 1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"half_life_s": -1.0}, "at least 1 s"),
        ({"half_life_s": 0.5}, "at least 1 s"),
        ({"half_life_s": math.nan}, "at least 1 s"),
        ({"half_life_s": 0.0}, "never be forgotten"),
        ({"half_life_s": 9.0, "period_s": 0}, "at least 1 s"),
        ({"half_life_s": 9.0, "reset": "hourly"}, "one of none"),
        ({"half_life_s": 9.0, "reset": "daily"}, "zone"),
    ],
)
def test_settings_that_cannot_be(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SlurmUsage(**wrong)


def test_resets_are_those_of_slurm_conf() -> None:
    from audit.formats.slurm import slurm_conf

    assert slurm_conf.RESETS == RESETS


# what a second costs -----------------------------------------------------------------------------

WEIGHTS = {"batch": {"cpu": 1.0, "mem": 0.25 / 1024, "gres/gpu": 8.0}, "plain": {}}


def attempts(**columns: Any) -> pl.DataFrame:
    base = {"partition": ["batch"], "qos": ["normal"], "start_time": [0]}
    return pl.DataFrame({**base, **columns}, strict=False)


def billed(flags: tuple[str, ...] = (), partition: str = "batch") -> float:
    amounts = {"cpu": 4.0, "mem": 8192.0, "gres/gpu": 1.0, "node": 1.0, "license/x": 2.0}
    weights = {**WEIGHTS, "batch": {**WEIGHTS["batch"], "license/x": 0.5}}
    series = {name: pl.Series([value]) for name, value in amounts.items()}
    charged = charge(attempts(partition=[partition]), series, weights, {}, flags)
    return float(charged.attempts["billing"][0])


def test_billing_is_a_weighted_sum() -> None:
    assert billed() == 4.0 + 2.0 + 8.0 + 1.0


def test_max_tres_takes_the_greatest_on_nodes_and_adds_the_rest() -> None:
    assert billed(("MAX_TRES",)) == 8.0 + 1.0
    assert billed(("MAX_TRES_GRES",)) == 4.0 + 8.0 + 1.0


def test_without_weights_cpus_are_billed() -> None:
    assert billed(partition="plain") == 4.0
    assert billed(partition="unheard of") == 4.0


def test_weights_of_no_partition_bill_all_others() -> None:
    # Billing 1 per CPU, 0.25 per GiB, 2 per GPU: 8 + 128 + 0; 20 + 16 + 6; 100 + 0 + 0
    frame = attempts(partition=["batch", "gone", None], qos=["a"] * 3, start_time=[0] * 3)
    amounts = {
        "cpu": pl.Series([8.0, 20.0, 100.0]),
        "mem": pl.Series([512.0 * 1024, 64.0 * 1024, None]),
        "gres/gpu": pl.Series([0.0, 3.0, 0.0]),
    }
    weights = {"cpu": 1.0, "mem": 0.25 / 1024, "gres/gpu": 2.0}
    summed = charge(frame, amounts, {}, {}, (), weights)
    assert summed.attempts["billing"].to_list() == [136.0, 42.0, 100.0]
    greatest = charge(frame, amounts, {}, {}, ("MAX_TRES",), weights)
    assert greatest.attempts["billing"].to_list() == [128.0, 20.0, 100.0]
    of_one = charge(frame, amounts, {"batch": {"cpu": 2.0}}, {}, (), weights)
    assert of_one.attempts["billing"].to_list() == [16.0, 42.0, 100.0]


def test_factors_multiply_and_what_is_unknown_is_stated() -> None:
    frame = attempts(
        partition=["batch", "batch", "gone", None, "batch"],
        qos=["high", "free", "odd", None, "odd"],
        start_time=[0, 0, 0, 0, None],
    )
    amounts = {"cpu": pl.Series([4.0, 4.0, 4.0, 4.0, None])}
    charged = charge(frame, amounts, WEIGHTS, {"high": 2.0, "free": 0.0})
    assert charged.attempts["penalty"].to_list() == [8.0, 0.0, 4.0, 4.0, 0.0]
    assert charged.attempts.columns[:3] == ["partition", "qos", "start_time"]
    assert charged.unknown_partitions == {"gone": 1}
    assert charged.unknown_qos == {"odd": 1}


def test_types_of_gpus_are_billed_by_their_weights() -> None:
    types = ["a100:4", "a100:1,h100:2", None]
    frame = pl.DataFrame(
        {
            "partition": ["gpu"] * 3, "qos": [None] * 3, "start_time": [0] * 3, "cpus": [8, 8, 4],
            "mem_bytes": [32 << 30] * 3, "nodes": [1] * 3, "gpus": [4, 3, 0], "gpu_types": types,
        },
        schema_overrides={"qos": pl.String},
    )  # fmt: skip
    weights = {"gpu": tres_weights("CPU=0.5,Mem=0.25G,GRES/gpu:A100=4.0,GRES/gpu:h100=10")}
    amounts = stored(frame)
    assert amounts["gres/gpu:a100"].to_list() == [4.0, 1.0, 0.0]
    assert uncounted({"gpu": {**weights["gpu"], "gres/gpu:v100": 1.0}}, amounts) == []
    summed = charge(frame, amounts, weights, {})
    assert summed.attempts["billing"].to_list() == [4 + 8 + 16, 4 + 8 + 4 + 20, 2 + 8]
    assert summed.attempts.columns[: frame.width] == frame.columns
    greatest = charge(frame, amounts, weights, {}, ("MAX_TRES",))
    assert greatest.attempts["billing"].to_list() == [16, 20, 8]
    on_node = charge(frame, amounts, weights, {}, ("MAX_TRES_GRES",))
    assert on_node.attempts["billing"].to_list() == [8 + 16, 8 + 24, 8]


def test_the_store_knows_four_resources() -> None:
    frame = pl.DataFrame(
        {"cpus": [2], "mem_bytes": [3 << 30], "nodes": [1], "gpus": [None], "gpu_types": [None]},
        schema_overrides={"gpus": pl.Int64, "gpu_types": pl.String},
    )
    amounts = stored(frame)
    assert {name: series.to_list() for name, series in amounts.items()} == {
        "cpu": [2.0], "mem": [3072.0], "node": [1.0], "gres/gpu": [None],
    }  # fmt: skip
    weights = {"a": {"cpu": 1.0, "gres/gpu:a100": 3.0, "energy": 0.0}}
    assert uncounted(weights, amounts) == ["gres/gpu:a100"]

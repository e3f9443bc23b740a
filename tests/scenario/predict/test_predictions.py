"""Predicted starts: no look-ahead, what is withheld, and pending jobs."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from audit.model import Policy
from audit.scenario.budget import depths
from audit.scenario.predict import predictions
from audit.scenario.predict.calibration import FEWEST_GROUPS, Withheld
from audit.scenario.predict.known import known_of
from audit.scenario.predict.predictions import at_submission, before_submission, pending, step_of
from audit.scenario.predict.similar import PredictionTable
from audit.scenario.scenario import Scenario
from tests.scenario.predict.test_sweep import job, scenario
from tests.strategies import EPOCH

HOUR_S = 3_600


def records(count: int = 300, seed: int = 1) -> list[dict[str, Any]]:
    """Jobs of three users on the pool of 4, one after another, so that most wait for hours."""
    rng = np.random.default_rng(seed)
    free, made = 0, []
    for k in range(count):
        arrival = 1_800 * k
        start = max(arrival, free)
        runs = int(rng.integers(600, 3_100))
        free = start + runs
        user = ("ann", "bob", "cem")[k % 3]
        made.append(job(arrival, start, free, 4, user=user, walltime_s=2 * 3_600))
    return made


@cache
def usual() -> Scenario:
    return scenario(records())


@cache
def submissions() -> pl.DataFrame:
    """The predictions of ``usual`` at submission."""
    return at_submission(usual(), "UTC")


@cache
def past_hours() -> pl.DataFrame:
    """Those of its pending jobs at past hours."""
    return pending(usual(), "UTC", 0)[0]


def another_future(made: list[dict[str, Any]], now: int) -> list[dict[str, Any]]:
    """Return the same past, with other starts, ends and later jobs from ``now`` on."""
    changed = []
    for k, record in enumerate(made):
        one = dict(record)
        if one["submit_time"] > now:
            continue
        if one["start_time"] >= now and k % 4 == 0:
            del one["start_time"]
            one |= {"end_time": now + k, "state": "CANCELLED"}
        elif one["start_time"] >= now:
            one |= {"start_time": now + 7 * k, "end_time": now + 9 * k + 1}
        elif one["end_time"] >= now:
            one["end_time"] = now + 5 * k
        changed.append(one)
    return changed


def by_job(of: Scenario, made: pl.DataFrame, until: int) -> list[tuple[Any, ...]]:
    named = made.with_columns(job=of.attempts["job_number"].gather(made["row"])).drop("row")
    return named.filter(pl.col("made_at") <= until).sort("made_at", "job").rows()


@pytest.mark.parametrize(
    "place", [*(pytest.param(place, marks=pytest.mark.thorough) for place in (120, 200)), 299]
)
def test_the_future_changes_no_prediction(place: int) -> None:
    past = records()
    now = past[place]["submit_time"]
    past[place - 1] |= {"start_time": now, "end_time": now + 60}  # starts in the very second
    other = another_future(past, now)
    one, changed = scenario(past), scenario(other)
    made = at_submission(one, "UTC")
    assert made["p10"].is_not_null().sum() > 100
    assert by_job(one, made, now) == by_job(changed, at_submission(changed, "UTC"), now)
    hours = [pending(each, "UTC", 0)[0] for each in (one, changed)]
    assert hours[0]["p10"].is_not_null().sum() > 20
    assert by_job(one, hours[0], now) == by_job(changed, hours[1], now)


def test_intervals_are_in_order_and_not_in_the_past() -> None:
    for made in (submissions(), past_hours()):
        told = made.filter(pl.col("p10").is_not_null())
        assert told.select(
            (pl.col("made_at") <= pl.col("p10"))
            & (pl.col("p10") <= pl.col("p50"))
            & (pl.col("p50") <= pl.col("p90"))
        )["made_at"].all()
        assert made.filter(pl.col("p10").is_null())["withheld_because"].is_not_null().all()


def test_the_first_have_no_similar_jobs_and_the_next_no_record() -> None:
    why = submissions()["withheld_because"].to_list()
    assert set(why[:10]) == {Withheld.FEW_SIMILAR}
    assert Withheld.FEW_DECIDED in why[10:40]
    assert None in why[40:]


def test_each_prediction_has_simple_ones_beside_it() -> None:
    past = records()
    (last,) = submissions()[-1:].iter_rows(named=True)
    made_at = last["made_at"]
    waits = [job["start_time"] - job["submit_time"] for job in past if job["start_time"] < made_at]
    assert last["recent"] == made_at + sorted(waits[-200:])[99]
    own = [wait for job, wait in zip(past, waits, strict=False) if job["user"] == "cem"]
    assert last["alike"] == made_at + sorted(own[-20:])[9]
    assert made_at <= last["modelled"]
    first = submissions()[10].row(0, named=True)
    assert first["recent"] is None


def test_every_second_submission_is_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "SAMPLED", 30)
    made = at_submission(scenario(records(60)), "UTC")
    assert made["row"].to_list() == list(range(0, 60, 2))


def waiting(submit: int, size: int = 4, **more: Any) -> dict[str, Any]:
    return {
        "submit_time": submit,
        "cpus": size,
        "user": "ann",
        "state": "PENDING",
        "walltime_s": 7_200,
        **more,
    }


def test_what_is_pending_is_predicted_or_says_why() -> None:
    past = records()
    now = max(one["end_time"] for one in past)
    running = {**past[-1], "submit_time": now - 20, "start_time": now - 10, "end_time": None}
    open_jobs = [
        waiting(now - 9),
        waiting(now - 8, reason="Dependency"),
        waiting(now - 7, size=9),
        waiting(now - 6, walltime_s=None),
    ]
    of = scenario([*past, running, *open_jobs])
    of = of.but(now=now)
    _, made = pending(of, "UTC", EPOCH)
    told = by_job(of, made, now + 1)
    assert [row[5] for row in told] == [
        *(None, Withheld.HELD, Withheld.UNSCHEDULABLE, None),
    ]
    assert all(now < row[1] <= row[2] <= row[3] for row in told if row[5] is None)
    past_hours, some = pending(of, "UTC", EPOCH, wanted=pl.col("reason").is_null())
    held = of.attempts["reason"].is_not_null().arg_true()
    assert some.equals(made.filter(~pl.col("row").is_in(held.implode())))
    assert past_hours.equals(pending(of, "UTC", EPOCH)[0])


def test_what_a_user_has_pending_on_one_day_is_one_observation() -> None:
    of, past = usual(), past_hours()
    named = past.with_columns(
        user=of.attempts["user"].gather(past["row"]),
        start=of.attempts["start_time"].gather(past["row"]),
        day=pl.col("made_at") // (24 * HOUR_S),
    )
    few = pl.col("withheld_because") == Withheld.FEW_DECIDED
    last = named.filter(few, pl.col("contested"))["made_at"].max()
    known = named.filter(pl.col("contested"), pl.col("start") < last)
    assert known.select(pl.struct("user", pl.col("made_at") // HOUR_S).n_unique()).item() > 60
    assert known.select(pl.struct("user", "day").n_unique()).item() <= FEWEST_GROUPS
    assert named["p10"].is_not_null().any()


def test_of_past_hours_every_third_is_searched() -> None:
    of = usual()
    every, third = (pending(of, "UTC", 0, step)[0]["made_at"].unique() for step in (1, 3))
    assert third.sort().to_list() == [at for at in every.sort() if at % (3 * HOUR_S) == 0]


def test_few_jobs_are_drawn_at_a_past_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = [job(0, 0, 9_000, 4), *(job(10, 9_000 + 60 * k, 9_060 + 60 * k, 4) for k in range(30))]
    monkeypatch.setattr(predictions, "DRAWN", 7)
    of = scenario(crowd, Policy()).but(now=EPOCH + 9_000)
    past, _ = pending(of, "UTC", 0)
    counts = past.group_by("made_at").len()["len"].to_list()
    assert counts
    assert max(counts) == 7


def test_simulations_of_many_jobs_make_steps_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    of = scenario(records(60))
    deep = depths(known_of(of).work)
    monkeypatch.setattr(predictions, "SIMULATED", float(deep.sum()) / 2)
    half = at_submission(of, "UTC")
    assert half["row"].to_list() == list(range(0, 60, 2))
    monkeypatch.undo()
    of, hours = usual(), past_hours()["made_at"].unique()
    monkeypatch.setattr(predictions, "SIMULATED", 10 * float(depths(known_of(of).work).mean()))
    few = pending(of, "UTC", 0)[0]["made_at"].unique()
    assert 0 < len(few) < len(hours)
    assert set(few) < set(hours)


@pytest.mark.parametrize(("most", "step"), [(7, 9), (30, 2), (59, 2), (60, 1), (100, 1)])
def test_of_many_submissions_a_fixed_number_is_predicted(
    monkeypatch: pytest.MonkeyPatch, most: int, step: int
) -> None:
    monkeypatch.setattr(predictions, "SAMPLED", most)
    assert step_of(known_of(scenario(records(60)))) == step


def test_submissions_between_two_predictions_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[tuple[int, int]] = []
    add = PredictionTable.add

    def noted(table: PredictionTable, made_at: Any, jobs: Any, groups: Any, *more: Any) -> range:
        rows = add(table, made_at, jobs, groups, *more)
        searched.extend((int(table.job[k]), int(table.made_at[k])) for k in rows)
        return rows

    monkeypatch.setattr(PredictionTable, "add", noted)
    monkeypatch.setattr(predictions, "SAMPLED", 13)
    made = at_submission(scenario(records(61)), "UTC")
    assert made["row"].to_list() == list(range(0, 61, 5))
    assert searched == [(job, EPOCH + 1_800 * job) for job in range(61)]


def test_the_model_starts_of_what_follows_a_prediction_are_counted_from_its_own_submission() -> (
    None
):
    """One job runs for an hour on the whole pool; two submissions wait for it."""
    runs = job(0, 0, 3_600, 4, user="ann", walltime_s=3_600)
    next_ = job(600, 3_600, 7_200, 4, user="bob", walltime_s=3_600)
    last = job(1_500, 7_200, 10_800, 4, user="cem", walltime_s=3_600)
    known = known_of(scenario([runs, next_, last]))
    run = predictions._Run(known, "UTC", predictions.SUBMISSIONS, 3)
    scene = run.sweep.to(EPOCH + 600, 2)
    predictions._add(run, scene, np.array([2]))
    assert np.exp(run.table.model[0]) - 60 == pytest.approx(7_200 - 1_500)


def test_of_a_burst_one_job_is_similar() -> None:
    burst = [job(0, 7_200, 9_000, 1, user="ann", walltime_s=1_800 + k) for k in range(30)]
    run = predictions._Run(known_of(scenario(burst)), "UTC", predictions.SUBMISSIONS, 1)
    assert len({*run.hours_of(np.arange(30)).tolist()}) == 1
    others = [job(3_600 * k, 3_600 * k, 3_600 * k + 9, 1, user="ann") for k in range(4)]
    others += [job(5, 9_000, 9_500, 1, user="bob")]
    run = predictions._Run(known_of(scenario(others)), "UTC", predictions.SUBMISSIONS, 1)
    assert len({*run.hours_of(np.arange(5)).tolist()}) == 5


@pytest.mark.parametrize(
    "place", [*(pytest.param(place, marks=pytest.mark.thorough) for place in (200, 250)), 299]
)
def test_a_job_is_predicted_before_its_submission_as_at_it(place: int) -> None:
    """Its shape, and one that can never start, are submitted when the log ends just before it."""
    past = records()[: place + 1]
    made = at_submission(scenario(past), "UTC").filter(pl.col("row") == place)
    asked = past[place] | {"state": "PENDING"}
    for name in ("start_time", "end_time"):
        del asked[name]
    huge = asked | {"cpus": 4_000, "nodes": 4_000}
    for shapes in ([asked, asked, huge], [huge, asked]):
        log = scenario([dict(one) for one in (*past[:place], *shapes)])
        log = replace(log, now=asked["submit_time"] - 1)
        earlier, found = before_submission(log, "UTC", len(shapes))
        assert earlier.height == place
        never = pl.col("withheld_because").eq_missing("unschedulable")
        assert found.filter(never).height == 1
        same = found.filter(~never).drop("row").rows()
        assert same == made.drop("row").rows() * (len(shapes) - 1)

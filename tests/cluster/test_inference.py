"""Inference of a cluster's zone and capacity from its log."""

import polars as pl
import pytest

from audit.cluster import inference
from audit.cluster.hardware import PoolHardware
from audit.cluster.presence import UNSEEN
from audit.errors import UsageError
from audit.formats.dialects import Header
from audit.model import Absence, Pool, Resource
from tests.strategies import ended, frame

CPUS = Resource.cpus


def attempts(*sizes: int) -> pl.DataFrame:
    """Attempts of these sizes that all run during [100, 200)."""
    return frame([ended(100, 100, 200, size) for size in sizes])


def claims(cpus: int) -> list[Header]:
    return [Header(capacity={"cpus": cpus})]


def pool(
    rows: pl.DataFrame, headers: list[Header], asked: int | None = None
) -> tuple[int, str, str | None]:
    found, [fact] = inference.pool(rows, headers, CPUS, asked, 200)
    assert isinstance(found, Pool)
    return found.capacity, fact.source, fact.warning


def test_the_zone_of_a_mapping_is_not_the_log_s() -> None:
    mapped = Header("Asia/Shanghai", entries={"table": "{}"})
    assert inference.zone(None, [mapped]).source == "the mapping of its columns"
    assert inference.zone(None, [Header("Asia/Shanghai")]).source == "the log's header"


def test_the_header_s_capacity_is_used() -> None:
    assert pool(attempts(4, 4), claims(16)) == (16, "the log's header", None)


def test_without_a_header_the_peak_in_use_is() -> None:
    capacity, source, warning = pool(attempts(4, 5), [Header()])
    assert (capacity, warning) == (9, None)
    assert "peak in use" in source


def test_a_log_in_which_nothing_ran_for_a_second_has_room_for_its_jobs() -> None:
    assert pool(frame([ended(0, 5, 5, 12)]), [Header()])[0] == 12


def test_pool_size_overrides_the_log() -> None:
    assert pool(attempts(4, 4), claims(16), asked=3) == (3, "--pool-size", None)


def test_a_header_smaller_than_one_attempt_lies() -> None:
    capacity, source, warning = pool(attempts(4, 4), claims(3))
    assert (capacity, source) == (8, "the peak in use")
    assert warning is not None
    assert "says 3 CPUs, but one attempt ran on 4" in warning


def test_one_attempt_that_exceeds_a_header_for_a_moment_refutes_it() -> None:
    def found(largest: int) -> tuple[int, str]:
        rows = frame([ended(0, 0, 200, 1), ended(190, 190, 200, largest)])
        return pool(rows, claims(3))[:2]

    assert found(3) == (3, "the log's header")
    assert found(4) == (5, "the peak in use")


def test_a_header_exceeded_most_of_the_time_lies() -> None:
    capacity, _, warning = pool(attempts(4, 4), claims(5))
    assert capacity == 8
    assert warning is not None
    assert "more was in use for 100 % of the time" in warning


def test_a_header_exceeded_for_a_moment_stands() -> None:
    rows = frame([ended(0, 0, 200, 4), ended(190, 190, 200, 4)])
    assert pool(rows, claims(5)) == (5, "the log's header", None)


def test_an_attempt_that_never_started_refutes_nothing() -> None:
    wide = {"submit_time": 100, "end_time": 150, "cpus": 99, "state": "CANCELLED"}
    rows = pl.concat([attempts(4), frame([wide])])
    assert pool(rows, claims(5)) == (5, "the log's header", None)


def test_a_resource_that_the_log_does_not_give() -> None:
    other = "gives no gpus for any attempt; it has cpus: pass --resource cpus"
    with pytest.raises(UsageError, match=other):
        inference.pool(attempts(1), [], Resource.gpus, None, 200)
    without = attempts(1).with_columns(cpus=None, nodes=None)
    with pytest.raises(UsageError, match="no cpus for any attempt; it needs a column"):
        inference.pool(without, [], Resource.cpus, None, 200)


def test_zones() -> None:
    berlin, rome = Header(zone="Europe/Berlin"), Header(zone="Europe/Rome")
    assert inference.zone("UTC", [berlin]).value == "UTC"
    assert inference.zone(None, [berlin, Header()]).value == "Europe/Berlin"
    assert inference.zone(None, [Header()]).value == "UTC"
    several = inference.zone(None, [rome, berlin])
    assert several.value == "Europe/Berlin"
    assert several.warning is not None


def test_different_computers_are_noticed() -> None:
    one, other = (Header(entries={"Computer": name}) for name in ("SP2", "CM-5"))
    assert inference.same_machine({"a": one, "b": one, "c": Header()}) is None
    said = inference.same_machine({"a": one, "b": other})
    assert said is not None
    assert "a: SP2" in said


def slurm(job: int, requeued: bool = False, **more: object) -> dict[str, object]:
    """A record of sacct's."""
    run = {"job_id": str(job), "job_number": job, "kind": "execution"}
    return {**ended(0, 200, 300, 1), "eligible_time": 121 if requeued else 0, **run, **more}


def test_requeued_jobs_without_their_first_runs_are_noticed() -> None:
    warning = inference.missing_runs(frame([slurm(1), slurm(2, requeued=True)]), {})
    assert warning is not None
    assert warning.startswith("1 job was requeued")
    assert "sacct -D" in warning
    restarted = Header(entries={"restarted": "3"})
    warning = inference.missing_runs(frame([slurm(1)]), {"a": restarted})
    assert warning is not None
    assert warning.startswith("3 jobs were requeued")


def test_nothing_is_stated_of_requeues_without_evidence() -> None:
    assert inference.missing_runs(frame([]), {}) is None
    assert inference.missing_runs(frame([slurm(1)]), {"a": Header()}) is None
    whole = [slurm(1, state="REQUEUED"), slurm(1, requeued=True, attempt=2)]
    assert inference.missing_runs(frame(whole), {}) is None
    # the first run may be of an earlier log, but this one was taken with -D
    assert inference.missing_runs(frame([slurm(1, requeued=True), *whole[1:]]), {}) is None
    other_dialect = [{**slurm(1, requeued=True), "kind": "job"}]
    assert inference.missing_runs(frame(other_dialect), {}) is None


def test_more_tasks_than_a_schedule_holds_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.arrays.LARGEST", 5)
    waiting = {"submit_time": 1, "state": "PENDING", "array_tasks": "0-3", "tasks": 4}
    assert inference.too_many_tasks(frame([waiting, ended(0, 0, 1, 1)])) is None
    warning = inference.too_many_tasks(frame([waiting] * 2))
    assert warning is not None
    assert "6 further tasks" in warning
    assert "only 5 of these" in warning


def test_nodes_that_were_not_there_all_the_time_are_counted_without_zeros() -> None:
    gone = (Absence("n1", 90, None, UNSEEN), Absence("n2", 90, None, UNSEEN))
    facts = inference.nodes_of(
        "p", PoolHardware(Resource.cpus, {}, (), (*gone, Absence("n3", 0, 9, "down"))), ()
    )
    assert [fact.value for fact in facts] == ["2 nodes not until its end"]
    late = PoolHardware(Resource.cpus, {}, (), (*gone, Absence("n3", 0, 9, UNSEEN)))
    (fact,) = inference.nodes_of("p", late, ())
    assert fact.value == "1 node not from the begin of the log on, 2 nodes not until its end"

"""Kueue's workloads: admissions, events, resources, and many snapshots of one cluster."""

import copy
import itertools
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

from audit.config.table import TableMapping, of_options
from audit.errors import DialectError
from audit.formats import dialects, kueue
from audit.formats.dialects import Parsed, Reading
from audit.formats.lines import Block
from audit.ingest.attempts import resolve
from audit.ingest.logs import open_log, parsed_blocks
from audit.model import RefusalCode, Standing
from tests.formats import contract
from tests.formats.without_store import described, labelled
from tests.places import DATA

SAMPLE: Final = DATA / "tables" / "kueue"
WORKLOADS: Final = (SAMPLE / "workloads.json").read_bytes()
EVENTS: Final = (SAMPLE / "events.json").read_bytes()
EXPECTED: Final = json.loads((SAMPLE / "expected.json").read_text(encoding="utf-8"))
USER: Final = Reading(table=of_options(None, ["user=example.org/user"]))
NAMES: Final = {
    "submit": "submit_time",
    "arrival": "arrival_time",
    "start": "start_time",
    "end": "end_time",
}


def parse(data: bytes, reading: Reading = USER) -> Parsed:
    return contract.parsed(kueue.DIALECT, data, reading)


def attempts(*snapshots: bytes) -> pl.DataFrame:
    return described(*(parse(data).records for data in snapshots))


def agrees(found: pl.DataFrame, wanted: list[dict[str, Any]]) -> None:
    """Check that each expected attempt is found, once."""
    left = found.rows(named=True)
    for one in wanted:
        said = {NAMES.get(key, key): value for key, value in one.items()}
        said = {key: value for key, value in said.items() if key not in ("note", "pods")}
        if said["attempt"] is None:
            del said["attempt"]
        mine = [row for row in left if all(row[key] == value for key, value in said.items())]
        assert len(mine) == 1, one
        left.remove(mine[0])


def test_a_document_on_one_line_gives_the_same() -> None:
    compact = f"{json.dumps(json.loads(WORKLOADS))}\n".encode()
    told, whole = parse(compact).records, parse(WORKLOADS).records
    places = ("line", "byte_offset")
    assert told.drop(places).equals(whole.drop(places))
    for items in (None, ["a"]):
        odd = json.dumps({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "List", "items": items})
        assert parse(f"{odd}\n".encode()).records.is_empty()


def test_a_workload_that_was_not_considered_yet_has_the_requests_of_its_pods() -> None:
    asked = {"requests": {"cpu": "1500m", "memory": "2Gi"}, "limits": {"nvidia.com/gpu": "1"}}
    pod = {"spec": {"containers": [{"resources": asked}, {"resources": {"requests": {"cpu": 1}}}]}}
    requested = {"podSets": [{"count": 3, "template": pod}, {"template": pod}]}
    amounts = []
    for spec in (requested, {}):
        item = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": MADE}
        found = parse(f"{json.dumps({**item, 'spec': spec})}\n".encode()).records
        amounts.append(found.select("cpus", "mem_bytes", "gpus").row(0))
    assert amounts == [(10, 8 << 30, 4), (None, None, None)]


MADE: Final = {"name": "a", "namespace": "b", "creationTimestamp": "2026-03-02T00:00:00Z"}


@pytest.mark.parametrize(
    ("item", "refused"),
    [
        ({"kind": "Event", "involvedObject": "x", "lastTimestamp": "2026-03-02T00:00:00Z"}, 0),
        ({"kind": "Event", "regarding": [1], "eventTime": "x"}, 0),
        ({"kind": "Event", "regarding": {"kind": "Workload"}, "eventTime": 5}, 1),
        ({"kind": "Workload", "metadata": {**MADE, "name": None}}, 1),
        ({"kind": "Workload", "metadata": MADE, "spec": {"priority": float("inf")}}, 1),
        ({"kind": "Workload", "metadata": MADE, "spec": {"priority": 10**400}}, 1),
        (
            {
                "kind": "Workload",
                "metadata": MADE,
                "spec": {"maximumExecutionTimeSeconds": 10**30},
            },
            1,
        ),
        (
            {
                "kind": "Workload",
                "metadata": MADE,
                "status": {"accumulatedPastExecutionTimeSeconds": 10**25},
            },
            1,
        ),
    ],
)
def test_an_odd_item_costs_no_other(item: dict[str, Any], refused: int) -> None:
    good = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": MADE}
    data = json.dumps({"kind": "List", "items": [item, good]}, indent=4)
    parsed = parse(f"{data}\n".encode())
    assert (parsed.records.height, parsed.refusals.height) == (1, refused)


def test_one_snapshot_is_what_is_expected() -> None:
    found = attempts(WORKLOADS)
    agrees(found, EXPECTED["one_snapshot"])
    assert found.height == len(EXPECTED["one_snapshot"])
    unknown = found.filter(pl.col("standing") == Standing.START_UNKNOWN)
    assert unknown["runtime_s"].sort().to_list() == [600, 1740]
    assert parse(WORKLOADS).remarks == {kueue.EARLIER: 2}


@pytest.mark.parametrize("log", [WORKLOADS + EVENTS, EVENTS + WORKLOADS])
def test_with_events_earlier_admissions_are_exact(log: bytes) -> None:
    found = attempts(log)
    agrees(found, EXPECTED["with_events"])
    jobs = {one["job_id"] for one in EXPECTED["with_events"]}
    mine = found.filter(pl.col("job_id").is_in(jobs))
    assert mine.height == len(EXPECTED["with_events"])
    assert parse(log).remarks == {}


def test_events_in_another_file_than_their_workloads_are_named() -> None:
    assert parse(EVENTS).remarks == {kueue.ELSEWHERE: EVENTS.count(b'"kind": "Event"')}


def test_events_of_one_pull_stay_known_in_the_next() -> None:
    """A cluster keeps events for an hour; workloads tell the sum of what was before."""
    for logs in itertools.permutations([WORKLOADS + EVENTS, WORKLOADS]):
        found = attempts(*logs)
        agrees(found, EXPECTED["with_events"])
        assert found.height == attempts(WORKLOADS + EVENTS).height


def test_it_is_recognised_whatever_its_form(tmp_path: Path) -> None:
    items = json.loads(WORKLOADS)["items"]
    lines = "".join(json.dumps(item) + "\n" for item in items).encode()
    wanted = parse(WORKLOADS).records.drop("line", "byte_offset")
    assert parse(lines).records.drop("line", "byte_offset").equals(wanted)
    for name, data in (("list", WORKLOADS), ("lines", lines)):
        path = tmp_path / name
        path.write_bytes(data)
        log = open_log(path, None, USER)
        assert log.dialect.name == "kueue"
        ((_, found),) = parsed_blocks(log)
        assert found.records.drop("line", "byte_offset").equals(wanted)
    for other in (b"{}", EVENTS.replace(b"kueue.x-k8s.io", b"batch"), b'{"jobs": []}'):
        assert not kueue.recognises(other)


def changed(item: dict[str, Any], **status: Any) -> dict[str, Any]:
    one = copy.deepcopy(item)
    one["status"] = status
    return one


def condition(kind: str, minute: int, reason: str = "", status: str = "True") -> dict[str, Any]:
    at = f"2026-03-02T08:{minute:02d}:00Z"
    return {"type": kind, "lastTransitionTime": at, "reason": reason, "status": status}


def life() -> list[bytes]:
    """Return snapshots of a workload that waits, runs, is preempted, waits, runs and finishes."""
    item = json.loads(WORKLOADS)["items"][0]
    waiting = condition("QuotaReserved", 0, "Pending", "False")
    evictions = {"evictions": [{"reason": "Preempted", "count": 1}]}
    past = {"accumulatedPastExecutionTimeSeconds": 600, "schedulingStats": evictions}
    requeued = condition("Requeued", 21, "Preempted")
    evicted = condition("Evicted", 20, "Preempted")
    again = [condition("Admitted", 30, "Admitted"), requeued]
    states: list[dict[str, Any]] = [
        {"conditions": [waiting]},
        {"conditions": [condition("Admitted", 10, "Admitted")]},
        {"conditions": [waiting, evicted, requeued], **past},
        {"conditions": again, **past},
        {"conditions": [*again, condition("Finished", 40, "Succeeded")], **past},
    ]
    listed = [{"kind": "List", "items": [changed(item, **status)]} for status in states]
    return [json.dumps(one, indent=4).encode() for one in listed]


def spans(found: pl.DataFrame) -> list[tuple[Any, ...]]:
    begin = found["submit_time"].min()
    assert isinstance(begin, int)
    times = [(pl.col(name) - begin) // 60 for name in ("arrival_time", "start_time", "end_time")]
    return found.sort("attempt").select("state", *times).rows()


def test_snapshots_of_a_life_are_two_attempts_in_any_order() -> None:
    snapshots = life()
    whole = [("PREEMPTED", 0, 10, 20), ("COMPLETED", 21, 30, 40)]
    for order in [*itertools.permutations(snapshots)][::7]:
        assert spans(attempts(*order)) == whole
    assert spans(attempts(snapshots[0])) == [("PENDING", 0, None, None)]
    assert spans(attempts(*snapshots[:2])) == [("RUNNING", 0, 10, None)]
    assert spans(attempts(*snapshots[:3])) == [
        ("PREEMPTED", 0, 10, 20),
        ("PENDING", 21, None, None),
    ]
    assert spans(attempts(*snapshots[:4])) == [("PREEMPTED", 0, 10, 20), ("RUNNING", 21, 30, None)]
    without = attempts(snapshots[0], snapshots[4])  # the first admission is in no snapshot
    assert spans(without)[0] == ("COMPLETED", 21, 30, 40)
    assert without["runtime_s"].to_list() == [600, 600]


def test_a_job_may_be_resolved_again_with_more_records() -> None:
    """The records in the store are resolved again with each log, and stay the same."""
    snapshots = life()
    drawn = random.Random(1)
    wanted = resolve(
        pl.concat(labelled(parse(data).records, n) for n, data in enumerate(snapshots))
    )
    for _ in range(5):
        order = drawn.sample(range(5), 5)
        held = labelled(parse(snapshots[order[0]]).records, order[0])
        for number in order[1:]:
            more = labelled(parse(snapshots[number]).records, number)
            held = resolve(pl.concat([held, more], how="diagonal_relaxed"))
        columns = ["state", "start_time", "end_time", "eligible_time", "suspended_s", "attempt"]
        standing = [frame.filter(~pl.col("superseded")) for frame in (held, wanted)]
        one, other = (frame.sort("attempt").select(columns) for frame in standing)
        assert one.equals(other)


def test_labels_are_users_only_if_they_are_named() -> None:
    assert parse(WORKLOADS, Reading()).records["user"].null_count() == 11
    project = of_options(None, ["account=example.org/user"])
    assert "ann" in parse(WORKLOADS, Reading(table=project)).records["account"].to_list()
    for wrong in (
        of_options(None, ["cpus=example.org/cpus"]),
        TableMapping.model_validate({"user": {"column": "l", "values": {"a": "b"}}}),
    ):
        with pytest.raises(DialectError, match="labels of Kueue's workloads can be user, account"):
            kueue.header(WORKLOADS, Reading(table=wrong))


def test_a_mapping_adds_to_no_other_dialect() -> None:
    text = b"JobID|User|State|Submit|Start|End\n7|a|COMPLETED|2021-01-01T00:00:00|||\n"
    with pytest.raises(DialectError, match="a mapping of another table needs job_id"):
        dialects.detect(text, "x", USER)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        *(("8", 8), ("500m", Fraction(1, 2)), ("8Gi", 2**33), ("1.5k", 1500), ("2e3", 2000)),
        *(("1E", 10**18), ("1Ei", 2**60), ("3n", Fraction(3, 10**9)), (4, 4), ("1M", 10**6)),
    ],
)
def test_quantities(text: object, amount: Fraction | int) -> None:
    assert kueue.quantity(text) == amount


@pytest.mark.parametrize("text", ["", "-1", "1Xi", "1e99", "a", None, "1 Gi"])
def test_what_is_no_quantity_refuses_its_workload(text: object) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        kueue.quantity(text)
    damaged = WORKLOADS.replace(b'"cpu": "128"', b'"cpu": ' + json.dumps(text).encode())
    found = parse(damaged)
    assert found.refusals["code"].to_list() == [RefusalCode.VALUE]
    assert "is not a quantity" in found.refusals["reason"].item()
    assert found.records.height == 10


def test_damage_costs_one_workload() -> None:
    place = WORKLOADS.index(b'"job-train-2-03dde"')
    found = parse(WORKLOADS[:place] + WORKLOADS[place + 1 :])
    assert found.refusals["code"].to_list() == [RefusalCode.SHAPE]
    assert found.records.height == 10
    cut = parse(WORKLOADS[:-3000])
    assert cut.refusals["code"].to_list() == [RefusalCode.CUT]
    assert cut.records.height == 10


def test_large_logs_are_cut_before_an_item(monkeypatch: pytest.MonkeyPatch) -> None:
    header = kueue.header(WORKLOADS, USER)
    assert kueue.whole(WORKLOADS, header) == 0
    monkeypatch.setattr(kueue, "_MOST", 1000)
    end = kueue.whole(WORKLOADS, header)
    parts = [kueue.parse(Block(data, 0, 1), header) for data in (WORKLOADS[:end], WORKLOADS[end:])]
    ids = pl.concat(part.records for part in parts)["job_id"]
    assert ids.to_list() == parse(WORKLOADS).records["job_id"].to_list()

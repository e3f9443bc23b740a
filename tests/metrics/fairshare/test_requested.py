"""CPU time beyond requests: against the slow twin, and by hand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.metrics.fairshare.requested import beyond_request
from audit.model import Node, Pool, Resource
from audit.registry.requested import BEYONDS
from tests.naive import requested as naive
from tests.strategies import Rows, ended, frame, rows, sampled

NODES = {"n1": 4, "n2": 4}
POOL = Pool(
    "main",
    *(Resource.cpus, 8),
    nodes=tuple(Node(name, (("cpus", cpus),), ("main",)) for name, cpus in NODES.items()),
)


@given(data=st.data(), records=rows(), exclusive=st.booleans())
def test_as_defined(data: st.DataObject, records: Rows, exclusive: bool) -> None:
    for record in records:
        record["req_cpus"] = data.draw(sampled([None, 1, 2, 3, 4]))
        record["req_for_memory"] = data.draw(sampled([None, False, True]))
        record["nodes"] = data.draw(sampled([None, 1, 2]))
        record["node_list"] = data.draw(sampled([None, "n1", "n1,n2", "n1,other"]))
    before = describe(frame(records), [POOL])
    got = beyond_request(before, POOL._replace(exclusive_nodes=exclusive))
    assert got.drop("beyond_work", "beyond_request").equals(before)
    held = got.to_dicts()
    for row in held:
        assert (row["beyond_work"], row["beyond_request"]) == naive.beyond(
            row, held, NODES, exclusive=exclusive
        )


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ({"cpus": 2, "req_cpus": 1, "req_for_memory": True}, "memory"),
        ({"cpus": 4, "req_cpus": 1, "node_list": "n1"}, "whole"),
        ({"cpus": 2, "req_cpus": 1}, "cores"),
        ({"cpus": 3, "req_cpus": 1}, "unknown"),
        ({"cpus": 2, "req_cpus": 2}, None),
        ({"cpus": 1, "req_cpus": 2}, None),  # what was requested is not always granted
    ],
)
def test_the_first_reason_that_holds(job: dict[str, Any], reason: str | None) -> None:
    other = ended(0, 0, 10, 3, req_cpus=1)
    job = ended(0, 0, 10, job.pop("cpus"), **job)
    row = beyond_request(describe(frame([job, other]), [POOL]), POOL).row(0, named=True)
    assert row["beyond_request"] == reason
    assert row["beyond_work"] == max(row["cpus"] - row["req_cpus"], 0) * 10


def test_reasons_are_those_of_the_registry() -> None:
    assert [one.key for one in BEYONDS] == ["memory", "whole", "cores", "unknown"]

"""PBS's accounting logs: what every dialect owes, each type of record, and real spellings."""

import pytest
from hypothesis import strategies as st

from audit.formats.pbs import reader
from audit.formats.pbs.writing import text, write
from tests.formats import contract

LOG = (
    b"11/14/2023 22:13:20;Q;7.srv;user=ana group=staff queue=batch ctime=1700000000 "
    b"qtime=1700000000 etime=1700000000 Resource_List.ncpus=8\n",
    b"11/14/2023 22:14:20;S;7.srv;user=ana group=staff queue=batch ctime=1700000000 "
    b"start=1700000060 exec_host=n1/0-7 Resource_List.walltime=02:00:00\n",
    b"11/14/2023 22:15:00;L;license;floating license hour:1 day:2 month:3 max:4\n",
    b"11/14/2023 22:16:40;D;8[3].srv;requestor=ben@head\n",
    b"11/14/2023 23:14:20;E;7.srv;user=ana group=staff queue=batch ctime=1700000000 "
    b"start=1700000060 exec_host=n1/0-7 end=1700003660 Exit_status=0\n",
)

CASE = contract.Case(
    reader.DIALECT,
    LOG,
    write,
    carries=(
        *("job_id", "user", "account", "group", "partition", "state", "submit_time"),
        *("eligible_time", "start_time", "end_time", "walltime_s", "cpus", "nodes", "gpus"),
        "mem_bytes",
    ),
    names=("user", "account", "group", "partition"),
    returned=text,
    ids=("7.srv", "8[3].srv", "12", "9-4.srv"),
    changes={"walltime_s": st.integers(10_001, 1_000_000)},
)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check) -> None:
    check(CASE)

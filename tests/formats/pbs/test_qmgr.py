"""Limits of ``qmgr -c 'print server'``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.pbs.qmgr import limits
from audit.model import Limit

OPENPBS = """\
#
# Create queues and set their attributes.
#
create queue workq
set queue workq queue_type = Execution
set queue workq max_run = "[u:PBS_GENERIC=10]"
set queue workq max_run += "[u:ann=4]"
set queue workq max_run_res.ncpus = "[o:PBS_ALL=1136], [u:PBS_GENERIC=64]"
set queue workq max_run_res.mem = "[u:PBS_GENERIC=64gb]"
set queue workq max_queued = "[u:PBS_GENERIC=100]"
set queue workq resources_max.walltime = 24:00:00
set queue workq resources_max.ncpus = 128
set queue workq enabled = True
#
# Set server attributes.
#
set server max_run = "[g:chem=20]"
set server max_run_soft = "[u:PBS_GENERIC=2]"
set server scheduling = True
"""
TORQUE = """\
create queue batch
set queue batch max_running = 200
set queue batch max_user_run = 10
set queue batch max_queuable = 500
set queue batch resources_max.nodect = 8
set queue batch resources_max.procct = 64
set server max_user_run = 20
"""
WORKQ, BATCH = {"partition": ("workq",)}, {"partition": ("batch",)}


def test_openpbs() -> None:
    found = limits(OPENPBS)
    assert found.limits == (
        Limit(most=10, per="user", partition=("workq",)),
        Limit(most=4, user=("ann",), partition=("workq",)),
        Limit(most=1136, resource="cpus", partition=("workq",)),
        Limit(most=64, resource="cpus", per="user", partition=("workq",)),
        Limit(most=64 << 30, resource="mem_bytes", per="user", partition=("workq",)),
        Limit(most=0, walltime_above_s=86_400, partition=("workq",)),
        Limit(most=128, resource="cpus", per="job", partition=("workq",)),
    )
    assert found.problems == (
        "line 10: max_queued is not modelled",
        "line 17: max_run of a group is not modelled",
        "line 18: max_run_soft is not modelled",
    )


def test_limits_beside_one_of_a_group_are_read() -> None:
    found = limits('set server max_run = "[g:chem=20], [u:PBS_GENERIC=30], [o:PBS_ALL=90]"\n')
    assert found.limits == (Limit(most=30, per="user"), Limit(most=90))
    assert found.problems == ("line 1: max_run of a group is not modelled",)


def test_torque() -> None:
    found = limits(TORQUE)
    assert found.limits == (
        Limit(most=200, partition=("batch",)),
        Limit(most=10, per="user", partition=("batch",)),
        Limit(most=8, resource="nodes", per="job", partition=("batch",)),
        Limit(most=64, resource="cpus", per="job", partition=("batch",)),
        Limit(most=20, per="user"),
    )
    assert found.problems == ("line 4: max_queuable is not modelled",)


def test_a_user_with_a_higher_limit_of_its_own_is_not_bound_by_that_of_all() -> None:
    found = limits('set server max_run = "[u:PBS_GENERIC=2],[u:ann=5]"\n')
    assert found.limits == (Limit(most=5, user=("ann",)),)
    (problem,) = found.problems
    assert problem == "a limit of 2 for each user is left out: ann have higher ones"


def test_commands_that_administrators_wrote_need_no_blanks() -> None:
    found = limits(
        "set queue q resources_max.walltime=72:00:00\nset queue q max_running=1\n"
        'set server max_run="[u:PBS_GENERIC = 5], [ u:ann = 3 ]"\n'
    )
    assert found.problems == ()
    assert found.limits == (
        Limit(most=0, walltime_above_s=259_200, partition=("q",)),
        Limit(most=1, partition=("q",)),
        Limit(most=5, per="user"),
        Limit(most=3, user=("ann",)),
    )


def test_a_file_without_settings_is_named() -> None:
    assert limits("Server altix\n    max_run = [u:PBS_GENERIC=4]\n").problems == (
        "no line such as 'set server max_run = …': is it of qmgr -c 'print server'?",
    )


@pytest.mark.parametrize(
    "line",
    [
        "set server max_run = many",
        "set queue q resources_max.walltime = 1:2:3:4:5",
        "set queue q resources_max.mem = 999999999999999999pb",
        "set queue q max_run_res.fpga = 3",
    ],
)
def test_what_is_no_limit_is_named(line: str) -> None:
    found = limits(line)
    assert found.limits == ()
    assert found.problems[0].startswith("line 1: ")


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert limits(text).limits == ()
    limits(f"set server max_run = {text}")
    limits(f"set queue {text} max_user_run = 3")

"""The registry of policies; what one entry more costs, shown by entries that are made up."""

import subprocess

import pytest

from audit.errors import UsageError
from audit.policies import SETTINGS, Backfill, Order, Policy, takers
from bench.pages import policies_page
from tests import processes
from tests.places import ROOT

FILE = ROOT / "audit" / "policies.py"


def test_a_policy_is_named_by_all_that_it_has() -> None:
    assert Policy().name == "fcfs-easy"
    replan = Policy(Order.sjf, Backfill.conservative_replan, 3, 60, 30, 2)
    assert replan.name == "sjf-conservative_replan-depth3-window60-every30-reserve2"


def test_a_change_keeps_the_settings_that_the_backfilling_takes() -> None:
    replan = Policy(Order.sjf, Backfill.conservative_replan, 3, 60, 30, 2)
    assert replan.changed(order=Order.lxf, depth=None) == replan._replace(order=Order.lxf)
    assert replan.changed(backfill=Backfill.easy) == Policy(Order.sjf, Backfill.easy, 3, 60, 30)
    assert replan.changed(backfill=Backfill.none) == Policy(
        Order.sjf, Backfill.none, None, None, 30
    )
    with pytest.raises(UsageError, match=r"^--window: only backfill easy and conservative_replan "):
        Policy(backfill=Backfill.none).changed(window_s=5)
    with pytest.raises(UsageError, match=r"^--reservations: only backfill conservative_replan has"):
        Policy().changed(reservations=5)


def test_backfillings_name_settings_that_exist() -> None:
    assert {key for fill in Backfill for key in fill.traits.settings} <= SETTINGS.keys()
    assert takers("interval_s") == tuple(Backfill)


def test_the_table_of_policies_is_that_of_the_registry() -> None:
    """Where this fails: ``make metrics-page``."""
    page = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
    assert policies_page.filled(page) == page
    assert policies_page.table() in page


def with_entry(before: str, entry: str, program: str) -> "subprocess.CompletedProcess[str]":
    """Run a program to which the registry has one entry more, ``before`` a line of its source."""
    source = FILE.read_text(encoding="utf-8")
    assert source.count(before) == 1
    start = (
        "import sys, types, audit\n"
        "module = types.ModuleType('audit.policies')\n"
        "sys.modules['audit.policies'] = audit.policies = module\n"
        f"exec(compile({source.replace(before, entry + before)!r}, {str(FILE)!r}, 'exec'), "
        "module.__dict__)\n"
    )
    return processes.python("-c", start + program, cwd=ROOT)


HELP = """
from audit.cli.app import main
sys.argv = ["fairaudit", "simulate", "--help"]
main()
"""


@pytest.mark.parametrize(
    ("entry", "refusal"),
    [
        ('kernel="NO_SUCH_CODE", deeper=0.0', "KeyError: 'NO_SUCH_CODE'"),
        ('kernel="RANK"', "missing 1 required positional argument: 'deeper'"),
        ("deeper=0.0", "missing 1 required positional argument: 'kernel'"),
    ],
)
def test_an_order_without_kernel_or_cost_cannot_be_imported(entry: str, refusal: str) -> None:
    made = f'    odd = OrderTraits("odd", label="odd", {entry})\n'
    done = with_entry("    sjf = OrderTraits(\n", made, "import audit.scenario.engine")
    assert done.returncode == 1
    assert refusal in done.stderr


@pytest.mark.thorough
def test_an_order_by_a_number_of_a_job_is_one_entry() -> None:
    made = (
        '    widest = OrderTraits("widest", '
        '"widest job first", kernel="RANK", deeper=0.2, rank_by="-request")\n'
    )
    program = """
from pydantic import ValidationError
from audit import config
from audit.metrics.attempts.population import describe
from audit.model import Pool, Resource
from audit.scenario.engine import simulate
from audit.scenario.whatif import options
from bench.pages import policies_page
from tests.strategies import ended, frame

pool = config.PoolConfig.model_validate({"name": "p", "order": "widest"})
print(pool.policy.name)
try:
    config.PoolConfig.model_validate({"name": "p", "order": "wides"})
except ValidationError as error:
    print(error)
print(policies_page.table())
machine = Pool("main", Resource.cpus, 4)
print(options.title(options.change(order=pool.order), machine))
rows = [ended(0, 0, 10, 4, job_id="1")]
rows += [ended(k, 20, 30, k, job_id=str(k)) for k in (2, 3, 4)]
made = simulate(describe(frame(rows), [machine]), machine, 100, pool.policy)
print(*made.sort("start_time")["job_id"])
"""
    done = with_entry("    sjf = OrderTraits(\n", made, program + HELP)
    assert done.returncode == 0, done.stderr
    for said in (
        "widest-easy",
        "'fcfs', 'widest', 'sjf'",
        '| `order = "widest"` | `--order widest` | widest job first |',
        "Serve the queue by order widest",
        "1 4 3 2",
        "<fcfs|widest|sjf|",
        "widest (widest",
    ):
        assert said in done.stdout, said


def test_a_setting_is_one_entry() -> None:
    """And a comment in config.toml: ``config/test_file`` misses it there."""
    made = (
        "    quota: Annotated[int | None, PolicySetting(\n"
        '        flag="--quota", help="A made-up bound.", part="quota", says="a quota of",\n'
        "        most=9)] = None\n"
    )
    program = """
from pydantic import ValidationError
from audit import config
from audit.model import Pool, Resource
from audit.scenario.whatif import options
from audit.scenario.scenario import decided
from bench.pages import policies_page

pool = config.PoolConfig.model_validate({"name": "p", "quota": 3})
print(pool.policy.name)
try:
    config.PoolConfig.model_validate({"name": "p", "quota": 10})
except ValidationError as error:
    print(error)
print(policies_page.table())
machine = Pool("p", Resource.cpus, 4)
change = options.change(quota=5)
print(decided(machine, change).policy.name, "|", options.title(change, machine))
"""
    place = "    @property\n    def name(self) -> str:\n"
    done = with_entry(place, made, program + HELP)
    assert done.returncode == 0, done.stderr
    for said in (
        "fcfs-easy-quota3\n",
        "quota\n  Input should be less than or equal to 9",
        "| `quota` | `--quota N` | A made-up bound. | |",
        "fcfs-easy-quota5 | Set quota to 5",
        "--quota <int range>",
    ):
        assert said in done.stdout, said

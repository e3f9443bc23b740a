"""Changes to a scenario, against their definitions and by hand."""

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import UsageError
from audit.metrics.attempts.population import describe
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.usage import HalfLife
from audit.model import Backfill, CapacityStep, Node, Order, Policy, Pool, Resource
from audit.scenario import scenario as whatif
from audit.scenario.ownership import EQUAL_SHARES, Fairshare
from audit.scenario.scenario import Amount, ScenarioChange, asking_for, changed
from audit.scenario.whatif.options import limits
from tests.naive import whatif as naive
from tests.naive.multifactor import Slurm
from tests.scenario.whatif.scenarios import POOL, scenario
from tests.strategies import slurm_of, workloads


@given(workloads(), st.fractions(1, 5, max_denominator=7))
def test_walltimes(attempts: pl.DataFrame, factor: Fraction) -> None:
    described = describe(attempts, [POOL])
    found = asking_for(described, factor)
    asked = described.select("walltime_s", "occupancy_s").rows()
    assert found["walltime_s"].to_list() == [
        naive.walltime(walltime, occupancy, factor) for walltime, occupancy in asked
    ]
    assert found.drop("walltime_s").equals(described.drop("walltime_s"))


STEPPED = Pool(
    "p",
    Resource.cpus,
    10,
    (CapacityStep(5, (("cpus", 6), ("nodes", 3))),),
    (("cpus", 10), ("nodes", 5)),
)


def test_another_size() -> None:
    more = whatif.resized(STEPPED, Amount(2, True), None)
    assert (more.capacity, more.amounts) == (12, (("cpus", 12), ("nodes", 5)))
    assert more.steps[0].amounts == (("cpus", 8), ("nodes", 3))
    fixed = whatif.resized(STEPPED, Amount(7, False), None)
    assert (fixed.capacity, fixed.steps[0].amounts) == (7, (("cpus", 7), ("nodes", 3)))
    nodes = whatif.resized(STEPPED, None, Amount(5, True))
    assert (nodes.capacity, nodes.amounts) == (20, (("cpus", 20), ("nodes", 10)))
    assert nodes.steps[0].amounts == (("cpus", 12), ("nodes", 6))
    counted = Pool("n", Resource.nodes, 4)
    assert whatif.resized(counted, None, Amount(-1, True)).capacity == 3
    assert whatif.resized(STEPPED, None, None) == STEPPED


def test_another_number_of_nodes() -> None:
    one, two = (Node(name, (("cpus", cpus),), ("p",)) for name, cpus in (("a", 4), ("b", 8)))
    # the most in use was less than the nodes have
    pool = Pool("all", Resource.cpus, 10, amounts=(("cpus", 10),), nodes=(one, two))
    more = whatif.resized(pool, None, Amount(2, True))
    assert [node.name for node in more.nodes] == ["a", "b", "a+1", "b+1"]
    assert more.capacity == 20
    wider = whatif.resized(pool, Amount(15, False), None)
    assert [(node.name, node.amounts) for node in wider.nodes[2:]] == [
        ("a+1", (("cpus", 4),)),
        ("b+1", (("cpus", 1),)),
    ]
    less = whatif.resized(pool, Amount(-3, True), None)
    assert [node.amounts for node in less.nodes] == [(("cpus", 4),), (("cpus", 5),)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ScenarioChange(policy={"order": Order.recorded}),
            "--order recorded: no job of pool 'all' has a known priority",
        ),
        (ScenarioChange(capacity=Amount(-4, True)), "no capacity left"),
        (ScenarioChange(nodes=Amount(1, True)), "does not say how many nodes"),
        (ScenarioChange(nodes=Amount(1, True), capacity=Amount(9, False)), "give one of them"),
        (ScenarioChange(without=("nobody",)), "pool 'all' has no such user"),
        (ScenarioChange(without=("ann", "bob")), "no attempt would remain"),
        (ScenarioChange(limits=limits(["x=3"])), "no such partition"),
        (ScenarioChange(targets={"ann": 2.0}), "add --order fairshare"),
        (ScenarioChange(policy={"order": Order.nuwt}, half_life_s=60.0), "pool 'all' has nuwt"),
        (ScenarioChange(weights={"age": 2.0}), "--weight: only the order multifactor uses it"),
        (
            ScenarioChange(policy={"order": Order.fairshare}, targets={"cem": 2.0}),
            "cem: not in the log",
        ),
        (
            ScenarioChange(policy={"order": Order.fairshare}, targets={"ann": 2.0, "of bob": 1.0}),
            "not both",
        ),
        (ScenarioChange(policy={"depth": 3, "backfill": Backfill.none}), "--depth: only"),
        (
            ScenarioChange(policy={"order": Order.fairshare}, targets={"ann": 0.0, "bob": 0.0}),
            "--targets: ",
        ),
    ],
)
def test_what_cannot_be_changed_is_refused(change: ScenarioChange, said: str) -> None:
    today = scenario((0, 0, 9, 1, "ann"), (0, 0, 9, 1, "bob"))
    with pytest.raises(UsageError, match=said):
        changed(today, change)


def test_other_targets() -> None:
    attempts = scenario((0, 0, 9, 1, "ann"), (0, 0, 9, 1, "bob")).attempts
    users = whatif.retargeted(Fairshare(), attempts, {"bob": 3.0}, attempts)
    assert users.kind == "user"
    assert users.tree is not None
    assert dict(zip(users.tree.names[1:], users.tree.shares[1:], strict=True)) == {
        "ann": 1.0,
        "bob": 3.0,
    }
    accounts = whatif.retargeted(Fairshare(), attempts, {"of ann": 3.0}, attempts)
    assert accounts.kind == "account"
    given = Fairshare(operator="relative", tree=trees.flat(["ann", "bob"], {"ann": 30, "bob": 70}))
    other = whatif.retargeted(given, attempts, {"ann": 60.0}, attempts)
    assert other.tree is not None
    assert (other.operator, other.tree.shares.tolist()[1:]) == ("relative", [60.0, 70.0])
    with pytest.raises(UsageError, match="cem: not in the configured shares"):
        whatif.retargeted(given, attempts, {"cem": 1.0}, attempts)


def test_other_weights_of_slurm_s_priority() -> None:
    slurm = slurm_of(Slurm(age=1.0, fairshare=2.0))
    today = scenario((0, 0, 9, 1, "ann"), (0, 0, 9, 1, "bob"))
    owned = today.but(fairshare=EQUAL_SHARES._replace(multifactor=slurm))
    after = changed(
        owned,
        ScenarioChange(policy={"order": Order.multifactor}, weights={"fairshare": 5.0, "qos": 7.0}),
    )
    assert after.fairshare.multifactor is not None
    assert after.fairshare.multifactor.weights == {"age": 1.0, "fairshare": 5.0, "qos": 7.0}
    with pytest.raises(UsageError, match="--weight: size: one of age, assoc"):
        changed(owned, ScenarioChange(policy={"order": Order.multifactor}, weights={"size": 1.0}))


def test_policy_half_life_and_who_comes() -> None:
    today = scenario(
        (0, 0, 9, 1, "ann"),
        (0, 0, 9, 1, "bob"),
        pool=POOL._replace(policy=Policy(depth=5)),
    )
    after = changed(
        today,
        ScenarioChange(
            policy={"order": Order.fairshare, "window_s": 7}, half_life_s=60.0, without=("ann",)
        ),
    )
    assert after.pool.policy == Policy(Order.fairshare, Backfill.easy, 5, 7)
    assert after.fairshare.method == HalfLife(half_life_s=60.0)
    assert after.attempts["user"].to_list() == ["bob"]
    plain = changed(today, ScenarioChange(policy={"backfill": Backfill.conservative}))
    assert plain.pool.policy == Policy(Order.fcfs, Backfill.conservative)


@given(
    workloads(),
    st.dictionaries(st.sampled_from(["a", "b"]), st.integers(1, 12), min_size=1),
)
def test_walltime_limits(attempts: pl.DataFrame, limits: dict[str, int]) -> None:
    partition = pl.when(pl.col("job_number") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit(None))
    before = describe(attempts.with_columns(partition=partition), [POOL])
    after = whatif.cut_short(before, limits)
    for was, now in zip(before.to_dicts(), after.to_dicts(), strict=True):
        limit = limits.get(was["partition"])
        assert now == (was if limit is None else naive.cut_short(was, limit))

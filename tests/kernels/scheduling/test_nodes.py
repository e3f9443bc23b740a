"""Simulation by nodes: against the slow twin, and against sums where jobs take whole nodes."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.model import Backfill, Order, Policy
from audit.scenario.delivered.agreement import compared_on_nodes
from audit.scenario.delivered.candidates import judged_as
from audit.scenario.engine import replay
from audit.scenario.fair_start import fair_starts
from audit.scenario.machines import Machines
from audit.scenario.workload import Workload, on_nodes
from tests.examples import examples
from tests.naive import agreement_on_nodes as by_instants
from tests.naive import simulation as slow
from tests.naive.placing import Request, Site, distributions
from tests.naive.simulation import Job, Log, Ranking, Step, Taken, minus, plus
from tests.scenario.test_engine import known
from tests.strategies import EPOCH, EVERY_POLICY, arrays, logs, policies, rankings, rule, sampled


@st.composite
def sites(draw: st.DrawFn, most: int = 9) -> Log:
    """A log of attempts on at most six nodes."""
    log = draw(logs(most=most, resources=draw(sampled([1, 1, 2])), limited=True))
    count, resources, gpus = draw(st.integers(1, 6)), len(log.capacity), draw(st.booleans())
    amounts = st.tuples(*[st.integers(1, 4)] * resources)
    machines = tuple(draw(amounts) for _ in range(count))
    every = tuple(range(count))
    few = st.integers(1, 2**count - 1)  # nodes as bits
    sets = [tuple(n for n in every if bits >> n & 1) for bits in draw(st.lists(few, max_size=2))]
    sets = sets or [every]
    jobs, requests = [], []
    for job in log.jobs:
        nodes = draw(sampled(sets))
        part = (draw(sampled([1, 1, 2, 3])), *(draw(sampled([0, 1, 1])) for _ in machines[0][1:]))
        parts, on_one = draw(sampled([(1, 1), (1, 1), (2, 1), (3, 1), (3, 9), (5, 9)]))
        if on_one > 1:
            part = (1, *part[1:])
        home = tuple(sorted({*nodes, *draw(sampled(sets))}))
        bound = gpus and any(part[1:])
        request = Request(nodes, part, parts, on_one, home=home, bound=bound)
        requests.append(request._replace(used=draw(_used(request, machines))))
        jobs.append(job._replace(request=tuple(parts * amount for amount in part)))
    reserved = []
    for _ in range(draw(sampled([0, 0, 0, 1, 2]))):
        begin = EPOCH + draw(st.integers(0, 12))
        reserved.append((begin, begin + draw(st.integers(1, 9)), draw(sampled(every))))
    placement = draw(sampled([(False, False), (True, False), (False, True)]))
    site = Site(machines, tuple(requests), tuple(reserved), *placement)
    changes = []
    for begin, end, node in reserved:
        changes += [
            Step(begin, minus((0,) * resources, machines[node]), False),
            Step(end, machines[node], False),
        ]
    return log._replace(
        jobs=tuple(jobs),
        capacity=plus(*machines),
        steps=tuple(sorted(changes, key=lambda step: step.time)),
        site=site,
    )


@st.composite
def _used(draw: st.DrawFn, request: Request, machines: tuple[tuple[int, ...], ...]) -> Taken:
    """Where an attempt ran: seldom nowhere known, at times not where it may run now."""
    ways = list(distributions(request, machines))[:20]
    if not ways or draw(st.integers(0, 9)) == 0:
        return {}
    used = ways[draw(st.integers(0, len(ways) - 1))]
    return {node: tuple(n * amount for amount in request.part) for node, n in used.items()}


def workload(log: Log, ranking: Ranking = Ranking()) -> Workload:  # noqa: B008 (a NamedTuple)
    """The same log as the package takes it."""
    plain = log._replace(steps=())
    assert isinstance(log.site, Site)
    return on_nodes(arrays(plain, ranking), machines(log.site))


def machines(site: Site) -> Machines:
    """The same nodes as the package takes them."""
    requests, count = site.requests, len(site.machines)
    sets = sorted({nodes for r in requests for nodes in (r.nodes, r.home)})
    shapes = sorted({request[:4] for request in requests})
    whole = [{node: amounts} for node, amounts in enumerate(site.machines)]
    room = [max(len(r.used), min(r.parts, len(r.nodes))) for r in requests] + [1] * count
    first = np.cumsum([0, *room])
    node = np.zeros(first[-1], np.int64)
    amount = np.zeros((len(site.machines[0]), first[-1]), np.int64)
    for place, used in zip(first, [*(r.used for r in requests), *whole], strict=False):
        for k, (at, amounts) in enumerate(used.items()):
            node[place + k], amount[:, place + k] = at, amounts
    changes = [(begin, n, 1) for begin, _, n in site.reserved]
    changes += [(end, n, -1) for _, end, n in site.reserved]
    time, changing, change = (
        np.array([row[k] for row in sorted(changes, key=lambda row: row[0])], np.int64)
        for k in range(3)
    )

    def ints(values: list[int]) -> np.ndarray:
        return np.array(values, np.int64)

    return Machines(
        np.ascontiguousarray(np.array(site.machines, np.int64).T),
        np.cumsum([0, *map(len, sets)]),
        ints([n for one in sets for n in one]),
        ints([sets.index(r.nodes) for r in requests]),
        ints([sets.index(r.home) for r in requests]),
        np.ascontiguousarray(
            np.array([r.part for r in requests], np.int64).reshape(-1, len(site.machines[0])).T
        ),
        ints([r.parts for r in requests]),
        ints([r.most for r in requests]),
        np.array([r.bound for r in requests], np.bool_),
        ints([shapes.index(r[:4]) for r in requests]),
        first,
        ints([*(len(r.used) for r in requests), *[1] * count]),
        node,
        amount,
        site.consecutive,
        site.least_loaded,
        whole=False,
        change_time=time,
        change_node=changing,
        change=change,
    )


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
def test_every_policy_on_nodes_as_defined(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(30))
    @given(sites(), policies(order, backfill, intervals=True), rankings())
    def compare(log: Log, policy: Policy, ranking: Ranking) -> None:
        want = slow.replay(log, rule(policy)._replace(ranking=ranking))
        made = replay(workload(log, ranking), policy)
        for k, job in enumerate(log.jobs):
            if not job.blocked:
                assert known(made.start)[k] == want.start.get(k)
            assert known(made.planned)[k] == want.planned.get(k)

    compare()


def crowded(seed: int) -> Log:
    """A log of many small and few large attempts that wait for shared nodes."""
    random = np.random.Generator(np.random.PCG64(seed))

    def one(*values: int) -> int:
        return int(random.choice(values))

    machines = tuple((one(2, 4), one(1, 2)) for _ in range(one(3, 5, 6)))
    everywhere = tuple(range(len(machines)))
    jobs, requests = [], []
    for arrival in sorted(one(0, 0, 1, 2, 4, 6, 9) for _ in range(14)):
        parts, most = (one(1, 1, 1, 2, 3), 1) if random.random() < 0.8 else (one(3, 5), 9)
        part = (one(1, 1, 2, 4) if most == 1 else 1, one(0, 0, 0, 1))
        nodes = everywhere if random.random() < 0.7 else everywhere[: one(1, 2)]
        occupancy = one(1, 2, 3, 5, 9)
        estimate = occupancy + one(0, 0, 1, 4)
        requests.append(Request(nodes, part, parts, most, home=everywhere))
        request = tuple(parts * amount for amount in part)
        jobs.append(Job(EPOCH + arrival, occupancy, estimate, request, priority=float(one(1, 2))))
    placement = one(0, 1, 2)
    site = Site(machines, tuple(requests), (), placement == 1, placement == 2)
    return Log(tuple(jobs), plus(*machines), site=site)


@pytest.mark.parametrize("backfill", list(Backfill))
@pytest.mark.parametrize("order", [Order.fcfs, Order.lxf])
def test_crowded_nodes_as_defined(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(40))
    @given(st.integers(0, 2**32), policies(order, backfill, intervals=True))
    def compare(seed: int, policy: Policy) -> None:
        log = crowded(seed)
        want = slow.replay(log, rule(policy))
        made = replay(workload(log), policy)
        assert known(made.start) == [want.start.get(k) for k in range(len(log.jobs))]
        assert known(made.planned) == [want.planned.get(k) for k in range(len(log.jobs))]

    compare()


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
def test_from_what_ran_on_nodes_at_an_instant(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(20))
    @given(sites(), policies(order, backfill, intervals=True), st.integers(0, 20), rankings())
    def compare(log: Log, policy: Policy, after: int, ranking: Ranking) -> None:
        instant = EPOCH + after
        want = slow.replay(log, rule(policy)._replace(ranking=ranking), instant)
        made = known(replay(workload(log, ranking), policy, from_time=instant).start)
        for k, job in enumerate(log.jobs):
            ran = job.start is not None and job.start < instant
            if not job.blocked and not ran:
                assert made[k] == want.start.get(k)

    compare()


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
def test_fair_starts_on_nodes_as_defined(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(12))
    @given(sites(), policies(order, backfill, intervals=True), rankings())
    def compare(log: Log, policy: Policy, ranking: Ranking) -> None:
        work, as_said = workload(log, ranking), rule(policy)._replace(ranking=ranking)
        fair = fair_starts(work, policy)
        for j, job in enumerate(log.jobs):
            if job.blocked or log.exceeds(j) or log.breaks(j):
                continue
            assert known(fair.strict)[j] == slow.strict(log, as_said, j)
            assert known(fair.relaxed)[j] == slow.relaxed(log, as_said, j)
            over = slow.status(log, j) == "over_capacity"
            assert fair.over_capacity[j] == over

    compare()


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
@pytest.mark.parametrize("of_logs", [sites(), logs(limited=True)])
def test_agreement_on_nodes_as_defined(
    order: Order, backfill: Backfill, of_logs: st.SearchStrategy[Log]
) -> None:
    @settings(max_examples=examples(15))
    @given(
        of_logs, policies(order, backfill), st.sampled_from([-1, 0, 5]), rankings(), st.randoms()
    )
    def compare(log: Log, policy: Policy, long_wait: int, ranking: Ranking, random: Random) -> None:
        work = workload(log, ranking) if log.site is not None else arrays(log, ranking)
        held = [job.arrival + random.choice((0, 0, 0, 1, 4, 20)) for job in log.jobs]
        made = compared_on_nodes(work, policy, np.array(held, np.int64), long_wait)
        as_said = rule(judged_as(policy))._replace(ranking=ranking)
        assert tuple(made.tolist()) == by_instants.compared(log, as_said, long_wait, held)

    compare()


def whole(log: Log) -> Site:
    """As many nodes as the log has of its resource; each attempt takes whole ones."""
    everywhere = tuple(range(log.capacity[0]))
    requests = [
        Request(everywhere, (1,), max(job.request[0], 1), 1, home=everywhere) for job in log.jobs
    ]
    return Site(((1,),) * log.capacity[0], tuple(requests))


@pytest.mark.parametrize("backfill", [Backfill.none, Backfill.no_guarantee, Backfill.easy])
def test_whole_nodes_give_the_results_of_sums(backfill: Backfill) -> None:
    @settings(max_examples=examples(100))
    @given(
        logs(most=14, resources=1, plain=True, limited=True),
        policies(backfill=backfill, intervals=True),
        rankings(),
    )
    def compare(log: Log, policy: Policy, ranking: Ranking) -> None:
        jobs = [job._replace(request=(max(job.request[0], 1),)) for job in log.jobs]
        log = log._replace(jobs=tuple(jobs))
        made = replay(workload(log._replace(site=whole(log)), ranking), policy)
        assert known(made.start) == known(replay(arrays(log, ranking), policy).start)

    compare()

"""Times in the hour that a clock change repeats: which of two readings, and where nothing decides.

The order of job numbers decides about submissions: a job is not submitted before one with a lower
number. It is used only where the jobs before and after do not contradict each other (a requeue
gives an old number a later time). The rest of a record's times follow from Submit ≤ Start ≤ End and
from Elapsed. A job of which both instances remain possible is read as the second only if its nodes
would run more in the first than they ever run otherwise (``placed``).
"""

from collections import Counter, defaultdict
from collections.abc import KeysView, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from audit.array_types import Ints
from audit.formats.instants import Instants
from audit.hostlists import expand

TIMES: Final = ("Submit", "Eligible", "Start", "End")
UNDECIDED: Final = (
    "times in the hour that a clock change repeats may be an hour off: nothing shows which, and "
    "they are read as the first, unless only the second fits on their nodes"
)
_NEAR: Final = 6 * 3_600  # s around such an hour in which other submissions are compared
_MOST_PAIRS: Final = 1 << 22  # of jobs that are compared on nodes; of more, none is
_APART: Final = 3_600  # s by which a clock is put back at most


def settled(
    times: dict[str, Instants], elapsed: pl.Series, suspended: pl.Series, numbers: pl.Series
) -> dict[str, pl.Series]:
    """Return one reading of each time (``submit_time``, …), and which rows are ``undecided``.

    ``times`` are those of the log; ``numbers`` are of jobs, null where unknown.
    """
    nothing = pl.Series([None], dtype=pl.Int64).new_from_index(0, len(elapsed))
    early = {name: times[name].early if name in times else nothing for name in TIMES}
    late = {name: times[name].late if name in times else nothing for name in TIMES}
    if all(early[name] is late[name] for name in TIMES):
        sure = pl.repeat(value=False, n=len(elapsed), eager=True)
        return {**{f"{name.lower()}_time": early[name] for name in TIMES}, "undecided": sure}
    latest = pl.select(pl.min_horizontal(late["Start"], late["End"])).to_series()
    submit, doubted = _submissions(early["Submit"], late["Submit"], latest, numbers)
    both = {f"{name}{n}": of[name] for n, of in enumerate((early, late)) for name in TIMES}
    frame = pl.DataFrame(
        {**both, "submit": submit, "spent": elapsed + suspended.fill_null(0), "doubted": doubted}
    )
    ways = [(pl.col(f"Start{a}"), pl.col(f"End{b}")) for a, b in ((0, 0), (0, 1), (1, 1), (1, 0))]
    since = pl.coalesce("submit", pl.min_horizontal("Start0", "End0"))
    possible = [
        ((start >= since).fill_null(value=True) & (end >= start).fill_null(value=True), start, end)
        for start, end in ways
    ]
    exact = [(fair & (end - start == pl.col("spent")), start, end) for fair, start, end in possible]
    is_exact = pl.any_horizontal(fair.fill_null(value=False) for fair, _, _ in exact)
    choices = [*exact, *possible]
    ready = pl.when(pl.col("Eligible0") < pl.col("submit")).then("Eligible1").otherwise("Eligible0")
    return frame.select(
        submit_time="submit",
        eligible_time=ready,
        start_time=pl.coalesce(
            *(pl.when(fair).then(start) for fair, start, _ in choices), "Start0"
        ),
        end_time=pl.coalesce(  # with the start: the first way that is possible
            *(pl.when(fair & end.is_not_null()).then(end) for fair, _, end in choices), "End0"
        ),
        undecided=pl.col("doubted")
        | pl.when(is_exact).then(_several(exact)).otherwise(_several(possible)),
    ).to_dict()


class _OnNodes(NamedTuple):
    start: int
    end: int
    cpus: int  # on each of its nodes
    nodes: tuple[str, ...]


def placed(
    found: dict[str, pl.Series], times: dict[str, Instants], node_list: pl.Series, cpus: pl.Series
) -> dict[str, pl.Series]:
    """Return the times that ``settled`` found, with the second reading where nodes require it.

    On each node, jobs that are certain show the CPUs that it has. Too many uncertain jobs for this
    (``_MOST_PAIRS``) remain as they are.
    """
    if not found["undecided"].any() or not {"Start", "End"} <= times.keys():
        return found
    start, end = times["Start"].late, times["End"].late
    both = (found["start_time"] < start) & (found["end_time"] < end) & node_list.is_not_null()
    open_to = np.flatnonzero((found["undecided"] & both).fill_null(value=False)).tolist()
    ran = [found["start_time"], found["end_time"], node_list, cpus, found["undecided"]]
    rows = pl.DataFrame([of.alias(str(n)) for n, of in enumerate(ran)]).rows()
    names = Counter(name for row in open_to for name in expand(rows[row][2]) or ())
    on: dict[str, list[_OnNodes]] = defaultdict(list)
    for *run, undecided in rows:
        if not undecided and None not in run[:3]:
            _put(on, _run(*run), names.keys())
    most = {name: _most(runs) for name, runs in on.items()}
    first = min((rows[row][0] for row in open_to), default=0)
    last = max((end[row] for row in open_to), default=0)
    near = {name: [of for of in on[name] if of.start < last and of.end > first] for name in names}
    if sum(count * (count + len(near[name])) for name, count in names.items()) > _MOST_PAIRS:
        return found
    starts, ends = found["start_time"].to_list(), found["end_time"].to_list()
    for row in open_to:
        early = _run(*rows[row][:4])
        late = early._replace(start=start[row], end=end[row])
        second = _fits(late, near, most) and not _fits(early, near, most)
        if second:
            starts[row], ends[row] = late.start, late.end
        _put(near, late if second else early, names.keys())
    moved = {"start_time": starts, "end_time": ends}
    return {**found, **{name: pl.Series(of, dtype=pl.Int64) for name, of in moved.items()}}


def _run(start: int, end: int, listed: str, cpus: int | None) -> _OnNodes:
    nodes = tuple(expand(listed) or ())
    return _OnNodes(start, end, -(-(cpus or 0) // max(len(nodes), 1)), nodes)


def _put(on: dict[str, list[_OnNodes]], run: _OnNodes, names: KeysView[str]) -> None:
    for name in names & run.nodes:
        on[name].append(run)


def _most(runs: Sequence[_OnNodes]) -> int:
    """Return the most CPUs that runs on one node use at one time."""
    changes = [(run.start, run.cpus) for run in runs] + [(run.end, -run.cpus) for run in runs]
    used = most = 0
    for _, change in sorted(changes):
        used += change
        most = max(most, used)
    return most


def _fits(run: _OnNodes, on: dict[str, list[_OnNodes]], most: dict[str, int]) -> bool:
    """Return whether no node of a run would run more than it does otherwise."""
    for name in run.nodes:
        others = (of for of in on[name] if of.start < run.end and of.end > run.start)
        clipped = [
            of._replace(start=max(of.start, run.start), end=min(of.end, run.end)) for of in others
        ]
        if _most([run, *clipped]) > most.get(name, 0):
            return False
    return True


def _several(ways: list[tuple[pl.Expr, pl.Expr, pl.Expr]]) -> pl.Expr:
    """Return whether different starts, or ends, are possible."""
    differ = []
    for place in (1, 2):
        each = [pl.when(way[0]).then(way[place]) for way in ways]
        differ.append((pl.max_horizontal(each) > pl.min_horizontal(each)).fill_null(value=False))
    return differ[0] | differ[1]


def _submissions(
    early: pl.Series, late: pl.Series, latest: pl.Series, numbers: pl.Series
) -> tuple[pl.Series, pl.Series]:
    """Return the submissions, and which of them nothing decides.

    ``latest`` is the last instant at which a job can have been submitted.
    """
    doubted = np.zeros(len(early), dtype=np.bool_)
    differ = (early != late).fill_null(value=False)
    if not differ.any():
        return early, pl.Series(doubted)
    one, other = early.fill_null(-1).to_numpy().copy(), late.fill_null(-1).to_numpy()
    open_to = differ.to_numpy()
    hours = np.unique(one[open_to] // _NEAR)
    near = np.isin(one // _NEAR, [*hours, *(hours - 1), *(hours + 1)]) & (one >= 0)
    rows = np.flatnonzero(near & numbers.is_not_null().to_numpy())
    rows = rows[np.argsort(numbers.gather(rows).to_numpy(), kind="stable")]
    must_be_late = _after(one[rows], other[rows])
    must_be_early = _after(-other[rows][::-1], -one[rows][::-1])[::-1]
    ends = latest.fill_null(np.iinfo(np.int64).max).to_numpy()
    must_be_early |= other[rows] > ends[rows]
    later = rows[open_to[rows] & must_be_late & ~must_be_early]
    doubted[open_to] = True
    doubted[rows[must_be_late != must_be_early]] = False
    one[later] = other[later]
    return pl.Series(one).set(early.is_null(), None), pl.Series(doubted)


def _after(one: Ints, other: Ints) -> npt.NDArray[np.bool_]:
    """Return which of the jobs, in order, cannot have their first reading because of earlier ones.

    A time that lies further ahead than a clock is put back (a requeue) is no evidence.
    """
    found = np.zeros(len(one), dtype=np.bool_)
    known = np.iinfo(np.int64).min
    for place, (first, second) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        if known - first > _APART:
            known = first
        found[place] = first < known <= second
        known = max(known, second if found[place] else first)
    return found

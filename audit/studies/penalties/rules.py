"""Which of [M]'s five rules of fairness a penalty keeps, and counterexamples to the others.

For a penalty P of the fractions q_1 … q_r that an attempt holds of r resources, each from 0 to 1;
the *dominant* resource has the greatest fraction:

    1  multiple resources  P depends on more than one resource
    2  nondominant         P strictly grows in each nondominant q_x, for 0 < q < 1
    3  max-min             P = 1 iff some q_x = 1, and P = 0 iff all are 0
    4  linearity           P is affine in the dominant q_x, and P(λq) = λ P(q) for 0 < λ < 1
    5  weights             weights change P, and break no rule of 1 to 4 that P keeps without them

Rules 2 and 3 contradict each other at q_x = 1, so rule 2 is checked for q < 1. Rule 4 requires both
clauses: (7) satisfies the first and (8) the second, and according to [M] both break the rule. Only
P = max q_x keeps rules 3 and 4, and it breaks rule 2 (proof in docs/penalties.md).

A rule is *broken* if points are found that break it, by more than 1e-12; the witness can be
recomputed. Otherwise it is *kept*, which is evidence, not proof. The checker tests all points
with fractions of 0, 0.1, … 1, at points near 0 and 1, and at 1,000 evenly spread points. Weights
raise or lower one resource or all.

P is *linear on the symmetric line* if P(t, …, t) = t: splitting a job with equal fractions gains
nothing. [M §4] requires this of ``root`` instead of rule 4.

Source: [M] D. Klusáček, H. Rudová, M. Jaroš, Multi Resource Fairness: Problems and Challenges, §3,
§4, Table 1.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Floats
from audit.metrics.fairshare.penalty import RESOURCES, WEIGHTED, of_fractions

Form = Callable[[Floats, Floats], Floats]
"""Returns the n penalties of points (n × r) under weights (r)."""

RULES: Final = {
    1: "multiple resources",
    2: "nondominant resources",
    3: "max-min penalty",
    4: "linearity",
    5: "weights",
}

FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "cpu": (),
    **dict.fromkeys(("max", "pe"), ("max_capped", "max_scaled")),
    **{form: (form,) for form in ("max_capped", "max_scaled")},
    **{
        name: (f"{form}_weighted",)
        for form in ("product", "sum", "root")
        for name in (form, f"{form}_weighted")
    },
}
"""By penalty: its weighted forms."""

TOLERANCE: Final = 1e-12
_LEVELS: Final = np.arange(11) / 10
_NEAR: Final = np.array([0.0, 0.001, 0.5, 0.999, 1.0])
_SPREAD: Final = 1_000


class PenaltyPoint(NamedTuple):
    """A penalty at a point."""

    fractions: tuple[float, ...]
    weights: tuple[float, ...]
    penalty: float


class PenaltyWitness(NamedTuple):
    """A counterexample to a rule."""

    says: str  # a clause
    samples: tuple[PenaltyPoint, ...]


class PenaltyVerdict(NamedTuple):
    """Whether a rule is kept."""

    rule: int
    witnesses: tuple[PenaltyWitness, ...]  # for rule 5, one for each weighted form

    @property
    def kept(self) -> bool:
        """Whether no witness was found."""
        return not self.witnesses


def named(name: str, resources: int = 2, exempt: Collection[str] = ()) -> Form:
    """Return a penalty of ``metrics.fairshare.penalty`` of the first ``resources`` resources.

    Penalties without weights ignore them.
    """
    columns = RESOURCES[:resources]

    def form(points: Floats, weights: Floats) -> Floats:
        return of_fractions(
            name,
            dict(zip(columns, points.T, strict=True)),
            weights=dict(zip(columns, weights.tolist(), strict=True)) if name in WEIGHTED else None,
            exempt=exempt,
        )

    return form


def rules(
    name: str, resources: int = 2, exempt: Collection[str] = ()
) -> tuple[PenaltyVerdict, ...]:
    """Return the five verdicts on a penalty of ``penalty.RELATIVE``, with all weights 1."""
    plain = named(name, resources, exempt)
    return check(plain, [named(form, resources, exempt) for form in FORMS[name]], resources)


def check(
    plain: Form, weighted: Sequence[Form] = (), resources: int = 2
) -> tuple[PenaltyVerdict, ...]:
    """Return the five verdicts on any penalty, in the order of the rules.

    Args:
        plain: the penalty, judged with all weights 1.
        weighted: its weighted forms, one of which must keep rule 5.
        resources: number of resources, 2 to 4.

    Raises ValueError if a penalty is not a number.
    """
    verdicts = check_at(plain, np.ones(resources))
    kept = [verdict.rule for verdict in verdicts if verdict.kept]
    faults = [_weights_at_fault(form, kept, resources) for form in weighted or [plain]]
    fifth = () if None in faults else tuple(fault for fault in faults if fault is not None)
    return (*verdicts, PenaltyVerdict(5, fifth))


def check_at(form: Form, weights: Floats) -> tuple[PenaltyVerdict, ...]:
    """Return the verdicts on rules 1 to 4 under these weights, one for each resource (2 to 4).

    Raises ValueError if a penalty is not a number.
    """
    at = _PenaltyAt(form, weights)
    witnesses = (_single(at), _ignored(at), _wrong_extremes(at), _bent(at))
    return tuple(
        PenaltyVerdict(rule, () if witness is None else (witness,))
        for rule, witness in enumerate(witnesses, 1)
    )


def linear_on_symmetric_line(form: Form, weights: Floats) -> bool:
    """Return whether P(t, …, t) = t, for t from 0 to 1."""
    t = np.arange(1_001) / 1_000
    points = np.repeat(t[:, np.newaxis], len(weights), axis=1)
    return bool((np.abs(form(points, weights) - t) <= TOLERANCE).all())


def weightings(resources: int) -> Iterator[Floats]:
    """Yield the weights of rule 5: one different, all equal, all different."""
    for weight in (2.0, 0.5, 10.0, 0.1):
        for resource in range(resources):
            weights = np.ones(resources)
            weights[resource] = weight
            yield weights
        yield np.full(resources, weight)
    yield np.arange(1.0, resources + 1)


class _PenaltyAt:
    """A penalty under fixed weights."""

    def __init__(self, form: Form, weights: Floats) -> None:
        self._form = form
        self._weights = weights
        self.resources = len(weights)
        self.grid = self._lattice(_LEVELS)  # an axis for each resource, then the fractions
        self.table = self.penalties(self.grid)

    def penalties(self, points: Floats) -> Floats:
        """Return the penalties of points whose last axis is the fractions."""
        points_in_rows = points.reshape(-1, self.resources)
        penalties = self._form(points_in_rows, self._weights)
        wrong = np.flatnonzero(~np.isfinite(penalties))
        if len(wrong):
            at = tuple(points_in_rows[wrong[0]].tolist())
            raise ValueError(f"the penalty of {at} is {penalties[wrong[0]]}, which is not a number")
        return penalties.reshape(points.shape[:-1])

    def sample(self, point: Floats) -> PenaltyPoint:
        fractions, weights = (tuple(values.tolist()) for values in (point, self._weights))
        return PenaltyPoint(fractions, weights, float(self.penalties(point[np.newaxis])[0]))

    def witness(self, says: str, points: Iterable[Floats]) -> PenaltyWitness:
        return PenaltyWitness(says, tuple(self.sample(point) for point in points))

    def lines(self, x: int, part: slice) -> tuple[Floats, Floats, Floats]:
        """Return the grid as lines along resource x: points, others' greatest fraction, penalties.

        The first axis is along a line, the second the lines.
        """
        inside = (part,) * self.resources
        table = np.moveaxis(self.table[inside], x, 0)
        points = np.moveaxis(self.grid[inside], x, 0).reshape(len(table), -1, self.resources)
        others: Floats = np.delete(points, x, axis=-1).max(axis=-1)
        return points, others, table.reshape(len(table), -1)

    def near(self) -> Floats:
        """Return the grid, and points near its faces, as rows."""
        parts = (self.grid, self._lattice(_NEAR))
        return np.concatenate([points.reshape(-1, self.resources) for points in parts])

    def spread(self, more: int) -> Floats:
        """Return points spread evenly over (0, 1), with ``more`` additional coordinates."""
        steps = np.sqrt(np.array([2.0, 3.0, 5.0, 7.0, 11.0]))[: self.resources + more]
        points: Floats = np.arange(1, _SPREAD + 1)[:, np.newaxis] * steps % 1.0
        return points

    def _lattice(self, levels: Floats) -> Floats:
        return np.stack(np.meshgrid(*[levels] * self.resources, indexing="ij"), axis=-1)


def _single(at: _PenaltyAt) -> PenaltyWitness | None:
    """Rule 1."""
    reads = [bool(np.ptp(at.table, axis=x).max() > TOLERANCE) for x in range(at.resources)]
    if sum(reads) > 1:
        return None
    points = (np.where(reads, 0.5, others) for others in (0.1, 0.9))
    return at.witness("the same, however much is used of the others", points)


def _ignored(at: _PenaltyAt) -> PenaltyWitness | None:
    """Rule 2."""
    says = "more of a nondominant resource does not cost more"
    least, pair = math.inf, at.grid[:2]
    for x in range(at.resources):
        points, others, penalties = at.lines(x, slice(1, -1))
        nondominant = points[1:, ..., x] < others[1:]
        growth = np.where(nondominant, np.diff(penalties, axis=0), math.inf)
        first, line = np.unravel_index(int(growth.argmin()), growth.shape)
        if growth[first, line] < least:
            least, pair = float(growth.min()), points[first : first + 2, line]
    if least <= TOLERANCE:
        return at.witness(says, pair)
    spread = at.spread(1)
    less = 0.01 + 0.98 * spread[:, : at.resources]
    part = 0.05 + 0.9 * spread[:, -1]
    for x in range(at.resources):
        gap = np.delete(less, x, axis=1).max(axis=1) - less[:, x]
        more = less.copy()
        more[:, x] += part * gap
        growth = np.where(gap > 0.001, at.penalties(more) - at.penalties(less), math.inf)
        row = int(growth.argmin())
        if growth[row] <= TOLERANCE:
            return at.witness(says, (less[row], more[row]))
    return None


def _wrong_extremes(at: _PenaltyAt) -> PenaltyWitness | None:
    """Rule 3."""
    points = at.near()
    penalty = at.penalties(points)
    all_of_one, nothing = (points == 1.0).any(axis=1), (points == 0.0).all(axis=1)
    # Distance from 1 where the penalty must be 1, and 1 where it must not be; 0 likewise.
    top, bottom = np.abs(penalty - 1.0), np.abs(penalty)
    for says, fault in (
        ("not 1, though all of a resource is used", np.where(all_of_one, top, 0.0)),
        ("1, though no resource is used up", (~all_of_one & (top <= TOLERANCE)) * 1.0),
        ("0, though something is used", (~nothing & (bottom <= TOLERANCE)) * 1.0),
        ("not 0, though nothing is used", np.where(nothing, bottom, 0.0)),
    ):
        place = int(fault.argmax())
        if fault[place] > TOLERANCE:
            return at.witness(says, [points[place]])
    return None


def _bent(at: _PenaltyAt) -> PenaltyWitness | None:
    """Rule 4."""
    says = "not halfway, where the dominant resource is halfway"
    for x in range(at.resources):
        points, others, penalties = at.lines(x, slice(None))
        dominant = points[:-2, ..., x] >= others[:-2]
        bend = np.where(dominant, np.abs(np.diff(penalties, n=2, axis=0)), 0.0)
        first, line = np.unravel_index(int(bend.argmax()), bend.shape)
        if bend.max() > 4.0 * TOLERANCE:
            return at.witness(says, points[first : first + 3, line])
    spread = at.spread(0)
    rest, part = spread[:, 1:], spread[:, 0]
    most = rest.max(axis=1)
    for x in range(at.resources):
        three = np.stack(
            [
                np.insert(rest, x, most + step * part * (1.0 - most), axis=1)
                for step in (0.0, 0.5, 1.0)
            ]
        )
        bend = np.abs(np.diff(at.penalties(three), n=2, axis=0))[0]
        row = int(bend.argmax())
        if bend[row] > 4.0 * TOLERANCE:
            return at.witness(says, three[:, row])
    return _not_homogeneous(at)


def _not_homogeneous(at: _PenaltyAt) -> PenaltyWitness | None:
    rows = at.grid.reshape(-1, at.resources)
    greatest, says, pair = TOLERANCE, "", rows[:2]
    for points, part in itertools.product((rows, at.spread(0)), (0.5, 0.1, 0.25, 0.9)):
        off = np.abs(at.penalties(part * points) - part * at.penalties(points))
        place = int(off.argmax())
        if off[place] > greatest:
            greatest, pair = float(off[place]), np.stack([points[place], part * points[place]])
            says = f"not {part:g} times, for {part:g} times as much"
    return at.witness(says, pair) if says else None


def _weights_at_fault(form: Form, kept: Sequence[int], resources: int) -> PenaltyWitness | None:
    """Rule 5, for one form."""
    ones = _PenaltyAt(form, np.ones(resources))
    change = 0.0
    for weights in weightings(resources):
        change = max(change, float(np.abs(_PenaltyAt(form, weights).table - ones.table).max()))
        for rule, witnesses in check_at(form, weights):
            if rule in kept and witnesses:
                says, samples = witnesses[0]
                return PenaltyWitness(f"weights break rule {rule}: {says}", samples)
    if change > TOLERANCE:
        return None
    point = np.full(resources, 0.1)
    point[0] = 0.5
    weighed = _PenaltyAt(form, next(weightings(resources)))
    return PenaltyWitness("weights change nothing", (ones.sample(point), weighed.sample(point)))

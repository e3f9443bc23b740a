"""Which of [M]'s five rules of fairness a penalty keeps, and where it breaks the others (SPEC §7).

For a penalty P of the fractions q_1 … q_r that an attempt holds of r resources, each from 0 to 1;
the *dominant* resource is one with the greatest fraction:

    1  multiple resources  P depends on more than one resource
    2  nondominant         P strictly grows in each nondominant q_x, for 0 < q < 1
    3  max-min             P = 1 iff some q_x = 1, and P = 0 iff all are 0
    4  linearity           P is affine in the dominant q_x, and P(λq) = λ P(q) for 0 < λ < 1
    5  weights             weights change P, and break no rule of 1 to 4 that P keeps without them

Rules 2 and 3 contradict each other where some q_x = 1, so 2 is asked inside. Rule 4 needs both of
its clauses: (7) is affine in each resource, (8) has P(λq) = λ P(q), and [M] fails them rightly.
Rules 3 and 4 together leave nothing but P = max q_x, which breaks rule 2: no penalty keeps all
(docs/penalties.md has the proof).

Conventions: a rule is *broken* where points are found that break it, and they are given, as a
witness that can be recomputed. It is *kept* where none is found: among all points with fractions
of 0, 0.1, … 1, points near 0 and 1, and 1,000 points spread evenly; by more than 1e-12. That is
evidence, not proof. Weights are tried that raise or lower one resource, or all.

*Linear on the symmetric line* is a penalty with P(t, …, t) = t: who asks for the same part of
everything cannot gain by splitting a job. [M §4] asks that much of ``root`` in place of rule 4.

Source: [M] D. Klusáček, H. Rudová, M. Jaroš, Multi Resource Fairness: Problems and Challenges, §3,
§4, Table 1.
"""

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.metrics.fairshare.penalty import RESOURCES, WEIGHTED, of_fractions

Floats = NDArray[np.float64]

Form = Callable[[Floats, Floats], Floats]
"""P of points under weights: fractions (n × r) and weights (r), to n penalties."""

RULES: Final = {
    1: "multiple resources",
    2: "nondominant resources",
    3: "max-min penalty",
    4: "linearity",
    5: "weights",
}

FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "cpu": (),
    "max": ("max_capped", "max_scaled"),
    "max_capped": ("max_capped",),
    "max_scaled": ("max_scaled",),
    "product": ("product_weighted",),
    "product_weighted": ("product_weighted",),
    "sum": ("sum_weighted",),
    "sum_weighted": ("sum_weighted",),
    "root": ("root_weighted",),
    "root_weighted": ("root_weighted",),
    "pe": ("max_capped", "max_scaled"),
}
"""By penalty: the forms that give it weights."""

TOLERANCE: Final = 1e-12
_LEVELS: Final = np.arange(11) / 10
_NEAR: Final = np.array([0.0, 0.001, 0.5, 0.999, 1.0])
_SPREAD: Final = 1_000


class Sample(NamedTuple):
    """A penalty at a point."""

    fractions: tuple[float, ...]
    weights: tuple[float, ...]
    penalty: float


class Witness(NamedTuple):
    """What breaks a rule."""

    says: str
    """In a clause."""
    samples: tuple[Sample, ...]


class Verdict(NamedTuple):
    """Whether a rule is kept."""

    rule: int
    kept: bool
    witnesses: tuple[Witness, ...]
    """None where it is kept; of rule 5, one for each form that gives weights."""


class SymmetricLine(NamedTuple):
    """A penalty where an attempt holds the same part of everything."""

    linear: bool
    deviation: float
    """Greatest |P(t, …, t) − t|."""
    furthest: Sample
    """Where that is."""


def named(name: str, resources: int = 2, exempt: Collection[str] = ()) -> Form:
    """A penalty of ``metrics.fairshare.penalty`` of the first ``resources`` of its resources.

    Weights change nothing where the penalty has none.
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


def rules(name: str, resources: int = 2, exempt: Collection[str] = ()) -> tuple[Verdict, ...]:
    """The five verdicts on a penalty of ``metrics.fairshare.penalty``.

    Args:
        name: one of ``penalty.RELATIVE``; without weights it is judged with all weights 1.
        resources: how many resources there are, 2 to 4.
    """
    plain = named(name, resources, exempt)
    return check(plain, [named(form, resources, exempt) for form in FORMS[name]], resources)


def check(plain: Form, weighted: Sequence[Form] = (), resources: int = 2) -> tuple[Verdict, ...]:
    """The five verdicts on any penalty, in the order of the rules.

    Args:
        plain: the penalty; judged with all weights 1.
        weighted: its forms with weights, of which one must keep rule 5; left out, it has none.
        resources: how many resources there are, 2 to 4.

    Raises:
        ValueError: the number of resources is out of range, or a penalty is not a number.
    """
    if not 2 <= resources <= len(RESOURCES):
        raise ValueError(f"resources = {resources}: from 2 to {len(RESOURCES)}")
    ones = np.ones(resources)
    verdicts = check_at(plain, ones)
    kept = [verdict.rule for verdict in verdicts if verdict.kept]
    faults = [_weights_at_fault(form, kept, resources) for form in weighted or [plain]]
    if None in faults:
        return (*verdicts, Verdict(5, True, ()))
    return (*verdicts, Verdict(5, False, tuple(fault for fault in faults if fault is not None)))


def check_at(form: Form, weights: Floats) -> tuple[Verdict, ...]:
    """The verdicts on rules 1 to 4 under these weights, one for each resource (2 to 4).

    Raises:
        ValueError: a penalty is not a number.
    """
    at = _At(form, weights)
    witnesses = (_single(at), _ignored(at), _wrong_extremes(at), _bent(at))
    return tuple(
        Verdict(rule, witness is None, () if witness is None else (witness,))
        for rule, witness in enumerate(witnesses, 1)
    )


def symmetric_line(form: Form, weights: Floats) -> SymmetricLine:
    """How far P(t, …, t) strays from t, for t from 0 to 1."""
    t = np.arange(1_001) / 1_000
    at = _At(form, weights)
    points = np.repeat(t[:, np.newaxis], len(weights), axis=1)
    off = np.abs(at.penalties(points) - t)
    furthest = int(off.argmax())
    deviation = float(off[furthest])
    return SymmetricLine(deviation <= TOLERANCE, deviation, at.sample(points[furthest]))


def weightings(resources: int) -> Iterator[Floats]:
    """The weights that rule 5 is tried with: of one resource apart, of all alike, all different."""
    for weight in (2.0, 0.5, 10.0, 0.1):
        for resource in range(resources):
            weights = np.ones(resources)
            weights[resource] = weight
            yield weights
        yield np.full(resources, weight)
    yield np.arange(1.0, resources + 1)


class _Lines(NamedTuple):
    """The grid as lines along one resource."""

    levels: Floats
    """Fractions of that resource."""
    rest: Floats
    """Fractions of the others, last axis; the axes before are those of the grid."""
    penalties: Floats
    """Its first axis is along the line."""

    @property
    def column(self) -> Floats:
        """The levels, to be compared with ``most``."""
        return self.levels.reshape([-1] + [1] * self.most.ndim)

    @property
    def most(self) -> Floats:
        """The greatest fraction of the others."""
        greatest: Floats = self.rest.max(axis=-1)
        return greatest

    def points(self, place: Sequence[int], x: int, count: int) -> list[Floats]:
        """``count`` points of a line in a row, from ``place`` on."""
        first, *line = place
        rest = self.rest[tuple(line)]
        return [np.insert(rest, x, self.levels[first + step]) for step in range(count)]


class _At:
    """A penalty under fixed weights."""

    def __init__(self, form: Form, weights: Floats) -> None:
        self._form = form
        self._weights = weights
        self.resources = len(weights)
        self.grid = self._lattice(_LEVELS)
        self.table = self.penalties(self.grid).reshape([len(_LEVELS)] * self.resources)
        """Penalties of the grid, an axis for each resource."""

    def penalties(self, points: Floats) -> Floats:
        penalties = self._form(points, self._weights)
        wrong = np.flatnonzero(~np.isfinite(penalties))
        if len(wrong):
            at = tuple(points[wrong[0]].tolist())
            raise ValueError(f"the penalty of {at} is {penalties[wrong[0]]}, which is no number")
        return penalties

    def sample(self, point: Floats) -> Sample:
        [penalty] = self.penalties(point[np.newaxis])
        return Sample(tuple(point.tolist()), tuple(self._weights.tolist()), float(penalty))

    def witness(self, says: str, points: Iterable[Floats]) -> Witness:
        return Witness(says, tuple(self.sample(point) for point in points))

    def lines(self, x: int, *, inside: bool) -> _Lines:
        """The grid along resource x; ``inside``: without its faces, where a fraction is 0 or 1."""
        part = slice(1, -1) if inside else slice(None)
        levels = _LEVELS[part]
        axes = np.meshgrid(*[levels] * (self.resources - 1), indexing="ij")
        table = self.table[(part,) * self.resources]
        return _Lines(levels, np.stack(axes, axis=-1), np.moveaxis(table, x, 0))

    def near(self) -> Floats:
        """The grid, and points near its faces."""
        return np.concatenate([self.grid, self._lattice(_NEAR)])

    def spread(self, more: int) -> Floats:
        """Points spread evenly over (0, 1), with ``more`` coordinates than there are resources."""
        steps = np.sqrt(np.array([2.0, 3.0, 5.0, 7.0, 11.0]))[: self.resources + more]
        points: Floats = np.arange(1, _SPREAD + 1)[:, np.newaxis] * steps % 1.0
        return points

    def _lattice(self, levels: Floats) -> Floats:
        axes = np.meshgrid(*[levels] * self.resources, indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=1)


def _single(at: _At) -> Witness | None:
    """Rule 1."""
    reads = [bool(np.ptp(at.table, axis=x).max() > TOLERANCE) for x in range(at.resources)]
    if sum(reads) > 1:
        return None
    points = (np.where(reads, 0.5, others) for others in (0.1, 0.9))
    return at.witness("the same, however much is used of the others", points)


def _ignored(at: _At) -> Witness | None:
    """Rule 2."""
    says = "more of a nondominant resource does not cost more"
    least, pair = math.inf, [at.grid[0]]
    for x in range(at.resources):
        lines = at.lines(x, inside=True)
        nondominant = lines.column[1:] < lines.most
        growth = np.where(nondominant, np.diff(lines.penalties, axis=0), math.inf)
        place = _first(growth == growth.min())
        if growth[place] < least:
            least, pair = float(growth[place]), lines.points(place, x, 2)
    if least <= TOLERANCE:
        return at.witness(says, pair)
    spread = at.spread(1)
    less = 0.01 + 0.98 * spread[:, : at.resources]
    part = 0.05 + 0.9 * spread[:, -1]
    for x in range(at.resources):
        room = np.delete(less, x, axis=1).max(axis=1) - less[:, x]
        more = less.copy()
        more[:, x] += part * room
        growth = np.where(room > 0.001, at.penalties(more) - at.penalties(less), math.inf)
        row = int(growth.argmin())
        if growth[row] <= TOLERANCE:
            return at.witness(says, (less[row], more[row]))
    return None


def _wrong_extremes(at: _At) -> Witness | None:
    """Rule 3."""
    points = at.near()
    penalty = at.penalties(points)
    all_of_one = (points == 1.0).any(axis=1)
    nothing = (points == 0.0).all(axis=1)
    # How far from 1 where it must be, and 1 for what is 1 and must not be; 0 likewise.
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


def _bent(at: _At) -> Witness | None:
    """Rule 4."""
    return _not_affine(at) or _not_homogeneous(at)


def _not_affine(at: _At) -> Witness | None:
    says = "not halfway, where the dominant resource is halfway"
    for x in range(at.resources):
        lines = at.lines(x, inside=False)
        dominant = lines.column[:-2] >= lines.most
        bend = np.where(dominant, np.abs(np.diff(lines.penalties, n=2, axis=0)), 0.0)
        if bend.max() > 4.0 * TOLERANCE:
            return at.witness(says, lines.points(_first(bend == bend.max()), x, 3))
    spread = at.spread(0)
    rest, part = spread[:, 1:], spread[:, 0]
    most = rest.max(axis=1)
    for x in range(at.resources):
        three = [
            np.insert(rest, x, most + step * part * (1.0 - most), axis=1)
            for step in (0.0, 0.5, 1.0)
        ]
        bend = np.abs(np.diff([at.penalties(points) for points in three], n=2, axis=0))[0]
        row = int(bend.argmax())
        if bend[row] > 4.0 * TOLERANCE:
            return at.witness(says, (points[row] for points in three))
    return None


def _not_homogeneous(at: _At) -> Witness | None:
    spread = at.spread(0)
    worst: tuple[float, float, Floats] | None = None
    for points, part in itertools.product((at.grid, spread), (0.5, 0.1, 0.25, 0.9)):
        off = np.abs(at.penalties(part * points) - part * at.penalties(points))
        place = int(off.argmax())
        if off[place] > TOLERANCE and (worst is None or off[place] > worst[0]):
            worst = float(off[place]), part, points[place]
    if worst is None:
        return None
    _, part, point = worst
    return at.witness(f"not {part:g} times, for {part:g} times as much", (point, part * point))


def _weights_at_fault(form: Form, kept: Sequence[int], resources: int) -> Witness | None:
    """Rule 5, for one form."""
    ones = _At(form, np.ones(resources))
    change = 0.0
    for weights in weightings(resources):
        at = _At(form, weights)
        change = max(change, float(np.abs(at.table - ones.table).max()))
        for verdict in check_at(form, weights):
            if verdict.rule in kept and not verdict.kept:
                [witness] = verdict.witnesses
                return Witness(
                    f"weights break rule {verdict.rule}: {witness.says}", witness.samples
                )
    if change > TOLERANCE:
        return None
    point = np.full(resources, 0.1)
    point[0] = 0.5
    weighed = _At(form, next(weightings(resources)))
    return Witness("weights change nothing", (ones.sample(point), weighed.sample(point)))


def _first(flags: NDArray[np.bool_]) -> tuple[int, ...]:
    """Where the first true element is."""
    return tuple(int(i) for i in np.unravel_index(int(flags.argmax()), flags.shape))

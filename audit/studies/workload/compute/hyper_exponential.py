"""The two-phase hyper-exponential distribution: fits to whole seconds, and their goodness.

With probability p a value is drawn from an exponential distribution of mean a, else from one of
mean b ≥ a:

    F(x) = 1 − p·e^(−x/a) − (1−p)·e^(−x/b)        mean = p·a + (1−p)·b

Logs have whole seconds, and as exact values the many gaps of 0 would make the likelihood infinite.
So x s means [x − ½, x + ½) s (0 s: [0, ½)), and the likelihood is that of intervals; from 20 s on
these are grouped, by steps of a twentieth. Expectation and maximisation maximise it from two
starts: balanced means (p·a = (1−p)·b) with the sample's mean and variation, and the means of the
sample's lower and upper half.

**Goodness of fit** is the greatest distance of the sample's F from the fitted one (Kolmogorov and
Smirnov), at the ends of these intervals. Its p-value is that of a parametric bootstrap with a fit
for each sample, because tables of that test do not hold for fitted parameters.

Sources: A. P. Dempster, N. M. Laird, D. B. Rubin, Maximum Likelihood from Incomplete Data via the
EM Algorithm (1977); W. Whitt, Approximating a Point Process by a Renewal Process (1982), for
balanced means; W. Stute et al., Bootstrap based goodness-of-fit tests (1993); [B] §3.3.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, NamedTuple, Self

import numpy as np
from pydantic import ConfigDict, Field, model_validator

from audit.array_types import Floats, Ints
from audit.metrics.quantiles import exact_sum

LEAST_S: Final = 0.1
"""Least mean of a phase, s: whole seconds do not resolve smaller ones."""
FEW: Final = 20
"""Fewer values get the exponential distribution of their mean instead of a fit."""
NO_GAIN: Final = 0.1
"""A fit with a smaller gain of log-likelihood is replaced by the exponential distribution."""
RESAMPLES: Final = 99
"""Resamples of the bootstrap: its smallest p-value is one in a hundred."""

_SETTLED: Final = 1e-7  # relative change of the parameters below which a fit has converged
_ROUNDS: Final = 1_000
_ROUNDS_AGAIN: Final = 200  # from the fit on, which is close
_TINY: Final = 1e-300


class HyperExponential(NamedTuple):
    """A distribution of durations; exponential if both means are equal."""

    p: float  # share of the values from the phase with the smaller mean
    short_s: float  # a: the smaller mean, s, > 0
    long_s: float  # b: the greater mean, s, ≥ a

    @property
    def mean_s(self) -> float:
        """Mean, s."""
        return self.p * self.short_s + (1 - self.p) * self.long_s

    @property
    def variation(self) -> float:
        """Coefficient of variation: standard deviation by mean, ≥ 1; 1 if exponential."""
        square = 2 * (self.p * self.short_s**2 + (1 - self.p) * self.long_s**2)
        return float(np.sqrt(max(square / self.mean_s**2 - 1, 0.0)))

    def cdf(self, seconds: Floats) -> Floats:
        """Return F at each of ``seconds`` ≥ 0."""
        stays = self.p * np.exp(-seconds / self.short_s)
        return 1 - stays - (1 - self.p) * np.exp(-seconds / self.long_s)

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Return ``count`` independent values, s."""
        short = rng.random(count) < self.p
        values: Floats = rng.exponential(1.0, count) * np.where(short, self.short_s, self.long_s)
        return values

    def residual(self) -> "HyperExponential":
        """Return the distribution of the rest of a gap at a random instant.

        P(phase) is in proportion to its share of the time, p·a and (1−p)·b.
        """
        return self._replace(p=self.p * self.short_s / self.mean_s)


STRICT: Final = ConfigDict(strict=True, allow_inf_nan=False)
"""Of what is read from the file of a model."""
Part = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedDistribution:
    """A distribution fitted to a sample, and the goodness of the fit."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    p: Part  # this and the next two: as of ``HyperExponential``
    short_s: Annotated[float, Field(ge=LEAST_S)]
    long_s: float
    distance: Part  # Kolmogorov–Smirnov
    p_value: Part | None = None  # chance of a greater distance under the fit; None: not fitted
    exponential_distance: Part  # from the exponential distribution of the same mean
    gain: Annotated[float, Field(ge=0)]
    """Log-likelihood of the fit − that of the exponential distribution."""

    @model_validator(mode="after")
    def _short_first(self) -> Self:
        if self.long_s < self.short_s:
            raise ValueError(f"long_s ({self.long_s:g}) is below short_s ({self.short_s:g})")
        return self

    @property
    def distribution(self) -> HyperExponential:
        """The distribution."""
        return HyperExponential(self.p, self.short_s, self.long_s)


def fit(seconds: Ints, seed: int, resamples: int = RESAMPLES) -> FittedDistribution:
    """Fit a two-phase hyper-exponential distribution to whole seconds ≥ 0.

    ``seed`` is that of the bootstrap (PCG64).

    Raises ValueError if there is no value, or a negative one.
    """
    if len(seconds) == 0 or seconds.min() < 0:
        raise ValueError("a fit needs values, of 0 s or more")
    edges = grid(int(seconds.max()))
    place = np.searchsorted(edges, seconds.astype(np.float64), side="right") - 1
    counts = np.bincount(place, minlength=len(edges) - 1).astype(np.float64)
    mean = max(exact_sum(seconds.astype(np.float64)) / len(seconds), LEAST_S)
    flat = HyperExponential(1.0, mean, mean)
    apart = _distance(flat, counts, edges)
    if len(seconds) < FEW:
        return FittedDistribution(
            **flat._asdict(), distance=apart, exponential_distance=apart, gain=0.0
        )
    starts = _starts(seconds, mean)
    climbed, likelihood = _climb(np.repeat(counts[None], len(starts), axis=0), edges, starts)
    flat_likelihood = float(_log_likelihood(counts[None], edges, np.array([flat]))[0])
    best = int(np.argmax(likelihood))
    if likelihood[best] < flat_likelihood + NO_GAIN:  # varies no more than an exponential one
        chosen, gain = flat, 0.0
    else:
        chosen = HyperExponential(*(float(value) for value in climbed[best]))
        gain = float(likelihood[best]) - flat_likelihood
    distance = _distance(chosen, counts, edges)
    p_value = _p_value(chosen, distance, len(seconds), edges, seed, resamples)
    return FittedDistribution(
        **chosen._asdict(),
        distance=distance,
        p_value=p_value,
        exponential_distance=apart,
        gain=gain,
    )


def grid(greatest: int) -> Floats:
    """Return the ends of the intervals of values: 0, ½, 1½, …, then by a twentieth; last ∞.

    ``greatest``, whole seconds ≥ 0, is below the last interval.
    """
    edges = [0.0, 0.5]
    while edges[-1] <= greatest:
        edges.append(max(edges[-1] + 1, np.floor(edges[-1] * 1.05) + 0.5))
    return np.array([*edges, np.inf])


def _distance(fitted: HyperExponential, counts: Floats, edges: Floats) -> float:
    sample = np.cumsum(counts[:-1]) / counts.sum()
    return float(np.abs(sample - fitted.cdf(edges[1:-1])).max())


def _starts(seconds: Ints, mean: float) -> Floats:
    """Return the starts of the maximisation: rows of p, a, b."""
    values = np.sort(seconds).astype(np.float64)
    square = max(float(np.var(values)) / mean**2, 1.2)  # of the coefficient of variation
    share = (1 + np.sqrt((square - 1) / (square + 1))) / 2
    half = len(values) // 2
    low, high = (exact_sum(part) / len(part) for part in (values[:half], values[half:]))
    return np.array(
        [
            [share, max(mean / (2 * share), LEAST_S), max(mean / (2 * (1 - share)), LEAST_S)],
            [0.5, max(low, LEAST_S), max(high, 2 * LEAST_S)],
        ]
    )


def _climb(
    counts: Floats, edges: Floats, starts: Floats, rounds: int = _ROUNDS
) -> tuple[Floats, Floats]:
    """Return p, a, b with a ≤ b of greatest likelihood, (rows, 3), and log-likelihoods, (rows,).

    Counts are (rows, intervals), ``starts`` (rows, 3).
    """
    reached = starts.copy()
    moving = np.arange(len(reached))
    for _ in range(rounds):
        was = reached[moving]
        now = _round(counts[moving], edges, was)
        reached[moving] = now
        moving = moving[(np.abs(now - was) > _SETTLED * np.abs(was)).any(axis=1)]
        if not len(moving):
            break
    swapped = reached[:, 1] > reached[:, 2]
    reached[swapped] = np.column_stack(
        (1 - reached[swapped, 0], reached[swapped, 2], reached[swapped, 1])
    )
    return reached, _log_likelihood(counts, edges, reached)


def _round(counts: Floats, edges: Floats, at: Floats) -> Floats:
    total = counts.sum(axis=1)
    masses = [_mass(edges, at[:, phase]) for phase in (1, 2)]
    short = at[:, :1] * masses[0]
    both = np.maximum(short + (1 - at[:, :1]) * masses[1], _TINY)
    of_short = counts * short / both
    parts = (of_short, counts - of_short)
    numbers = [part.sum(axis=1) for part in parts]
    means = [
        np.where(
            number > _TINY,
            (part * _expected(edges, at[:, phase])).sum(axis=1) / np.maximum(number, _TINY),
            at[:, phase],
        )
        for phase, part, number in zip((1, 2), parts, numbers, strict=True)
    ]
    return np.column_stack((numbers[0] / total, *(np.maximum(mean, LEAST_S) for mean in means)))


def _mass(edges: Floats, mean: Floats) -> Floats:
    """Return P of each interval under exponential distributions, (rows, intervals)."""
    left = np.exp(-edges[None, :] / mean[:, None])
    return left[:, :-1] - left[:, 1:]


def _expected(edges: Floats, mean: Floats) -> Floats:
    """Return E of a value in each interval from a of width w: a + m − w/(e^(w/m) − 1)."""
    width = np.diff(edges)[:-1]
    with np.errstate(over="ignore"):
        less = width / np.expm1(width / mean[:, None])
    inside = edges[:-2] + mean[:, None] - less
    return np.column_stack((inside, edges[-2] + mean))


def _log_likelihood(counts: Floats, edges: Floats, at: Floats) -> Floats:
    short, long = (_mass(edges, at[:, phase]) for phase in (1, 2))
    mass = np.maximum(at[:, :1] * short + (1 - at[:, :1]) * long, _TINY)
    likelihood: Floats = (counts * np.log(mass)).sum(axis=1)
    return likelihood


def _p_value(
    fitted: HyperExponential, distance: float, count: int, edges: Floats, seed: int, resamples: int
) -> float:
    rng = np.random.Generator(np.random.PCG64(seed))
    mass = np.diff(np.append(fitted.cdf(edges[:-1]), 1.0))
    counts = rng.multinomial(count, mass / mass.sum(), resamples).astype(np.float64)
    if fitted.short_s == fitted.long_s:
        start = np.array([0.5, fitted.short_s * 0.7, fitted.long_s * 1.3])
    else:
        start = np.array(fitted)
    refitted, _ = _climb(counts, edges, np.repeat(start[None], resamples, axis=0), _ROUNDS_AGAIN)
    far = sum(
        _distance(HyperExponential(*(float(value) for value in row)), drawn, edges) >= distance
        for row, drawn in zip(refitted, counts, strict=True)
    )
    return (1 + far) / (1 + resamples)

"""Usage on the page: cautions, findings, and charts of fractions of all usage."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from audit.report import wording
from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import EARLIER, INK, SERIES, SHAPES, Chart
from audit.report.contents import Contents
from audit.report.figures import Figure
from audit.report.finding import MANY, Kind, Notice, Place, Subject, subject_of
from audit.report.sections.usage.record import (
    Charge,
    DecayedUsage,
    Occupied,
    PenaltyChoice,
    UsageLine,
    UsageOf,
)
from audit.report.source import ReportSection
from audit.store.database import quote_text

_MOST: Final = 0.5
_DAY_S: Final = 86_400


def of_usage(contents: Contents) -> Iterator[Notice]:
    """Yield the settings of usage and targets under which priorities mean little."""
    if contents.empty:
        return
    for of in contents.usages:
        if of.nothing:
            yield Notice(
                "The configured penalty charged no usage in this period, so ranks and priorities "
                "depend on the targets alone.",
                grave=True,
            )
            continue
        for kind in (of.accounts, of.users):
            yield from _of_targets(kind)
        if of.targets:
            yield from _of_decay(of, contents)
    for charge in contents.charges:
        if charge.charged:
            yield from _of_amounts(charge)


def _of_targets(of: UsageOf) -> Iterator[Notice]:
    if of.targets == 1:
        yield Notice(
            f"Only one {of.kind} has a target. Its priority means nothing without others to "
            "compare it with."
        )
    elif of.targets and of.different == 1:
        yield Notice(
            f"All {wording.plural(of.targets, of.kind)} have the same target, so ranks depend on "
            "usage alone."
        )
    if of.unused > _MOST:
        yield Notice(
            f"{wording.percent(of.unused)} of all targets belong to {of.kind}s that used nothing "
            "in this period. Nearly all others are therefore above their targets, which is not "
            "unfair by itself."
        )
    if of.by_without > MANY:
        yield Notice(
            f"{wording.percent(of.by_without)} of all usage is by "
            f"{wording.plural(of.without, of.kind)} without a target, while others have one; these "
            f"{of.kind}s have no priority.",
            grave=of.by_without > _MOST,
        )


def _of_decay(of: DecayedUsage, contents: Contents) -> Iterator[Notice]:
    decay = _Decay.of(of.settings)
    if decay is None:
        return
    if decay.factor is not None and decay.factor > 1:
        yield Notice(
            f"Older usage counts more than recent usage (decay {decay.factor:g}): past usage "
            "lowers a priority more than present usage."
        )
    if decay.factor == 0 and len(decay.weights) > 1:
        yield Notice("With a decay of 0, only the latest of the configured windows counts.")
    longest = max((pool.figure("wait_mean").value or 0.0 for pool in contents.pools), default=0.0)
    if decay.memory_s < longest:
        yield Notice(
            f"Usage is forgotten after {wording.duration(decay.memory_s)}, which is less than the "
            f"mean wait ({wording.duration(longest)}): when a job starts, its user's earlier usage "
            "no longer counts.",
            grave=True,
        )
    starts = [charge.first_start for charge in contents.charges if charge.first_start is not None]
    if starts and (before := decay.weight_before(of.as_of - min(starts))) > _MOST:
        yield Notice(
            f"{wording.percent(before)} of the weight of usage is from before the log begins "
            f"({wording.instant(min(starts), contents.span.zone)}). That usage is unknown and "
            "counts as zero."
        )


class _Decay(NamedTuple):
    """The weight of usage by age; without windows, a half-life."""

    interval_s: float  # of a window; or the half-life
    weights: tuple[float, ...] = ()  # of windows, the latest first
    factor: float | None = None  # weight of a window divided by that of the next later one

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> "_Decay | None":
        """Return the decay of some settings; None if it is unknown, or Slurm's own."""
        try:
            if settings["method"] == "windows":
                factor = float(str(settings["decay"]))
                weights = tuple(factor**i for i in range(int(str(settings["depth"]))))
                return cls(float(str(settings["interval_days"])) * _DAY_S, weights, factor)
            half_life_s = float(str(settings["half_life_days"])) * _DAY_S
        except (KeyError, ValueError, OverflowError):
            return None
        return None if half_life_s == 0 or settings.get("slurm_conf") else cls(half_life_s)

    @property
    def memory_s(self) -> float:
        """The half-life, or the age at which usage has no weight any more."""
        if self.factor is None:
            return self.interval_s
        ages = (age for age, weight in enumerate(self.weights, start=1) if weight > 0)
        return self.interval_s * max(ages, default=0)

    def weight_before(self, age_s: float) -> float:
        """Return the share of all weight that older usage has."""
        age = age_s / self.interval_s
        if self.factor is None:
            return float(2.0 ** -max(age, 0.0))
        younger = sum(weight * min(max(age - i, 0.0), 1.0) for i, weight in enumerate(self.weights))
        total = sum(self.weights)
        return 1.0 - younger / total if total > 0 else 0.0


def _of_amounts(charge: Charge) -> Iterator[Notice]:
    if not charge.attempts:
        return
    what = wording.resources(charge.resource)
    unknown, clipped = charge.unknown / charge.attempts, charge.clipped / charge.attempts
    where = f"of the attempts in pool {wording.name(charge.pool)}"
    if unknown > MANY:
        yield Notice(
            f"The log does not state the {what} of {wording.percent(unknown)} {where}: usage "
            "counts none for them.",
            grave=unknown > _MOST,
        )
    if clipped > MANY:
        yield Notice(
            f"{wording.percent(clipped)} {where} had more {what} than the pool has: usage counts "
            "them as having all of it.",
            grave=clipped > _MOST,
        )


def off_target(contents: Contents, place: Place, measure: str, *, side: str) -> Iterator[Subject]:
    """Yield the entity furthest below or above its target, by each method."""
    for number, of in enumerate(contents.usages, start=1):
        kind = of.accounts if of.accounts.targets else of.users
        row = kind.below if side == "below" else kind.above
        if row is None or not row.share:
            continue
        gap = abs(row.mean - row.share)
        yield Subject(
            kind.kind,
            row.name,
            {
                "subject": subject_of(kind.kind, row.name),
                "mean": wording.rough_percent(row.mean),
                "share": wording.rough_percent(row.share),
            },
            Figure,
            effect=gap,
            sure=gap,
            part=row.share if side == "below" else row.mean,
            anchor=f"usage-{number}",
            sql=(
                "SELECT as_of, entity, usage_fraction, share FROM fairshare_history "  # noqa: S608
                f"WHERE cluster = {quote_text(contents.cluster)} "
                f"AND entity_kind = '{kind.kind}' AND method = '{of.method}' ORDER BY as_of, entity"
            ),
        )


KINDS: Final = (
    Kind(
        partial(off_target, side="below"),
        "",
        "usage against targets",
        "usage",
        "{subject} was furthest below its target: {mean} of all usage against {share}.",
        "Check whether it requested less; if not, check its priority.",
        of_pool=False,
    ),
    Kind(
        partial(off_target, side="above"),
        "",
        "usage against targets",
        "usage",
        "{subject} was furthest above its target: {mean} of all usage against {share}.",
        "No action is needed unless others are below their targets because of it.",
        of_pool=False,
    ),
)


_NAME: Final = 24
_ROWS: Final = 12
_MEAN: Final = Series("mean of the period, lowest to highest day", EARLIER)
_TARGET: Final = Series("target", INK, "bar")


def usage(of: DecayedUsage) -> Chart | None:
    """Draw the usage fractions of the entities with the largest usage, and their targets."""
    drawn = of.series
    if drawn is None or not drawn.days:
        return None
    pairs = _named(drawn.kind, drawn.lines)
    rows, words = [], []
    for label, line in pairs:
        mean, least, most = map(wording.percent, (_mean(line), min(line.values), max(line.values)))
        tip = f"{label}: mean {mean}, {least} to {most}"
        made = [Dot(0, _mean(line), min(line.values), max(line.values), tip)]
        read = f"{label} {mean}"
        if line.share is not None:
            target = wording.percent(line.share)
            made.append(Dot(1, line.share, tip=f"{label}: target {target}"))
            read += f" against a target of {target}"
        rows.append(DotRow(label, tuple(made), mean))
        words.append(read)
    aimed = any(line.share is not None for line in drawn.lines)
    ends = [max(line.values) for line in drawn.lines] + [line.share or 0.0 for line in drawn.lines]
    axis = scales.shares(ends, title="Fraction of all usage")
    weekly = "weekly mean" if drawn.weekly else "day"
    return Chart(
        "usage",
        _usage_title(drawn.kind, pairs),
        f"Dots. Fraction of all usage by {drawn.kind}, {drawn.days[0]} to {drawn.days[-1]}; "
        f"mean over the period: {'; '.join(words)}.",
        *dots.drawn(rows, dots.Looks((_MEAN, _TARGET) if aimed else (_MEAN,), axis)),
        f"Dots: mean of the period; lines: lowest to highest {weekly}.",
    )


def _mean(line: UsageLine) -> float:
    return sum(line.values) / len(line.values)


def _usage_title(kind: str, pairs: Sequence[tuple[str, UsageLine]]) -> str:
    """Return the entity furthest from its target or, without targets, with the largest usage."""
    aimed = [pair for pair in pairs if pair[1].share is not None]
    if aimed:
        label, line = max(aimed, key=lambda pair: abs(_mean(pair[1]) - (pair[1].share or 0.0)))
        return (
            f"{wording.first_upper(kind)} {label} had {wording.percent(_mean(line))} of all usage, "
            f"with a target of {wording.percent(line.share)}"
        )
    single = [pair for pair in pairs if not pair[1].others] or list(pairs)
    label, line = max(single, key=lambda pair: _mean(pair[1]))
    share = wording.percent(_mean(line))
    return f"{wording.first_upper(kind)} {label} used most: {share} of all usage"


def _named(kind: str, of: Sequence[UsageLine]) -> list[tuple[str, UsageLine]]:
    labels = wording.distinct(
        f"{wording.plural(line.others, f'other {kind}')} together"
        if line.others
        else wording.name(line.name, _NAME)
        for line in of
    )
    return list(zip(labels, of, strict=True))


def occupied(of: Occupied | None) -> Chart | None:
    """Draw the fractions of each resource that entities occupied."""
    if of is None:
        return None
    pairs = _named(of.kind, of.lines)
    resources = [wording.resources(name) for name in of.resources]
    shown = {label: line.values for label, line in pairs}
    targets = {label: line.share for label, line in pairs if line.share is not None}
    words = "; ".join(
        f"{label} "
        + ", ".join(
            f"{wording.percent(part)} of the {name}"
            for name, part in zip(resources, line.values, strict=True)
        )
        for label, line in pairs
    )
    note = f"Fraction of each resource that {of.kind}s occupied"
    title = note
    if single := [pair for pair in pairs if not pair[1].others]:
        # No single table shows whose fractions differ most.
        label, line = max(single, key=lambda pair: max(pair[1].values) - min(pair[1].values))
        most, least = (line.values.index(pick(line.values)) for pick in (max, min))
        if most != least:
            used = [
                f"{wording.percent(line.values[at])} of the {resources[at]}" for at in (most, least)
            ]
            title = f"{wording.first_upper(of.kind)} {label} occupied {' and '.join(used)}"
    return Chart(
        "occupied",
        title,
        f"Dots. Fraction of each resource by {of.kind} over the period: {words}.",
        *_dots(
            shown, [*map(wording.first_upper, resources)], "Fraction of what was occupied", targets
        ),
        f"{note} in the period.",
    )


def penalties(of: PenaltyChoice | None) -> Chart | None:
    """Draw usage fractions by penalty, of the entities on which the penalty has most effect."""
    if of is None or not (moving := of.moving).rows:
        return None
    rows = moving.rows[:_ROWS]
    labels = wording.distinct(wording.name(row.name, _NAME) for row in rows)
    shown = {label: row.parts for label, row in zip(labels, rows, strict=True)}
    words = [
        f"{label} {wording.percent(row.parts[0])} by {of.penalties[0]}, "
        f"{wording.percent(row.parts[row.furthest])} by {of.penalties[row.furthest]}"
        for label, row in zip(labels, rows, strict=True)
    ]
    return Chart(
        "penalties",
        f"The penalty has most effect on {moving.kind} {words[0]}",
        f"Dots. {'; '.join(words)}.",
        *_dots(shown, list(of.penalties), "Fraction of all usage", {}),
        f"Fraction of all usage by penalty, of the {moving.kind}s on which it has most effect.",
    )


def _dots(
    shown: Mapping[str, Sequence[float]],
    titles: Sequence[str],
    axis_title: str,
    targets: Mapping[str, float],
) -> tuple[str, int]:
    """Draw a row of dots for each label, one for each title, and a bar for its target."""
    kinds = [
        Series(title, SERIES[number % len(SERIES)], SHAPES[number % len(SHAPES)])
        for number, title in enumerate(titles)
    ]
    rows = []
    for label, parts in shown.items():
        made = [
            Dot(number, part, tip=f"{label}, {title}: {wording.percent(part)}")
            for number, (title, part) in enumerate(zip(titles, parts, strict=True))
        ]
        if label in targets:
            tip = f"{label}: target {wording.percent(targets[label])}"
            made.append(Dot(len(kinds), targets[label], tip=tip))
        rows.append(DotRow(label, tuple(made)))
    values = [part for parts in shown.values() for part in parts] + list(targets.values())
    axis = scales.shares(values, title=axis_title)
    return dots.drawn(
        rows, dots.Looks([*kinds, *([_TARGET] if targets else [])], axis, joined=True)
    )


SECTION: Final = ReportSection("usage", notices=of_usage, findings=KINDS)

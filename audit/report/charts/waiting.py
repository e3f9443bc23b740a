"""Charts of waits: why, how long by width and hour, and beside fair start times and others."""

from collections.abc import Container, Mapping, Sequence
from typing import Final, NamedTuple

from audit.report.charts import series
from audit.report.charts.marks import bars, cells, dots, scales
from audit.report.charts.marks.bars import Divided, Part
from audit.report.charts.marks.cells import Cell
from audit.report.charts.marks.dots import Dot, Row
from audit.report.charts.marks.frame import Series
from audit.report.charts.series import value
from audit.report.charts.style import DOWN, EARLIER, INK, LATER, MUTED, OWN, ROOM, SHARED, Chart
from audit.report.record.owner import OwnerPart
from audit.report.record.pool import Breakdown, Entities, Figure, PoolPart
from audit.report.text import wording

REASONS: Final = {
    "room": Series("room for it", ROOM, "block"),
    "shared": Series("room, others first", SHARED, "block"),
    "own": Series("own jobs", OWN, "block"),
    "earlier": Series("earlier arrivals", EARLIER, "block"),
    "later": Series("later arrivals", LATER, "block"),
    "down": Series("pool too small", DOWN, "block"),
}
"""The parts of a wait (SPEC §10), in the order in which they are stacked."""
_WRITTEN: Final = ("room", "later")
"""Parts of a pool's waits whose share is written in them: those that competition is not."""
_WRITTEN_FROM: Final = 0.08
"""Narrower parts have no room for a text."""


class _Waits(NamedTuple):
    label: str
    name: str  # in tips and for those who cannot see the chart
    shares: Mapping[str, Figure]  # by key of REASONS
    mean: float | None  # s


def why(pool: PoolPart) -> Chart | None:
    """What stood in the way of those who waited, by width class."""
    labels = [label for label, _ in series.classes(pool, "wait_room_share")]
    rows = [
        _Waits(label, series.jobs(label, pool), shares, part.figure("wait_mean").value)
        for part in pool.widths
        if (label := wording.width(part.label)) in labels
        and (shares := {key: part.figure(f"wait_{key}_share") for key in REASONS})
        and sum(map(value, shares.values())) > 0
    ]
    if not rows:
        return None
    present = [key for key in REASONS if key != "down" or _any(rows, key)]
    room, later = pool.figure("wait_room_share").value, series.classes(pool, "wait_later_share")
    told = [] if room is None else [f"{_rounded(room)} of all waiting passed with room"]
    if later and value((worst := series.extremes(later)[0])[1]) >= 0.01:
        share = _rounded(value(worst[1]))
        told.append(f"for {series.jobs(worst[0], pool)}, {share} behind later arrivals")
    title = wording.first_upper("; ".join(told)) or "Why they waited"
    unit = wording.resource(pool.resource)
    note = f"Share of waiting; {unit}s asked for at the left, mean wait at the right."
    return _stacked(title, rows, present, _WRITTEN, note)


def owner_why(of: OwnerPart, name: str) -> Chart | None:
    """Why one user or account waited, beside everybody; None where no wait was taken apart."""
    if not of.parts:
        return None
    shares = {part.key: Figure("", part.share) for part in of.parts}
    everybody = {part.key: Figure("", part.of_all) for part in of.parts}
    label = wording.name(name, 20)
    rows = [_Waits(label, label, shares, of.wait_mean.value)]
    if of.everybody is not None and any(map(value, everybody.values())):
        rows.append(_Waits("everybody", "everybody", everybody, of.everybody.wait_mean))
    present = [key for key in REASONS if _any(rows, key)]
    most = max(of.parts, key=lambda part: part.share)
    title = f"Most of the waiting, {wording.rough_percent(most.share)}: {REASONS[most.key].name}"
    return _stacked(title, rows, present, REASONS, "Share of waiting; mean wait at the right.")


def _any(rows: Sequence[_Waits], key: str) -> bool:
    return any(value(row.shares[key]) for row in rows)


def _stacked(
    title: str, rows: Sequence[_Waits], present: list[str], written: Container[str], note: str
) -> Chart:
    divided, said = [], []
    for row in rows:
        parts, named = [], []
        for number, key in enumerate(present):
            figure = row.shares[key]
            share, percent = value(figure), wording.percent(value(figure))
            inside = f"{100 * share:.0f} %" if key in written and share >= _WRITTEN_FROM else ""
            tip = f"{row.name}, {REASONS[key].name}: {percent}{series.within(figure)}"
            parts.append(Part(number, share, tip, inside))
            named.append(f"{percent} {REASONS[key].name}")
        mean = "" if row.mean is None else series.brief(row.mean)
        divided.append(Divided(row.label, tuple(parts), mean))
        said.append(f"{row.name}: {', '.join(named)}")
    alt = f"Bars divided by why attempts waited. {'; '.join(said)}."
    drawn = bars.divided(divided, [REASONS[key] for key in present], "mean wait")
    return Chart("why", title, alt, *drawn, note)


def _rounded(share: float) -> str:
    """A share in two digits."""
    return f"{100 * share:.0f} %" if share >= 0.095 else f"{100 * share:.1g} %"


_WAITS: Final = {
    "wait_median": Series("median", EARLIER, "circle"),
    "wait_mean": Series("mean", INK, "square"),
    "wait_p90": Series("90th percentile", LATER, "up"),
}


def waits(pool: PoolPart) -> Chart | None:
    """Median, mean and 90th percentile of the wait by width class."""
    parts = {wording.width(part.label): part for part in pool.widths}
    means = series.classes(pool, "wait_mean")
    rows, lengths = [], []
    for label, mean in means:
        marks = []
        for number, (metric, of) in enumerate(_WAITS.items()):
            length = parts[label].figure(metric).value
            if length is not None:
                lengths.append(length)
                tip = f"{series.jobs(label, pool)}, {of.name}: {wording.duration(length)}"
                tip += series.resting_on(mean)
                marks.append(Dot(number, length, tip=tip, faint=series.few(mean)))
        rows.append(Row(label, tuple(marks), series.brief(value(mean))))
    if not rows:
        return None
    axis = scales.durations(lengths, title="Wait (logarithmic)", least=10)
    (most, longest), (least, shortest) = series.extremes(means)
    title = f"Jobs of {series.jobs(most, pool)} wait {series.brief(value(longest))}"
    if most != least:
        title += f", of {series.jobs(least, pool)} {series.brief(value(shortest))}"
    unit = wording.resource(pool.resource)
    return Chart(
        "waits",
        f"{title} in the mean",
        f"Dots. Mean wait by {unit}s asked for: {series.read(rows)}.",
        *dots.drawn(rows, dots.Looks(tuple(_WAITS.values()), axis, joined=True)),
        f"Waits by {unit}s asked for; the mean at the right.",
    )


_MISSES: Final = {
    "strict": Series("strict", LATER, "circle"),
    "relaxed": Series("relaxed", EARLIER, "square", hollow=True),
}


def miss(pool: PoolPart) -> Chart | None:
    """Mean miss of the fair start time by width class, as in [S] figures 7 to 14."""
    found = {
        kind: {
            "all": pool.figure(f"miss_{kind}_mean"),
            **dict(series.classes(pool, f"miss_{kind}_mean")),
        }
        for kind in _MISSES
    }
    known = [of for by_width in found.values() for of in by_width.values() if of.value is not None]
    if not any(of.value for of in known):
        return None
    unit, size = wording.time_unit(max(of.upper or value(of) for of in known))

    def dot(number: int, kind: str, label: str) -> Dot:
        figure = found[kind][label]
        of = "all attempts" if label == "all" else series.jobs(label, pool)
        tip = f"{of}, {kind}: {wording.duration(figure.value)}{series.within(figure)}"
        lower, upper = (end if end is None else end / size for end in (figure.lower, figure.upper))
        tip += series.resting_on(figure)
        return Dot(number, value(figure) / size, lower, upper, tip, series.few(figure))

    rows = [
        Row(
            label,
            tuple(
                dot(number, kind, label)
                for number, (kind, of) in enumerate(found.items())
                if label in of and of[label].value is not None
            ),
        )
        for label in dict.fromkeys(label for by_width in found.values() for label in by_width)
    ]
    ends = [(of.upper if of.upper is not None else value(of)) / size for of in known]
    axis = scales.linear(ends, scales.plain, title=f"Mean miss, {unit}")
    title = "Nobody started later than fair"
    if strict := series.classes(pool, "miss_strict_mean"):
        (label, most), _ = series.extremes(strict)
        title = (
            f"Jobs of {series.jobs(label, pool)} started latest, "
            f"{series.brief(value(most))} after their fair start times"
        )
    said = "; ".join(
        f"{kind}: "
        + ", ".join(f"{label} {wording.duration(of.value)}" for label, of in by_width.items())
        for kind, by_width in found.items()
    )
    return Chart(
        "miss",
        title,
        f"Dots with 95 % intervals. Mean miss of the fair start time, strict and relaxed. {said}.",
        *dots.drawn(rows, dots.Looks(tuple(_MISSES.values()), axis)),
        f"By {wording.resource(pool.resource)}s asked for; lines are 95 % intervals. Strict: had "
        "nobody arrived later; relaxed: nobody may slip past either.",
    )


def peers(pool: PoolPart) -> Chart | None:
    """Who waits how many times as long as others with similar jobs (significant)."""
    shown = [(of, part) for of in (pool.users, pool.accounts) for part in of.longer + of.floods]
    # A user and an account of one name and one ratio are the same jobs.
    found = list({_same(part): (of, part) for of, part in reversed(shown)}.values())[::-1][:12]
    found = [(of, part) for of, part in found if value(part.figure("peer_ratio")) > 0]
    if not found:
        return None
    found.sort(key=lambda pair: (pair[1] not in pair[0].longer, -value(_ratio(pair[1]))))
    kinds = [
        Series("beyond chance", LATER),
        Series("only in floods of its own", MUTED, hollow=True),
    ]
    rows = [_peer_row(of, part, 0 if part in of.longer else 1) for of, part in found]
    ratios = [_ratio(part) for _, part in found]
    ends = [end for of in ratios for end in (of.value, of.lower, of.upper) if (end or 0) > 0]
    axis = scales.by_factors(
        [1.0, *filter(None, ends)], _times, title="Times as long as their peers wait"
    )
    used = kinds[:1] if all(part in of.longer for of, part in found) else kinds
    of, part = found[0]
    who = f"{of.kind} {wording.name(part.label, 30)}"
    times = f"waits {wording.number(value(ratios[0]), 2)} times as long as others with jobs alike"
    title = (
        f"{wording.first_upper(who)} {times}"
        if part in of.longer
        else f"Only in floods of their own do some wait longer: {who} {times}"
    )
    return Chart(
        "peers",
        title,
        f"Dots with 95 % intervals. How many times as long as their peers: {series.read(rows)}.",
        *dots.drawn(rows, dots.Looks(used, axis, 1.0, ("shorter", "longer than peers"))),
        "Wait over that of other users' jobs as wide and as long, at about that time.",
    )


def _ratio(part: Breakdown) -> Figure:
    return part.figure("peer_ratio")


def _same(part: Breakdown) -> tuple[object, ...]:
    return _ratio(part).value, _ratio(part).attempts, part.figure("excess_wait").value


def _times(ratio: float) -> str:
    return f"{ratio:g} ×"


def _peer_row(of: Entities, part: Breakdown, kind: int) -> Row:
    figure = _ratio(part)
    name = f"{of.kind} {wording.name(part.label, 24)}"
    tip = (
        f"{name}: {wording.number(value(figure), 3)} times as long"
        f"{series.within(figure)}; beyond peers in all "
        f"{wording.duration(part.figure('excess_wait').value)}{series.resting_on(figure)}"
    )
    lower = None if figure.lower is None else max(figure.lower, 1e-3)
    dot = Dot(kind, value(figure), lower, figure.upper, tip)
    return Row(name, (dot,), _times(float(f"{value(figure):.2g}")))


def week(pool: PoolPart) -> Chart | None:
    """Mean wait by weekday and hour of arrival, local time."""
    known = {
        int(part.label): figure
        for part in pool.hours
        if (figure := part.figure("wait_mean")).value is not None
    }
    if not known:
        return None
    # A mean over a handful of arrivals would set the scale for all others.
    sound = {hour: figure for hour, figure in known.items() if not series.few(figure)}
    scaled = sound if len(sound) >= len(known) / 2 else known
    longest = max(map(value, scaled.values()))
    drawn = []
    for hour, figure in sorted(known.items()):
        strength = value(figure) / longest if longest else 0.0
        tip = (
            f"{_hour(hour)}: mean wait {wording.duration(figure.value)}{series.resting_on(figure)}"
        )
        drawn.append(Cell(0, *divmod(hour, 24), strength if hour in scaled else None, tip))
    looks = cells.Map(
        series.WEEKDAYS,
        tuple(str(hour) if hour % 3 == 0 else "" for hour in range(24)),
        ("0", series.brief(longest)),
        "mean wait",
        "few arrivals" if len(scaled) < len(known) else "",
        "Hour of arrival, local time",
    )
    worst = max(scaled, key=lambda hour: value(scaled[hour]))
    title = f"Who arrives on {_hour(worst)} waits longest: {series.brief(longest)} in the mean"
    alt = f"Heat map. Mean wait by weekday and hour of arrival, local time. {title}."
    note = "Mean wait by hour of arrival in the week."
    return Chart("week", title, alt, *cells.drawn(drawn, looks), note)


def _hour(of_week: int) -> str:
    day, hour = divmod(of_week, 24)
    return f"{series.WEEKDAYS[day]} {hour}–{hour + 1} h"

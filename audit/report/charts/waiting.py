"""Pictures of waits: why, how long by width and by hour, and who waits longer than others."""

from typing import Final

from audit.registry.causes import CAUSES, Cause
from audit.report.charts import series
from audit.report.charts.marks import bars, cells, dots, scales
from audit.report.charts.marks.bars import Divided, Part
from audit.report.charts.marks.cells import Cell
from audit.report.charts.marks.dots import Dot, Row
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import EARLIER, INK, LATER, MUTED, Chart
from audit.report.contents import Breakdown, Entities, Figure, PoolPart
from audit.report.text import wording

_TOLD: Final = ("room", "later")
"""Causes whose share stands within them where it is wide enough: those that competition is not."""
_WRITTEN_FROM: Final = 0.08


def why(pool: PoolPart) -> Chart | None:
    """What stood in the way of those who waited, by width class."""
    known = [label for label, figure in series.classes(pool, "wait_room_share")]
    rows = [(label, part) for label in known if (part := series.part_of(pool, label)) is not None]
    rows = [(label, part) for label, part in rows if _shares(part)]
    if not rows:
        return None
    present = [
        cause
        for cause in CAUSES
        if not cause.optional or any(_shares(part)[cause] for _, part in rows)
    ]
    divided = [_divided(label, part, present, pool) for label, part in rows]
    title = _why(pool)
    body, height = bars.divided(divided, [series_of(cause) for cause in present], "mean wait")
    said = "; ".join(
        f"{series.jobs(label, pool)}: "
        + ", ".join(f"{wording.percent(_shares(part)[cause])} {cause.legend}" for cause in present)
        for label, part in rows
    )
    unit = wording.resource(pool.resource)
    note = f"Share of waiting; {unit}s asked for at the left, mean wait at the right."
    return Chart("why", title, f"Bars divided by why attempts waited. {said}.", body, height, note)


def series_of(cause: Cause) -> Series:
    """How charts of waiting draw a cause."""
    return Series(cause.legend, f"var(--{cause.key})", "block")


def _shares(part: Breakdown) -> dict[Cause, float]:
    """Of each cause; nothing where nobody waited."""
    shares = {cause: series.value(part.figure(cause.share)) for cause in CAUSES}
    return shares if sum(shares.values()) > 0 else {}


def _divided(label: str, part: Breakdown, present: list[Cause], pool: PoolPart) -> Divided:
    shares = _shares(part)
    told = []
    for number, cause in enumerate(present):
        figure = part.figure(cause.share)
        said = wording.percent(shares[cause])
        told.append(
            Part(
                number,
                shares[cause],
                f"{series.jobs(label, pool)}, {cause.legend}: {said}{series.within(figure)}",
                f"{100 * shares[cause]:.0f} %"
                if cause.key in _TOLD and shares[cause] >= _WRITTEN_FROM
                else "",
            )
        )
    mean = part.figure("wait_mean").value
    return Divided(label, tuple(told), "" if mean is None else series.brief(mean))


def _why(pool: PoolPart) -> str:
    """How much of all waiting was not competition, and which width later arrivals held up most."""
    room = pool.figure("wait_room_share").value
    later = series.sound(series.classes(pool, "wait_later_share"))
    worst, figure = max(later, key=lambda pair: series.value(pair[1]), default=("", Figure("")))
    said = []
    if room is not None:
        said.append(f"{_rounded(room)} of all waiting passed with room")
    if series.value(figure) >= 0.01:
        said.append(
            f"for {series.jobs(worst, pool)}, {_rounded(series.value(figure))} behind later "
            "arrivals"
        )
    return wording.first_upper("; ".join(said)) or "Why they waited"


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
    means = series.classes(pool, "wait_mean")
    rows, lengths = [], []
    for label, mean in means:
        part = series.part_of(pool, label)
        figures = [part.figure(metric) for metric in _WAITS] if part else []
        marks = []
        for number, (figure, of) in enumerate(zip(figures, _WAITS.values(), strict=True)):
            if figure.value is not None:
                lengths.append(figure.value)
                tip = (
                    f"{series.jobs(label, pool)}, {of.name}: {wording.duration(figure.value)}"
                    f"{series.resting_on(mean)}"
                )
                marks.append(Dot(number, figure.value, tip=tip, faint=series.few(mean)))
        rows.append(Row(label, tuple(marks), series.brief(series.value(mean))))
    if not rows:
        return None
    axis = scales.durations(lengths, title="Wait (logarithmic)", least=10)
    body, height = dots.drawn(rows, dots.Looks(tuple(_WAITS.values()), axis, joined=True))
    sound = series.sound(means)
    most = max(sound, key=lambda pair: series.value(pair[1]))
    least = min(sound, key=lambda pair: series.value(pair[1]))
    title = f"Jobs of {series.jobs(most[0], pool)} wait {series.brief(series.value(most[1]))}"
    if most[0] != least[0]:
        title += f", of {series.jobs(least[0], pool)} {series.brief(series.value(least[1]))}"
    title += " in the mean"
    said = "; ".join(f"{row.label} {row.says}" for row in rows)
    alt = f"Dots. Mean wait by {wording.resource(pool.resource)}s asked for: {said}."
    note = f"Waits by {wording.resource(pool.resource)}s asked for; the mean at the right."
    return Chart("waits", title, alt, body, height, note)


def peers(pool: PoolPart) -> Chart | None:
    """Who waits how many times as long as others with jobs alike, beyond chance."""
    shown = [(of, part) for of in (pool.users, pool.accounts) for part in of.longer + of.floods]
    # A user and an account of one name and one ratio are the same jobs.
    found = list({_same(part): (of, part) for of, part in reversed(shown)}.values())[::-1][:12]
    found = [(of, part) for of, part in found if series.value(part.figure("peer_ratio")) > 0]
    if not found:
        return None
    found.sort(
        key=lambda pair: (
            pair[1] not in pair[0].longer,
            -series.value(pair[1].figure("peer_ratio")),
        )
    )
    flood = Series("only in floods of its own", MUTED, hollow=True)
    kinds = (Series("beyond chance", LATER), flood)
    rows = [_peer_row(of, part, 0 if part in of.longer else 1) for of, part in found]
    ends = [
        end
        for _, part in found
        for end in _ends(part.figure("peer_ratio"))
        if end is not None and end > 0
    ]
    axis = scales.by_factors([1.0, *ends], _times, title="Times as long as their peers wait")
    used = [kinds[0]] if all(part in of.longer for of, part in found) else list(kinds)
    looks = dots.Looks(used, axis, 1.0, ("shorter", "longer than peers"))
    body, height = dots.drawn(rows, looks)
    of, part = found[0]
    ratio = series.value(part.figure("peer_ratio"))
    who = f"{of.kind} {wording.name(part.label, 30)}"
    times = f"waits {wording.number(ratio, 2)} times as long as others with jobs alike"
    title = (
        f"{wording.first_upper(who)} {times}"
        if part in of.longer
        else f"Only in floods of their own do some wait longer: {who} {times}"
    )
    said = "; ".join(f"{row.label} {row.says}" for row in rows)
    alt = f"Dots with 95 % intervals. How many times as long as their peers: {said}."
    note = "Wait over that of other users' jobs as wide and as long, at about that time."
    return Chart("peers", title, alt, body, height, note)


def _same(part: Breakdown) -> tuple[object, ...]:
    ratio, excess = part.figure("peer_ratio"), part.figure("excess_wait")
    return ratio.value, ratio.attempts, excess.value


def _times(value: float) -> str:
    return f"{value:g} ×"


def _ends(figure: Figure) -> tuple[float | None, ...]:
    return figure.value, figure.lower, figure.upper


def _peer_row(of: Entities, part: Breakdown, kind: int) -> Row:
    figure = part.figure("peer_ratio")
    name = wording.name(part.label, 24)
    tip = (
        f"{of.kind} {name}: {wording.number(series.value(figure), 3)} times as long"
        f"{series.within(figure)}; beyond peers in all "
        f"{wording.duration(part.figure('excess_wait').value)}{series.resting_on(figure)}"
    )
    lower = None if figure.lower is None else max(figure.lower, 1e-3)
    dot = Dot(kind, series.value(figure), lower, figure.upper, tip)
    return Row(f"{of.kind} {name}", (dot,), _times(float(f"{series.value(figure):.2g}")))


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
    longest = max(series.value(figure) for figure in scaled.values())
    drawn = []
    for hour, figure in sorted(known.items()):
        day, at = divmod(hour, 24)
        strength = series.value(figure) / longest if longest else 0.0
        tip = (
            f"{series.WEEKDAYS[day]} {at}–{at + 1} h: mean wait "
            f"{wording.duration(figure.value)}{series.resting_on(figure)}"
        )
        drawn.append(Cell(0, day, at, strength if hour in scaled else None, tip))
    labels = tuple(str(hour) if hour % 3 == 0 else "" for hour in range(24))
    looks = cells.Map(
        series.WEEKDAYS,
        labels,
        ("0", series.brief(longest)),
        "mean wait",
        "few arrivals" if len(scaled) < len(known) else "",
        "Hour of arrival, local time",
    )
    body, height = cells.drawn(drawn, looks)
    worst = max(scaled, key=lambda hour: series.value(scaled[hour]))
    when = f"{series.WEEKDAYS[worst // 24]} {worst % 24}–{worst % 24 + 1} h"
    title = f"Who arrives on {when} waits longest: {series.brief(longest)} in the mean"
    alt = f"Heat map. Mean wait by weekday and hour of arrival, local time. {title}."
    return Chart("week", title, alt, body, height, "Mean wait by hour of arrival in the week.")

"""Numbers, times and names as a reader sees them.

The same text comes out on every machine: no locale, no clock, and the zone is an argument. What
is unknown reads as an en dash.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from audit.metrics import measures
from audit.metrics.measures import Shown
from audit.report.record.pool import Figure

UNKNOWN: Final = "–"
NOT_NAMED: Final = "(not named in the log)"

_NAME_LIMIT: Final = 60
_RESOURCES: Final = {"cpus": "CPU", "nodes": "node", "gpus": "GPU"}
# Code points that would reorder, hide or break the text around a name: controls, invisible
# formatting (bidirectional overrides among them), lone surrogates, line and paragraph separators.
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def name(text: str | None, limit: int = _NAME_LIMIT) -> str:
    """A name from a log, made harmless to look at.

    What cannot be printed shows as its code point; what is too long loses its middle, not its
    end, because long names tend to differ there.
    """
    if text is None:
        return NOT_NAMED
    if text == "":
        return "(empty name)"
    shown = "".join(_visible(char) for char in text)
    if len(shown) <= limit:
        return shown
    tail = limit // 3
    return f"{shown[: limit - tail - 1]}…{shown[-tail:]}"


def told_apart(labels: Iterable[str]) -> list[str]:
    """Labels, each with a number behind it that would read as an earlier one does."""
    found: list[str] = []
    for label in labels:
        shown, copies = label, 2
        while shown in found:
            shown, copies = f"{label} ({copies})", copies + 1
        found.append(shown)
    return found


def _visible(char: str) -> str:
    if unicodedata.category(char) in _UNPRINTABLE:
        return f"\\u{ord(char):04x}"
    return char


def plural(number: float, word: str) -> str:
    """``1 CPU``, ``2 CPUs``, ``1,204 CPUs``."""
    return f"{count(number)} {word}{'' if number == 1 else 's'}"


def count(value: float | None) -> str:
    """A whole number with thousands set apart."""
    return UNKNOWN if value is None else _minus(f"{round(value):,}")


def number(value: float | None, digits: int = 3) -> str:
    """A number to ``digits`` significant digits, in exponent form only below 1e-6 and from 1e12."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0"
    size = abs(value)
    if not 1e-6 <= size < 1e12:
        return _minus(f"{value:.{digits - 1}e}")
    if value == int(value):
        return count(value)
    # As many digits behind the point as carry meaning.
    return _minus(f"{value:,.{max(digits - 1 - math.floor(math.log10(size)), 0)}f}")


def percent(value: float | None) -> str:
    """A share of 1 in per cent."""
    if value is None:
        return UNKNOWN
    return f"{_hundredths(value)} %"


def duration(seconds: float | None) -> str:
    """A length of time in its two leading units."""
    if seconds is None:
        return UNKNOWN
    return f"{'−' if seconds < 0 else ''}{_length(abs(seconds))}"


def _length(size: float) -> str:
    if size < 1:
        return "0 s" if size == 0 else f"{size:.2g} s"
    if size < 60:
        return f"{size:.0f} s" if size == int(size) else f"{size:.1f} s"
    if size < 600:
        minutes, rest_s = divmod(round(size), 60)
        return f"{minutes} min" + (f" {rest_s} s" if rest_s else "")
    if round(size / 60) < 60:
        return f"{round(size / 60)} min"
    hours, rest_min = divmod(round(size / 60), 60)
    if hours < 48:
        return f"{hours} h" + (f" {rest_min} min" if rest_min else "")
    days, rest_h = divmod(round(size / 3600), 24)
    return f"{days:,} d" + (f" {rest_h} h" if rest_h and days < 100 else "")


def instant(time: int | None, zone: str) -> str:
    """An instant in the cluster's zone, to the minute."""
    if time is None:
        return UNKNOWN
    return datetime.fromtimestamp(time, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


def day(time: int | None, zone: str) -> str:
    """The day of an instant in the cluster's zone, as 24 September 1996."""
    if time is None:
        return UNKNOWN
    local = datetime.fromtimestamp(time, ZoneInfo(zone))
    return f"{local.day} {_MONTHS[local.month - 1]} {local.year}"


# Not strftime's %B, which follows the locale of whoever runs the report.
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def resource(kind: str) -> str:
    """One unit of a counted resource, in the singular."""
    return _RESOURCES.get(kind) or name(kind)


def resources(kind: str) -> str:
    """A resource of a pool as a whole."""
    return {"cpus": "CPUs", "nodes": "nodes", "gpus": "GPUs", "mem_bytes": "memory"}.get(
        kind
    ) or name(kind)


def first_upper(text: str) -> str:
    """The text as it begins a title: only its first letter changes."""
    return text[:1].upper() + text[1:]


def penalty(name_: str) -> str:
    """What a second costs, in words; nothing for a penalty that is not known."""
    return PENALTIES.get(name_, "")


def points(difference: float | None) -> str:
    """A difference of two shares, in points of per cent with its sign."""
    if difference is None:
        return UNKNOWN
    shown = f"{difference * 100:+,.1f}"
    return "0.0" if float(shown.replace(",", "")) == 0 else _minus(shown)


def decay(settings: Mapping[str, object]) -> str:
    """How usage decays, in words; nothing where that is not known."""
    try:
        told = f"{_decays(settings)} {PENALTIES[str(settings['penalty'])]}"
        if settings.get("basis") == "node":
            told += (
                " Parts are those of the nodes that the attempt had, times the part of the pool's "
                "nodes that these are."
            )
        return told
    except (KeyError, ValueError):
        return ""


def _decays(settings: Mapping[str, object]) -> str:
    method = settings["method"]
    if method == "half_life":
        return f"Usage loses half of its weight in {_days(settings['half_life_days'])}."
    if method == "slurm":
        if settings.get("slurm_conf"):
            return "Usage is booked and decays as Slurm does it, by the site's slurm.conf."
        if float(str(settings["half_life_days"])) == 0:
            return f"Usage is booked as Slurm does it, and forgotten {settings['reset']}."
        return (
            "Usage is booked as Slurm does it, and loses half of its weight in "
            f"{_days(settings['half_life_days'])}."
        )
    depth = int(str(settings["depth"]))
    calendar = settings["alignment"] == "calendar"
    last = "window" if depth == 1 else f"{depth} windows"
    told = (
        f"Usage at an instant is that of the last {last} of {_days(settings['interval_days'])}, "
        f"{'bounded by midnights' if calendar else 'ending at that instant'}"
    )
    if depth > 1:
        weight = f"{float(str(settings['decay'])):g}"
        told += f"; each weighs {weight} times as much as the next younger one"
    return f"{told}."


def _days(value: object) -> str:
    days = float(str(value))
    return f"{number(days)} day{'' if days == 1 else 's'}"


_OF_POOL: Final = "A second of an attempt counts as"
PENALTIES: Final = {
    "cpu": f"{_OF_POOL} the part of its pool's CPUs that it occupied.",
    "max": f"{_OF_POOL} the part that it occupied of whichever resource of its pool it occupied "
    "most.",
    "max_capped": f"{_OF_POOL} the greatest of its weighted parts of the pool's resources, 1 at "
    "most.",
    "max_scaled": f"{_OF_POOL} the greatest of its weighted parts of the pool's resources, over "
    "the greatest weight.",
    "product": f"{_OF_POOL} the product of the parts that it occupied of each of its pool's "
    "resources.",
    "product_weighted": f"{_OF_POOL} the weighted geometric mean of the parts that it occupied of "
    "each resource of its pool.",
    "sum": f"{_OF_POOL} the mean of the parts that it occupied of each resource of its pool.",
    "sum_weighted": f"{_OF_POOL} the weighted mean of the parts that it occupied of each resource "
    "of its pool.",
    "root": f"{_OF_POOL} what it left nobody else: 1 less the geometric mean of the parts of each "
    "resource of its pool that it left free.",
    "root_weighted": f"{_OF_POOL} what it left nobody else: 1 less the weighted geometric mean of "
    "the parts of each resource of its pool that it left free.",
    "pe": f"{_OF_POOL} the processors that the greatest of its parts of a resource would be worth "
    "(Maui's processor equivalent).",
    "billing": "A second of an attempt counts with its billing weight.",
}
"""What a second costs, by penalty."""


def amount(seconds: float | None, kind: str) -> str:
    """Resource-seconds in resource-hours, with the unit."""
    if seconds is None:
        return UNKNOWN
    shown = hours(seconds)
    return f"{shown} {resource(kind)}-hour{'' if shown == '1' else 's'}"


def hours(seconds: float | None) -> str:
    """Seconds, or resource-seconds, as a bare number of hours."""
    return number(None if seconds is None else seconds / 3600)


def width(label: str) -> str:
    """A width class as it is printed: ``5–8``, ``over 128``."""
    return label.replace("-", "–").replace(">", "over ")


def value(figure: Figure, kind: str) -> str:
    """The value of a figure as its measure is shown."""
    if figure.value is None:
        return UNKNOWN
    match _shown(figure):
        case Shown.RESOURCE_TIME:
            return amount(figure.value, kind)
        case Shown.DURATION:
            return duration(figure.value)
        case Shown.COUNT:
            return count(figure.value)
        case Shown.SHARE:
            return percent(figure.value)
        case Shown.NUMBER:
            return number(figure.value)


def bare(figure: Figure) -> str:
    """The value of a figure under a column title that names its unit."""
    if _shown(figure) is Shown.RESOURCE_TIME:
        return hours(figure.value)
    return value(figure, "")


def _shown(figure: Figure) -> Shown:
    """How the measure is shown; one that the registry does not know, such as a study's, by unit."""
    measure = measures.find(figure.metric)
    if measure is not None:
        return measure.shown
    return Shown.DURATION if figure.unit == measures.SECONDS else Shown.NUMBER


def interval(figure: Figure) -> str:
    """The 95 % interval of a figure, with its unit once, or nothing where it has none.

    A resource-time is in resource-hours; a unit that follows from the figure is left out.
    """
    if figure.lower is None or figure.upper is None:
        return ""
    shown = _shown(figure)
    if shown is Shown.DURATION:
        unit, size = time_unit(abs(figure.upper))
        if figure.lower and time_unit(abs(figure.lower))[1] != size:
            return f"{duration(figure.lower)} to {duration(figure.upper)}"
        return f"{number(figure.lower / size)} to {number(figure.upper / size)} {unit}"
    if shown is Shown.SHARE:
        return f"{_hundredths(figure.lower)} to {_hundredths(figure.upper)} %"
    if shown is Shown.RESOURCE_TIME:
        return f"{hours(figure.lower)} to {hours(figure.upper)}"
    return f"{number(figure.lower)} to {number(figure.upper)}"


def rough(figure: Figure) -> str:
    """The value of a figure in two digits, as one speaks of it: ``13 h``, ``21 %``."""
    return UNKNOWN if figure.value is None else _in_unit(figure, figure.value)


def rough_interval(figure: Figure) -> str:
    """Its interval likewise, in the unit of its value: ``4–16 h``; nothing where it has none."""
    if figure.value is None or figure.lower is None or figure.upper is None:
        return ""
    unit, size = _rough_unit(figure)
    between = " to " if figure.lower < 0 else "–"
    return f"{two_digits(figure.lower / size)}{between}{two_digits(figure.upper / size)}{unit}"


def rough_duration(seconds: float) -> str:
    """A length of time in two digits and one unit."""
    unit, size = time_unit(abs(seconds))
    return f"{two_digits(seconds / size)} {unit}"


def rough_percent(share: float) -> str:
    """A share in two digits."""
    return f"{two_digits(share * 100)} %"


def _in_unit(figure: Figure, value_: float) -> str:
    unit, size = _rough_unit(figure)
    return f"{two_digits(value_ / size)}{unit}"


def _rough_unit(figure: Figure) -> tuple[str, float]:
    match _shown(figure):
        case Shown.DURATION:
            unit, size = time_unit(abs(figure.value or 0.0))
            return f" {unit}", size
        case Shown.SHARE:
            return " %", 0.01
        case Shown.RESOURCE_TIME:
            return "", 3_600
        case Shown.COUNT | Shown.NUMBER:
            return "", 1


def two_digits(value_: float) -> str:
    """A number to two significant digits, and to no more than one behind the point."""
    if abs(value_) < 0.05:
        return "under 0.1" if value_ > 0 else "0"
    digits = max(1 - math.floor(math.log10(abs(value_))), -12)
    rounded = round(value_, min(digits, 1))
    return _minus(f"{rounded:,.0f}" if rounded == int(rounded) else f"{rounded:,.1f}")


def one_in(share: float) -> str:
    """A share as people say it: ``3 in 10``, ``1 in 40``."""
    if share <= 0:
        return "none"
    if share >= 0.95:
        return "nearly all" if share < 1 else "all"
    if share < 0.28:
        return f"1 in {count(round(1 / share))}"
    return f"{round(share * 10)} in 10"


def time_unit(seconds: float) -> tuple[str, int]:
    """The unit in which ``seconds`` is a handy number, and its length."""
    for unit, size, least in (("d", 86_400, 2), ("h", 3_600, 2), ("min", 60, 1)):
        if seconds >= least * size:
            return unit, size
    return "s", 1


def _hundredths(share: float) -> str:
    shown = share * 100
    if 0 < abs(shown) < 0.05:
        return "under 0.1" if shown > 0 else "about 0"
    return _minus(f"{shown:,.{0 if abs(shown) >= 100 else 1}f}")


def _minus(text: str) -> str:
    return text.replace("-", "−", 1) if text.startswith("-") else text

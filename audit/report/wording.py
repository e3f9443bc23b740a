"""Numbers, times and names as text for readers.

The text depends on no locale, clock or time zone of the machine. An unknown value is an en dash.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from audit import words
from audit.registry import measures
from audit.registry.measure import SECONDS, Presentation
from audit.report.figures import Figure
from audit.words import gpu_type, kind_of

UNKNOWN: Final = "–"
NOT_NAMED: Final = "(not named in the log)"

plural: Final = words.plural

_NAME_LIMIT: Final = 60
# Categories of code points that would reorder, hide or break the text around a name: controls,
# invisible formatting, lone surrogates, separators of lines and paragraphs.
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def name(text: str | None, limit: int = _NAME_LIMIT) -> str:
    """Return a name from a log as printable text of at most ``limit`` characters.

    Unprintable characters become their code points. Long names lose their middle, because they
    often differ at the end.
    """
    if text is None:
        return NOT_NAMED
    if text == "":
        return "(empty name)"
    shown = "".join(
        f"\\u{ord(char):04x}" if unicodedata.category(char) in _UNPRINTABLE else char
        for char in text
    )
    if len(shown) <= limit:
        return shown
    tail = limit // 3
    return f"{shown[: limit - tail - 1]}…{shown[-tail:]}"


def distinct(labels: Iterable[str]) -> list[str]:
    """Return the labels, with a number after each that equals an earlier one."""
    found: list[str] = []
    for label in labels:
        shown, copies = label, 2
        while shown in found:
            shown, copies = f"{label} ({copies})", copies + 1
        found.append(shown)
    return found


def count(value: float | None) -> str:
    """Return a whole number with separated thousands."""
    return UNKNOWN if value is None else _minus(f"{round(value):,}")


def number(value: float | None, digits: int = 3) -> str:
    """Return a number to ``digits`` significant digits; exponents only below 1e-6 and from 1e12."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0"
    size = abs(value)
    if not 1e-6 <= size < 1e12:
        return _minus(f"{value:.{digits - 1}e}")
    if value == int(value):
        return count(value)
    return _minus(f"{value:,.{max(digits - 1 - math.floor(math.log10(size)), 0)}f}")


def percent(value: float | None) -> str:
    """Return a share of 1 as a percentage."""
    return UNKNOWN if value is None else f"{_hundredths(value)} %"


def duration(seconds: float | None) -> str:
    """Return a length of time in its two leading units."""
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


def instant(time: int, zone: str) -> str:
    """Return an instant in the cluster's zone, to the minute."""
    return datetime.fromtimestamp(time, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


def day(time: int, zone: str) -> str:
    """Return the day of an instant in the cluster's zone, as ``24 September 1996``."""
    local = datetime.fromtimestamp(time, ZoneInfo(zone))
    return f"{local.day} {_MONTHS[local.month - 1]} {local.year}"


def days(from_time: int, to_time: int, zone: str) -> str:
    """Return the first and the last day of a span: ``1 May 2014 to 3 June 2014``."""
    return " to ".join(dict.fromkeys(day(time, zone) for time in (from_time, to_time)))


def brief_days(from_time: int, to_time: int, zone: str) -> str:
    """Return a span in brief: ``Feb 1997``, ``3 to 9 Nov 2026``, ``28 Sep to 4 Oct 2026``.

    Spans of several months are in months: ``Sep 1996 to Aug 1997``.
    """
    first, last = (datetime.fromtimestamp(time, ZoneInfo(zone)) for time in (from_time, to_time))
    months = [f"{_MONTHS[of.month - 1][:3]} {of.year}" for of in (first, last)]
    month_over = (last + timedelta(days=1)).day == 1
    if months[0] != months[1] and last - first >= timedelta(days=31):
        return " to ".join(months)
    if months[0] != months[1]:
        begin = months[0] if first.year != last.year else months[0][:3]
        return f"{first.day} {begin} to {last.day} {months[1]}"
    if first.day == 1 and month_over:
        return months[0]
    if first.date() == last.date():
        return f"{first.day} {months[0]}"
    return f"{first.day} to {last.day} {months[0]}"


# Not strftime's %B, which depends on the locale.
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def resource(kind: str) -> str:
    """Return one unit of a counted resource, in the singular."""
    unit = {"cpus": "CPU", "nodes": "node", "gpus": "GPU"}.get(kind_of(kind)) or name(kind)
    return f"{name(of_type)} {unit}" if (of_type := gpu_type(kind)) else unit


def resources(kind: str) -> str:
    """Return a resource of a pool as a whole."""
    units = _RESOURCES.get(kind_of(kind)) or name(kind)
    return f"{name(of_type)} {units}" if (of_type := gpu_type(kind)) else units


_RESOURCES: Final = {"cpus": "CPUs", "nodes": "nodes", "gpus": "GPUs", "mem_bytes": "memory"}


def first_upper(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def first_lower(text: str) -> str:
    """Return the text with its first letter in lower case."""
    return text[:1].lower() + text[1:]


def points(difference: float | None) -> str:
    """Return the difference of two shares in percentage points, with its sign."""
    if difference is None:
        return UNKNOWN
    shown = f"{difference * 100:+,.1f}"
    return "0.0" if float(shown.replace(",", "")) == 0 else _minus(shown)


def decay(settings: Mapping[str, object]) -> str:
    """Return how usage decays and what a second costs; empty if the settings do not say."""
    try:
        text = f"{_decays(settings)} {PENALTIES[str(settings['penalty'])]}"
    except (KeyError, ValueError):
        return ""
    if settings.get("basis") == "node":
        text += (
            " The fractions are of the job's own nodes, multiplied by their fraction of the pool's "
            "nodes."
        )
    return text


def _decays(settings: Mapping[str, object]) -> str:
    method = settings["method"]
    if method == "half_life":
        return f"Usage loses half of its weight in {_days(settings['half_life_days'])}."
    if method == "slurm":
        if settings.get("slurm_conf"):
            return "Usage is recorded and decays as in Slurm, with the site's slurm.conf."
        if float(str(settings["half_life_days"])) == 0:
            return f"Usage is recorded as in Slurm and reset {settings['reset']}."
        return (
            "Usage is recorded as in Slurm and loses half of its weight in "
            f"{_days(settings['half_life_days'])}."
        )
    depth = int(str(settings["depth"]))
    windows = "the last window" if depth == 1 else f"the last {depth} windows"
    end = "midnight" if settings["alignment"] == "calendar" else "the instant itself"
    text = (
        f"Usage at an instant covers {windows} of {_days(settings['interval_days'])}, up to {end}"
    )
    if depth > 1:
        text += f"; each window counts {float(str(settings['decay'])):g} times as much as the next"
    return f"{text}."


def _days(value: object) -> str:
    days = float(str(value))
    return f"{number(days)} day{'' if days == 1 else 's'}"


def penalty(name_: str) -> str:
    """Return the cost of a second in words; empty for an unknown penalty."""
    return PENALTIES.get(name_, "")


_COST: Final = "Each second of a job costs"
_FRACTIONS: Final = "of the fractions of the pool's resources that it occupied"
_FREE: Final = "mean of the fractions of the pool's resources that it left free"
PENALTIES: Final = {
    "cpu": f"{_COST} the fraction of the pool's CPUs that it occupied.",
    "max": f"{_COST} the largest {_FRACTIONS}.",
    "max_capped": f"{_COST} the largest {_FRACTIONS}, each with a weight, but at most 1.",
    "max_scaled": f"{_COST} the largest {_FRACTIONS}, each with a weight, divided by the largest "
    "weight.",
    "product": f"{_COST} the product {_FRACTIONS}.",
    "product_weighted": f"{_COST} the weighted geometric mean {_FRACTIONS}.",
    "sum": f"{_COST} the mean {_FRACTIONS}.",
    "sum_weighted": f"{_COST} the weighted mean {_FRACTIONS}.",
    "root": f"{_COST} 1 minus the geometric {_FREE}.",
    "root_weighted": f"{_COST} 1 minus the weighted geometric {_FREE}.",
    "pe": f"{_COST} the number of processors that its largest fraction of a resource is worth "
    "(Maui's processor equivalent).",
    "billing": f"{_COST} its billing weight.",
}
"""The cost of a second, by penalty."""


def hours(seconds: float | None) -> str:
    """Return seconds, or resource-seconds, as a number of hours without a unit."""
    return number(None if seconds is None else seconds / 3600)


def width(label: str) -> str:
    """Return a width class as it is printed: ``5–8``, ``over 128``."""
    return label.replace("-", "–").replace(">", "over ")


def width_units(label: str, kind: str) -> str:
    """Return a width class with its unit: ``65–128 CPUs``, ``1 CPU``, ``over 128 CPUs``."""
    return f"{width(label)} {resource(kind)}{'' if label == '1' else 's'}"


def value(figure: Figure, kind: str) -> str:
    """Return the value of a figure with its unit, in the form of its measure."""
    if figure.value is None:
        return UNKNOWN
    match _shown(figure):
        case Presentation.RESOURCE_TIME:
            shown = hours(figure.value)
            return f"{shown} {resource(kind)}-hour{'' if shown == '1' else 's'}"
        case Presentation.DURATION:
            return duration(figure.value)
        case Presentation.COUNT:
            return count(figure.value)
        case Presentation.SHARE:
            return percent(figure.value)
        case Presentation.NUMBER:
            return number(figure.value)


def bare(figure: Figure) -> str:
    """Return the value of a figure for a column whose title names the unit."""
    return (
        hours(figure.value) if _shown(figure) is Presentation.RESOURCE_TIME else value(figure, "")
    )


def _shown(figure: Figure) -> Presentation:
    """Return how the measure is shown; a study's, which the registry does not know, by its unit."""
    measure = measures.find(figure.metric)
    if measure is not None:
        return measure.shown
    return Presentation.DURATION if figure.unit == SECONDS else Presentation.NUMBER


def interval(figure: Figure) -> str:
    """Return the 95 % interval of a figure with its unit once; empty if it has no interval.

    Resource-times are in resource-hours, without the unit.
    """
    if figure.lower is None or figure.upper is None:
        return ""
    shown = _shown(figure)
    if shown is Presentation.DURATION:
        unit, size = time_unit(abs(figure.upper))
        if figure.lower and time_unit(abs(figure.lower))[1] != size:
            return f"{duration(figure.lower)} to {duration(figure.upper)}"
        return f"{number(figure.lower / size)} to {number(figure.upper / size)} {unit}"
    if shown is Presentation.SHARE:
        return f"{_hundredths(figure.lower)} to {_hundredths(figure.upper)} %"
    form = hours if shown is Presentation.RESOURCE_TIME else number
    return f"{form(figure.lower)} to {form(figure.upper)}"


def rough(figure: Figure) -> str:
    """Return the value of a figure in two digits and one unit: ``13 h``, ``21 %``."""
    if figure.value is None:
        return UNKNOWN
    unit, size = _rough_unit(figure)
    return f"{two_digits(figure.value / size)}{unit}"


def rough_interval(figure: Figure) -> str:
    """Return its interval in the unit of its value: ``4–16 h``; empty if it has no interval."""
    if figure.value is None or figure.lower is None or figure.upper is None:
        return ""
    unit, size = _rough_unit(figure)
    between = " to " if figure.lower < 0 else "–"
    low, high = (two_digits(bound / size) for bound in (figure.lower, figure.upper))
    return f"{low}{unit}" if low == high else f"{low}{between}{high}{unit}"


def rough_within(figure: Figure) -> str:
    """Return that interval in brackets, after a space; empty without one."""
    interval_ = rough_interval(figure)
    return f" ({interval_})" if interval_ else ""


def rough_duration(seconds: float, like: float | None = None) -> str:
    """Return a length of time in two digits, and in its own unit or that of the length ``like``."""
    unit, size = time_unit(abs(seconds if like is None else like))
    return f"{two_digits(seconds / size)} {unit}"


def rough_percent(share: float) -> str:
    """Return a share in two digits."""
    return f"{two_digits(share * 100)} %"


def _rough_unit(figure: Figure) -> tuple[str, float]:
    match _shown(figure):
        case Presentation.DURATION:
            unit, size = time_unit(abs(figure.value or 0.0))
            return f" {unit}", size
        case Presentation.SHARE:
            return " %", 0.01
        case Presentation.RESOURCE_TIME:
            return "", 3_600
        case Presentation.COUNT | Presentation.NUMBER:
            return "", 1


def two_digits(value_: float) -> str:
    """Return a number to two significant digits, at most one of them after the point."""
    if abs(value_) < 0.05:
        return "under 0.1" if value_ > 0 else "0"
    digits = max(1 - math.floor(math.log10(abs(value_))), -12)
    rounded = round(value_, min(digits, 1))
    return _minus(f"{rounded:,.0f}" if rounded == int(rounded) else f"{rounded:,.1f}")


def one_in(share: float) -> str:
    """Return a share as ``3 in 10`` or ``1 in 40``."""
    if share <= 0:
        return "none"
    if share >= 0.95:
        return "nearly all" if share < 1 else "all"
    if share < 0.28:
        return f"1 in {count(round(1 / share))}"
    return f"{round(share * 10)} in 10"


def time_unit(seconds: float) -> tuple[str, int]:
    """Return the unit in which ``seconds`` is a short number, and the unit's length in s."""
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

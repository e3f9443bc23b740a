"""Elements of a site in words, and as rows that a later run reads again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from pydantic import TypeAdapter

from audit.model import Policy
from audit.policies import SETTINGS
from audit.report.text import wording
from audit.rule_text import rule_text
from audit.scenario.fit.search import Gain, Searched, Tried
from audit.scenario.fit.site import Element


def described(element: Element, resource: str, zone: str) -> str:
    """Return what an element states about the site, without a stop.

    ``zone`` is the pool's clock, for elements without one of their own.
    """
    if element.window is not None:
        return wording.first_upper(rule_text(element.window, resource, element.zone or zone))
    if element.policy is not None:
        return policy(element.policy)
    if element.ahead is not None:
        names = ", ".join(map(wording.name, element.ahead.names))
        where = "with qos" if element.ahead.by == "qos" else "in partition"
        return f"Jobs {where} {names} go before others"
    if element.ceilings:
        number = sum((one.until - one.since) // 86_400 for one in element.ceilings)
        return f"The capacity was smaller on {wording.plural(number, 'day')}"
    return f"Each of {wording.plural(element.nodes or 0, 'node')} runs one job at a time"


def policy(assumed: Policy) -> str:
    """Return a policy as a sentence without its stop."""
    bounds = [
        f"{setting.says} {value:,}"
        for key, setting in SETTINGS.items()
        if (value := getattr(assumed, key)) is not None
    ]
    more = f", with {' and '.join(bounds)}" if bounds else ""
    return f"Order {assumed.order.value}, backfilling {assumed.backfill.value}{more}"


TRIED: Final = pl.Schema(
    {
        "element": pl.String,  # JSON
        **dict.fromkeys(("gain", "lower", "upper", "explains"), pl.Float64),
        "fails": pl.String,
        "ended": pl.Boolean,
    }
)
"""The elements tried, in order, and whether the budget ended the search; see ``search.Tried``."""

_ELEMENT: Final = TypeAdapter(Element)


def as_frame(found: Searched | None) -> pl.DataFrame:
    """Return what was tried as rows of ``TRIED``; the last row has no element."""
    tried: Sequence[Tried] = () if found is None else found.tried
    none = (None, None, None)
    rows: list[tuple[object, ...]] = [
        (as_json(one.element), *(one.gain or none), one.explains, one.fails, None) for one in tried
    ]
    rows.append((None, *none, None, None, found is not None and found.ended))
    return pl.DataFrame(rows, TRIED, orient="row")


def from_frame(frame: pl.DataFrame) -> tuple[list[Tried], bool]:
    """Return what was tried, and whether the budget ended the search, from such rows."""
    tried = [
        Tried(
            from_json(element), None if gain is None else Gain(gain, lower, upper), explains, fails
        )
        for element, gain, lower, upper, explains, fails, _ in frame[:-1].iter_rows()
    ]
    return tried, bool(frame["ended"][-1])


def as_json(element: Element) -> str:
    """Return an element as JSON."""
    return _ELEMENT.dump_json(element).decode()


def from_json(text: str) -> Element:
    """Return an element from its JSON."""
    return _ELEMENT.validate_json(text)

"""``fairaudit fit-policy``: how a site decides, as far as its log tells."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl
from pydantic import TypeAdapter

from audit.errors import UsageError
from audit.files import folders, replace
from audit.metrics.draws import Draws
from audit.model import Pool
from audit.oneoff.fit_policy import page, writing
from audit.oneoff.fit_policy.page import Found
from audit.oneoff.study import Made, Plan
from audit.pipeline.opening import Log, pools
from audit.report.study.cells import Cell, studied
from audit.scenario.fit import outcome
from audit.scenario.fit.search import Gain, Searched, Tried
from audit.scenario.fit.site import Element

KEY: Final = "fit-policy"
BUDGET_S: Final = 60.0
"""Of one processor, of all pools together."""


def plan(
    only: str | None = None, budget_s: float = BUDGET_S, write: Path | None = None
) -> Callable[[Log, Draws], Plan]:
    """What to do with a log.

    Args:
        only: the pool to look at; None: all that hold attempts.
        budget_s: what the search may take of one processor, s; estimated, not measured.
        write: a file that gets the site as a config.toml; None: there is none.

    Raises:
        UsageError: that file is there already, or cannot be written.
    """
    if write is not None:
        _refuse(write)

    def of_log(log: Log, draws: Draws) -> Plan:
        chosen = [pool._replace(zone=str(log.setting.zone)) for pool in pools(log, only)]
        each = budget_s / len(chosen)
        now = log.setting.now
        begins = [outcome.affordable(log.described, pool, each).since for pool in chosen]
        cells = [
            Cell(pool.name, partial(_searched, log.described, pool, now, each, draws, since))
            for pool, since in zip(chosen, begins, strict=True)
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            found = []
            for pool, since, frame in zip(chosen, begins, frames, strict=True):
                tried, ended = from_frame(frame)
                told = outcome.outcome(log.described, pool, now, tried, draws, since)
                found.append(Found(pool, told, each, ended))
            if write is not None:
                text = writing.config_toml(log.setting.cluster, str(log.setting.zone), found)
                _put(write, text)
            rows = [row for one in found for row in _rows(one)]
            return Made(page.study(log.setting.cluster, found, draws), studied(rows))

        return Plan(json.dumps([only, budget_s, draws.number]), cells, finish)

    return of_log


def _refuse(file: Path) -> None:
    """Before the long work: a configuration is nobody's to overwrite."""
    if file.exists():
        raise UsageError(f"--write {file}: is there already; name a new file")
    if not file.parent.is_dir():
        raise UsageError(f"--write {file}: name a file in a folder that exists")
    folders.require(file.parent)


def _put(file: Path, text: str) -> None:
    _refuse(file)
    try:
        replace.write(file, text.encode(), alone=True)
    except OSError as error:
        raise UsageError(f"--write {file}: cannot be written ({error.strerror})") from error


def _searched(
    described: pl.DataFrame, pool: Pool, now: int, seconds: float, draws: Draws, since: int | None
) -> pl.DataFrame:
    found = outcome.find(described, pool, now, seconds, draws, since)
    return as_frame(None if found is None else found)


def _rows(found: Found) -> list[tuple[object, ...]]:
    """How well the site is known, as rows of the database."""
    result = found.outcome
    return [
        (found.pool.name, setting, metric, "all", None, value, None, None, unit, attempts)
        for setting, standing, fidelity in (
            ("as assumed", result.before, result.before_fidelity),
            ("as fitted", result.after, result.after_fidelity),
        )
        for metric, value, unit, attempts in (
            ("unexplained_share", standing.unexplained, "1", standing.attempts),
            ("agreement", standing.agreement, "1", standing.attempts),
            ("foreseen_share", standing.foreseen, "1", standing.attempts),
            ("decision_loss", standing.loss, "nats", standing.attempts),
            ("forward_correlation", fidelity.over_all, "1", fidelity.attempts),
            ("forward_correlation_waited", fidelity.waited, "1", fidelity.attempts),
        )
    ]


# --- elements as text, so that what a search has found can be kept and read again ----------------


TRIED: Final = pl.Schema(
    {
        "element": pl.String,
        "gain": pl.Float64,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "explains": pl.Float64,
        "fails": pl.String,
        "ended": pl.Boolean,
    }
)
"""What was tried, in order, and whether the budget ended the search; see ``search.Tried``."""

_ELEMENT: Final = TypeAdapter(Element)
_NO_GAIN: Final = (None, None, None)


def as_frame(found: Searched | None) -> pl.DataFrame:
    """What was tried, as rows of ``TRIED``; the last row is of no element."""
    tried = () if found is None else found.tried
    rows: list[tuple[object, ...]] = [
        (as_text(one.element), *(one.gain or _NO_GAIN), one.explains, one.fails, None)
        for one in tried
    ]
    rows.append((None, *_NO_GAIN, None, None, found is not None and found.ended))
    return pl.DataFrame(rows, TRIED, orient="row")


def from_frame(frame: pl.DataFrame) -> tuple[list[Tried], bool]:
    """The same back: what was tried, and whether the budget ended the search."""
    tried = [
        Tried(
            from_text(element),
            None if gain is None else Gain(gain, lower, upper),
            explains,
            fails,
        )
        for element, gain, lower, upper, explains, fails, _ in frame[:-1].iter_rows()
    ]
    return tried, bool(frame["ended"][-1])


def as_text(element: Element) -> str:
    """An element as JSON."""
    return _ELEMENT.dump_json(element).decode()


def from_text(text: str) -> Element:
    """The same back."""
    return _ELEMENT.validate_json(text)

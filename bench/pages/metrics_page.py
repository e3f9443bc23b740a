"""Writes what docs/metrics.md takes from the registry of measures: `make metrics-page`.

The rest of the page is written by hand. The text between two marks,

    <!-- measures: NAME -->
    <!-- end -->

is replaced by what `PARTS[NAME]` makes of audit/registry.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from audit.registry import columns, measures
from audit.registry.columns import Column
from audit.registry.measure import Measure

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join([_row(titles), "|" + "---|" * len(titles), *(_row(row) for row in rows)])


def _meaning(measure: Measure) -> str:
    source = f" ({measure.source})" if measure.source else ""
    return f"{measure.meaning}{source}{f'; {measure.when}' if measure.when else ''}"


def _summary() -> str:
    return _table(
        ("metric", "unit", "dimensions", "definition"),
        (
            (f"`{one.key}`", one.unit, ", ".join(one.dimensions), _meaning(one))
            for one in measures.SUMMARY.values()
        ),
    )


def _fidelity() -> str:
    return "\n".join(
        f"- `{one.key}` ({one.unit}): {one.meaning}." for one in measures.FIDELITY.values()
    )


def _columns(listed: Iterable[Column]) -> str:
    return "\n".join(f"- `{one.key}`: {one.comment}." for one in listed if one.unit)


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "summary": _summary,
    "fidelity": _fidelity,
    "attempts": lambda: _columns(columns.OF_ATTEMPTS),
    "owners": lambda: _columns(columns.OF_ENTITIES),
}


def filled(page: str) -> str:
    """The page with what stands between the marks made anew."""
    return re.sub(
        r"(<!-- measures: (\w+) -->\n).*?(<!-- end -->)",
        lambda found: f"{found[1]}{PARTS[found[2]]()}\n{found[3]}",
        page,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

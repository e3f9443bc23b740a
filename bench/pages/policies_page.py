"""Writes the table of policies in docs/simulation.md from their registry: `make metrics-page`."""

import re
from pathlib import Path
from typing import Final

from audit.policies import SETTINGS, Backfill, Order, takers

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "simulation.md"


def table() -> str:
    """Every order, backfilling and setting, with what it means and what it needs."""
    needs = {None: "", "priority": "priorities in the log", "usage": "usage ([clusters.usage])"}
    settings = {fill: [key for key in SETTINGS if fill in takers(key)] for fill in Backfill}
    lines = [
        "| key in config.toml | option | meaning | requirement, or settings |",
        "|---|---|---|---|",
        *(
            f'| `order = "{order.value}"` | `--order {order.value}` | {order.traits.label} '
            f"| {needs[order.traits.needs]} |"
            for order in Order
        ),
        *(
            f'| `backfill = "{fill.value}"` | `--backfill {fill.value}` | {fill.traits.label} '
            f"| {', '.join(f'`{key}`' for key in settings[fill])} |"
            for fill in Backfill
        ),
        *(f"| `{key}` | `{one.flag} N` | {one.help} | |" for key, one in SETTINGS.items()),
    ]
    return "\n".join(lines)


def filled(page: str) -> str:
    """The page with the table made anew."""
    marks = r"(<!-- policies -->\n).*?(<!-- end -->)"
    return re.sub(marks, lambda found: f"{found[1]}{table()}\n{found[2]}", page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

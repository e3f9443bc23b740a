"""Figures of speed: what was measured, as it is kept in RESULTS.json."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple


class Beside(NamedTuple):
    """Another work, done in turns with ours."""

    what: str
    seconds: float  # user CPU
    ratio: float  # ours over it; less is better
    noise: float  # of the ratio, by how much of it a round typically differed


class Figure(NamedTuple):
    """One thing that was measured. Times are user CPU of all threads, s."""

    stage: str
    what: str
    size: int | None
    seconds: float
    twin: Beside | None = None
    """Another way to the same result."""
    limit: Beside | None = None
    """The least that has to be done for it."""
    others: tuple[Beside, ...] = ()
    """Further works that took turns with it."""
    peak_mib: float | None = None
    goal: float | None = None
    """Greatest acceptable ratio to the twin; without a twin, the greatest seconds."""
    peak_goal: float | None = None
    """Greatest acceptable ``peak_mib``."""

    @property
    def key(self) -> tuple[str, str, int | None, str]:
        """The key that two runs must share for their ratios to be comparable."""
        return self.stage, self.what, self.size, self.compared.what if self.compared else ""

    @property
    def compared(self) -> Beside | None:
        """The comparison that the check uses."""
        return self.twin or self.limit

    @property
    def missed(self) -> bool:
        """Whether a goal was missed."""
        value = self.twin.ratio if self.twin else self.seconds
        over = self.goal is not None and value > self.goal
        peak = self.peak_goal is not None and (self.peak_mib or 0.0) > self.peak_goal
        return over or peak


def dumped(machine: str, figures: Iterable[Figure]) -> str:
    """As JSON, a figure to a line, rounded: more digits would only change from run to run."""
    lines = ",\n".join(f"  {json.dumps(_plain(figure))}" for figure in figures)
    return f'{{\n "machine": {json.dumps(machine)},\n "figures": [\n{lines}\n ]\n}}\n'


def loaded(text: str) -> list[Figure]:
    """The way back from ``dumped``."""
    return [_figure(entry) for entry in json.loads(text)["figures"]]


def _figure(entry: dict[str, Any]) -> Figure:
    known: dict[str, Any] = {"size": None, **entry}
    for name in ("twin", "limit"):
        if name in known:
            known[name] = Beside(**known[name])
    known["others"] = tuple(Beside(**one) for one in known.get("others", ()))
    return Figure(**known)


def _plain(entry: Figure | Beside) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in entry._asdict().items():
        if isinstance(value, Beside):
            made[name] = _plain(value)
        elif isinstance(value, tuple):
            made |= {name: [_plain(one) for one in value]} if value else {}
        elif value is not None:
            made[name] = float(f"{value:.4g}") if isinstance(value, float) else value
    return made

"""The study of penalties after [M]: its Table 1, figures 1 and 3 to 6, and examples.

All figures follow from the formulas of ``metrics.fairshare.penalty``; no log is needed.

Source: [M] D. Klusáček, H. Rudová, M. Jaroš, Multi Resource Fairness: Problems and Challenges.
"""

from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from audit.array_types import Floats
from audit.metrics.fairshare.penalty import (
    RESOURCES,
    WEIGHTED,
    Hardware,
    compare,
    moved,
    of_fractions,
    relative_penalty,
)
from audit.metrics.fairshare.usage import Windows
from audit.studies.penalties.rules import (
    PenaltyVerdict,
    check_at,
    linear_on_symmetric_line,
    named,
    rules,
)

EVEN: Final = (1.0, 1.0)
WEIGHTS: Final = (2.0, 1.0)
"""Of processors and memory, as in [M] fig. 5."""
STEPS: Final = 16
"""Steps of a surface from 0 to 1."""


class RuledPenalty(NamedTuple):
    """A penalty of the table of rules."""

    label: str
    penalty: str  # of ``penalty.RELATIVE``
    formula: int | None  # its number in [M]
    in_table_1: bool = False
    weights: tuple[float, ...] = EVEN  # for rules 1 to 4
    exempt: tuple[str, ...] = ()


ROWS: Final = (
    RuledPenalty("cpu", "cpu", 2, True),
    RuledPenalty("max", "max", 3, True),
    RuledPenalty("max_capped", "max_capped", 4, weights=WEIGHTS),
    RuledPenalty("max_scaled", "max_scaled", 5, weights=WEIGHTS),
    RuledPenalty("product", "product", 7),
    RuledPenalty("product_weighted", "product_weighted", 8, True, WEIGHTS),
    RuledPenalty("sum", "sum", 9),
    RuledPenalty("sum_weighted", "sum_weighted", 10, True, WEIGHTS),
    RuledPenalty("root", "root", 11),
    RuledPenalty("root_weighted", "root_weighted", 12, True, WEIGHTS),
    RuledPenalty("root, GPUs exempt", "root", None, weights=(1.0, 1.0, 1.0), exempt=("gpus",)),
    RuledPenalty("pe", "pe", None),
    # Divided by the bill of the whole pool, with weights times amounts as weights.
    RuledPenalty("billing", "sum_weighted", None, weights=WEIGHTS),
    RuledPenalty("billing, MAX_TRES", "max_scaled", None, weights=WEIGHTS),
)
"""All penalties of SPEC §7."""


def judged() -> list[tuple[RuledPenalty, tuple[PenaltyVerdict, ...], bool]]:
    """Return each of ``ROWS`` with its verdicts, and whether it is linear on the symmetric line.

    Rules 1 to 4 are judged under the row's weights.
    """
    found = []
    for row in ROWS:
        resources = len(row.weights)
        form, weights = named(row.penalty, resources, row.exempt), np.array(row.weights)
        fifth = rules(row.penalty, resources, row.exempt)[4]
        verdicts = (*check_at(form, weights), fifth)
        found.append((row, verdicts, linear_on_symmetric_line(form, weights)))
    return found


def surface(penalty: str, weights: tuple[float, float] = EVEN) -> pl.DataFrame:
    """Return a penalty over processors and memory, with ``STEPS`` steps from 0 to 1.

    Columns are cpus and mem_bytes (fractions; the latter varies faster) and penalty.
    """
    part = np.arange(STEPS + 1) / STEPS
    cpus, memory = (axis.ravel() for axis in np.meshgrid(part, part, indexing="ij"))
    heights = _of(penalty, cpus, memory, weights)
    return pl.DataFrame({"cpus": cpus, "mem_bytes": memory, "penalty": heights})


class Surfaces(NamedTuple):
    """A figure of [M]: two surfaces side by side."""

    number: int
    panels: tuple[tuple[str, tuple[float, float]], ...]  # penalty and weights of each
    marked: bool = False  # with the lines that rule 3 demands, and the symmetric line


FIGURES: Final = (
    Surfaces(3, (("cpu", EVEN), ("max", EVEN))),
    Surfaces(4, (("product", EVEN), ("sum", EVEN))),
    Surfaces(5, (("root", EVEN), ("root_weighted", WEIGHTS))),
    Surfaces(6, (("max", EVEN), ("root", EVEN)), marked=True),
)


class Problem(NamedTuple):
    """A request that a weighted maximum does not charge as rule 3 requires; [M] §3.1."""

    problem: str
    penalty: str
    weight_dear: float
    weight_cheap: float
    dear: float  # fraction of the more expensive resource
    cheap: float
    asked: str  # by rule 3

    @property
    def charged(self) -> float:
        """The penalty of the request."""
        weights = (self.weight_dear, self.weight_cheap)
        return float(_of(self.penalty, self.dear, self.cheap, weights))


_BELOW, _ONE = "below 1: half is left", "1: nothing of the cheap resource is left"
PROBLEMS: Final = (
    Problem("A", "max_capped", 2.0, 1.0, 0.5, 0.0, _BELOW),
    Problem("A", "max_scaled", 2.0, 1.0, 0.5, 0.0, _BELOW),
    Problem("B", "max_capped", 1.0, 0.1, 0.5, 1.0, _ONE),
    Problem("B", "max_scaled", 2.0, 1.0, 0.1, 1.0, _ONE),
)
"""Problems A and B of formulas (4) and (5), with [M]'s numbers."""

COMPARED: Final = ("cpu", "max", "product", "product_weighted", "sum", "root")


def splitting() -> pl.DataFrame:
    """Return the cost of one job, and of nine jobs with a ninth each, under weights of 1. [M] §3.2

    In total, the jobs hold 9 of 10 processors and 9 (symmetric) or 1.8 (asymmetric) of 10 GB.
    """
    cases = {"symmetric": 0.9, "asymmetric": 0.18}
    return pl.DataFrame(
        {"penalty": name}
        | {
            f"{case}_{word}": jobs * float(_of(name, 1 / jobs * 0.9, 1 / jobs * memory))
            for case, memory in cases.items()
            for word, jobs in (("one", 1), ("nine", 9))
        }
        for name in COMPARED
    )


NODES: Final = 2
NODE: Final = {"cpus": 80, "mem_bytes": 512 * 2**30}
"""Of the node in [M] fig. 1."""
FORTNIGHT_S: Final = 14 * 86_400


def fortnight() -> pl.DataFrame:
    """Return the usage of two users of two nodes under each penalty (``penalty.compare``).

    After [M] fig. 1: for a fortnight, one holds all memory and a tenth of the processors of a node,
    the other all processors and an eighth of the memory of the other node.
    """
    attempts = pl.DataFrame(
        {
            "user": ["memory", "processors"],
            "start_time": [0, 0],
            "end_time": [FORTNIGHT_S] * 2,
            "cpus": [NODE["cpus"] // 10, NODE["cpus"]],
            "mem_bytes": [NODE["mem_bytes"], NODE["mem_bytes"] // 8],
            "gpus": [0, 0],
            "nodes": [1, 1],
        }
    )
    node = Hardware(available=NODE, basis="node", pool_nodes=NODES)
    return compare(
        {name: relative_penalty(attempts, name, node).charged for name in COMPARED},
        "user",
        Windows(interval_s=FORTNIGHT_S, depth=1, decay=1.0),
        FORTNIGHT_S,
        FORTNIGHT_S,
    )


def charged(compared: pl.DataFrame) -> pl.DataFrame:
    """Return both users' fractions of all usage in ``fortnight``.

    Columns are penalty, memory, processors, and moved: the fraction of all usage that is charged to
    another user than by the first penalty.
    """
    parts = compared.pivot("entity", index="penalty", values="usage_fraction")
    apart = pl.col("penalty").replace_strict(moved(compared), return_dtype=pl.Float64)
    return parts.select("penalty", "memory", "processors", moved=apart)


def exempting() -> pl.DataFrame:
    """Return the penalty ``root`` of GPUs alone, with (exempt) and without (root) exempting them.

    ``gpus`` is the fraction held; no processors and memory are used.
    """
    gpus = np.array([0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
    held = dict.fromkeys(RESOURCES[:2], np.zeros_like(gpus)) | {"gpus": gpus}
    root, exempt = (of_fractions("root", held, exempt=names) for names in ((), ("gpus",)))
    return pl.DataFrame({"gpus": gpus, "root": root, "exempt": exempt})


def _of(
    penalty: str, cpus: ArrayLike, memory: ArrayLike, weights: tuple[float, float] = EVEN
) -> Floats:
    names = RESOURCES[:2]
    held = dict(zip(names, (cpus, memory), strict=True))
    by_name = dict(zip(names, weights, strict=True)) if penalty in WEIGHTED else None
    return of_fractions(penalty, held, weights=by_name)

"""The study of penalties after [M]: what each rule is broken by, and what the choice changes.

Everything here is computed from the formulas of ``fairshare.penalty``, with [M]'s numbers as input:
its Table 1, the surfaces of its figures 3 to 6, its examples, and its figure 1 made small. Frames
out; no log is needed.

Source: [M] D. Klusáček, H. Rudová, M. Jaroš, Multi Resource Fairness: Problems and Challenges.
"""

from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from audit.metrics.fairshare.penalty import (
    RESOURCES,
    WEIGHTED,
    Hardware,
    of_fractions,
    relative_penalty,
)
from audit.metrics.fairshare.penalty_choice import compare, moved
from audit.metrics.fairshare.penalty_rules import (
    Floats,
    SymmetricLine,
    Verdict,
    check_at,
    named,
    rules,
    symmetric_line,
)
from audit.metrics.fairshare.usage import Windows

WEIGHTS: Final = (2.0, 1.0)
"""Of processors and memory, as in [M] fig. 5."""

STEPS: Final = 16
"""A surface has so many steps from 0 to 1."""


class Row(NamedTuple):
    """A penalty of the table of rules."""

    label: str
    penalty: str
    """Of ``penalty.RELATIVE``: what it is judged as."""
    formula: int | None
    """Its number in [M]."""
    in_table_1: bool = False
    """Whether [M] Table 1 has it."""
    weights: tuple[float, ...] = (1.0, 1.0)
    """What rules 1 to 4 are judged with."""
    exempt: tuple[str, ...] = ()


ROWS: Final = (
    Row("cpu", "cpu", 2, True),
    Row("max", "max", 3, True),
    Row("max_capped", "max_capped", 4, weights=WEIGHTS),
    Row("max_scaled", "max_scaled", 5, weights=WEIGHTS),
    Row("product", "product", 7),
    Row("product_weighted", "product_weighted", 8, True, WEIGHTS),
    Row("sum", "sum", 9),
    Row("sum_weighted", "sum_weighted", 10, True, WEIGHTS),
    Row("root", "root", 11),
    Row("root_weighted", "root_weighted", 12, True, WEIGHTS),
    Row("root, GPUs exempt", "root", None, weights=(1.0, 1.0, 1.0), exempt=("gpus",)),
    Row("pe", "pe", None),
    # Divided by what the whole pool is billed, with weights times amounts as weights.
    Row("billing", "sum_weighted", None, weights=WEIGHTS),
    Row("billing, MAX_TRES", "max_scaled", None, weights=WEIGHTS),
)
"""All penalties of SPEC §7."""


class Judged(NamedTuple):
    """What the checker found of a row."""

    row: Row
    verdicts: tuple[Verdict, ...]
    line: SymmetricLine


def judged() -> tuple[Judged, ...]:
    """The five rules, and the symmetric line, of each of ``ROWS``.

    Rules 1 to 4 under the row's weights; rule 5 under all that it is tried with.
    """
    return tuple(_judged(row) for row in ROWS)


def _judged(row: Row) -> Judged:
    resources = len(row.weights)
    form, weights = named(row.penalty, resources, row.exempt), np.array(row.weights)
    fifth = rules(row.penalty, resources, row.exempt)[4]
    return Judged(row, (*check_at(form, weights), fifth), symmetric_line(form, weights))


def surface(penalty: str, weights: tuple[float, float] = (1.0, 1.0)) -> pl.DataFrame:
    """A penalty over processors and memory, as [M] draws it.

    Returns:
        cpus and mem_bytes, fractions from 0 to 1 in ``STEPS`` steps, the latter quicker; penalty.
    """
    part = np.arange(STEPS + 1) / STEPS
    cpus, memory = (axis.ravel() for axis in np.meshgrid(part, part, indexing="ij"))
    heights = _of(penalty, cpus, memory, weights)
    return pl.DataFrame({"cpus": cpus, "mem_bytes": memory, "penalty": heights})


class Figure(NamedTuple):
    """A figure of [M]: two surfaces side by side."""

    number: int
    panels: tuple[tuple[str, tuple[float, float]], ...]
    """Penalty and weights of each."""
    marked: bool = False
    """Whether the point and the lines that rule 3 demands are drawn, and the symmetric line."""


FIGURES: Final = (
    Figure(3, (("cpu", (1.0, 1.0)), ("max", (1.0, 1.0)))),
    Figure(4, (("product", (1.0, 1.0)), ("sum", (1.0, 1.0)))),
    Figure(5, (("root", (1.0, 1.0)), ("root_weighted", WEIGHTS))),
    Figure(6, (("max", (1.0, 1.0)), ("root", (1.0, 1.0))), marked=True),
)


class Problem(NamedTuple):
    """A weighted maximum that does not do what it should; [M] §3.1."""

    name: str
    penalty: str
    weights: tuple[float, float]
    dear: float
    """Fraction of the dearer resource."""
    cheap: float
    asked: str
    """What rule 3 asks for instead."""

    @property
    def charged(self) -> float:
        """The penalty there."""
        return float(_of(self.penalty, self.dear, self.cheap, self.weights))


_BELOW, _ONE = "below 1: half is left", "1: nothing of the cheap one is left"
PROBLEMS: Final = (
    Problem("A", "max_capped", (2.0, 1.0), 0.5, 0.0, _BELOW),
    Problem("A", "max_scaled", (2.0, 1.0), 0.5, 0.0, _BELOW),
    Problem("B", "max_capped", (1.0, 0.1), 0.5, 1.0, _ONE),
    Problem("B", "max_scaled", (2.0, 1.0), 0.1, 1.0, _ONE),
)
"""Problems A and B of formulas (4) and (5), with [M]'s numbers."""


def splitting() -> pl.DataFrame:
    """One job or nine of a ninth each, under each penalty with weights 1. [M] §3.2

    The jobs hold 9 of 10 processors and 9 of 10 GB, or 1.8 of 10 GB, in all.

    Returns:
        penalty; symmetric_one and symmetric_nine, asymmetric_one and asymmetric_nine: the penalty
        of the one job, and of the nine in sum.
    """
    rows = []
    for name in ("cpu", "max", "product", "product_weighted", "sum", "root"):
        costs: dict[str, str | float] = {"penalty": name}
        for case, memory in (("symmetric", 0.9), ("asymmetric", 0.18)):
            whole, ninth = ((part * 0.9, part * memory) for part in (1.0, 1 / 9))
            for jobs, (cpus, mem) in ((1, whole), (9, ninth)):
                cost = jobs * float(_of(name, cpus, mem))
                costs[f"{case}_{'one' if jobs == 1 else 'nine'}"] = cost
        rows.append(costs)
    return pl.DataFrame(rows)


NODES: Final = 2
NODE: Final = {"cpus": 80, "mem_bytes": 512 * 2**30}
"""Of the node in [M] fig. 1."""
FORTNIGHT_S: Final = 14 * 86_400


def fortnight() -> pl.DataFrame:
    """Who is charged for which part of two nodes, after [M] fig. 1.

    For a fortnight one user holds all the memory and a tenth of the processors of a node; another
    all the processors and an eighth of the memory of the other node.

    Returns:
        What ``penalty_choice.compare`` gives, by user, under each penalty with weights 1.
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
    names = ("cpu", "max", "product", "product_weighted", "sum", "root")
    return compare(
        {name: relative_penalty(attempts, name, node).charged for name in names},
        "user",
        Windows(interval_s=FORTNIGHT_S, depth=1, decay=1.0),
        FORTNIGHT_S,
        FORTNIGHT_S,
    )


def charged(compared: pl.DataFrame) -> pl.DataFrame:
    """Whose usage ``fortnight`` says it is.

    Returns:
        penalty; memory and processors, the users' parts of all usage; moved: the part of all usage
        that is charged to others than by the first penalty. All 0 to 1.
    """
    parts = compared.pivot("entity", index="penalty", values="usage_fraction")
    apart = pl.col("penalty").replace_strict(moved(compared), return_dtype=pl.Float64)
    return parts.select("penalty", "memory", "processors", moved=apart)


def exempting() -> pl.DataFrame:
    """What ``root`` charges for GPUs alone, with and without exempting them.

    Returns:
        gpus, the fraction held, nothing else being used of processors and memory; root, exempt.
    """
    gpus = np.array([0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
    held = dict.fromkeys(RESOURCES[:2], np.zeros_like(gpus)) | {"gpus": gpus}
    return pl.DataFrame(
        {
            "gpus": gpus,
            "root": of_fractions("root", held),
            "exempt": of_fractions("root", held, exempt=("gpus",)),
        }
    )


def _of(
    penalty: str,
    cpus: ArrayLike,
    memory: ArrayLike,
    weights: tuple[float, float] = (1.0, 1.0),
) -> Floats:
    """A penalty at parts of processors and memory."""
    names = RESOURCES[:2]
    return of_fractions(
        penalty,
        dict(zip(names, (cpus, memory), strict=True)),
        weights=dict(zip(names, weights, strict=True)) if penalty in WEIGHTED else None,
    )

"""`make bench`: each goal beside what is measured, in one run. Ends with 1 where one is missed.

Ratios are of medians over rounds in which both sides take turns, after a warm-up, so that whatever
else the machine does touches both. Absolute times hold for this machine only.
"""

import os
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import commands
import ingest
import kernels
import operators
import policy_grid
import reading
import resource_equality
import share_tree_history
import simulation
import usage_history
import user_policies
import whole_audit

from audit.metrics.fairshare.operators import OPERATORS


class Line(NamedTuple):
    what: str
    ours: str
    theirs: str
    measured: str
    goal: str
    holds: bool


def machine() -> str:
    """What the figures were measured on; no names of hosts or users."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "polars", "cython"))
    return (
        f"{len(os.sched_getaffinity(0))} cores, {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}, {libraries}, load {os.getloadavg()[0]:.1f}"
    )


def ingest_lines() -> list[Line]:
    return [*_stored(), *_parsed()]


def _parsed() -> list[Line]:
    measured = {dialect: ingest.parsed(dialect) for dialect in ingest.SPLIT}
    return [
        Line(
            f"{dialect} parsed, against a bare split of its lines, CPU",
            f"{got['ours']:,.0f} /s",
            f"{got['split']:,.0f} /s",
            f"{got['ratio']:.2f} × the records/s",
            f"≥ {ingest.SPLIT_GOAL}, or {ingest.ENOUGH:,} /s",
            got["ratio"] >= ingest.SPLIT_GOAL or got["ours"] >= ingest.ENOUGH,
        )
        for dialect, got in measured.items()
    ]


def _stored() -> list[Line]:
    measured = {dialect: ingest.ratio(dialect) for dialect in ingest.DIALECTS}
    return [
        Line(
            f"{dialect} ingest, {ingest.RECORDS:,} records, {kind}",
            f"{got[f'{name}_ours']:.2f} s",
            f"{got[f'{name}_csv']:.2f} s",
            f"{got[f'ratio_{name}']:.2f} × the rows/s",
            f"≥ {ingest.GOAL}",
            got[f"ratio_{name}"] >= ingest.GOAL,
        )
        for dialect, got in measured.items()
        for name, kind in (("wall", "wall"), ("cpu", "CPU"))
    ]


def reading_lines() -> list[Line]:
    measured = {dialect: reading.measured(dialect) for dialect in reading.DIALECTS}
    return [
        Line(
            f"{dialect} read, {reading.RECORDS:,} records, CPU",
            f"{got.per_second:,.0f}/s",
            f"{got.per_second / got.ratio:,.0f}/s",
            f"{got.ratio:.2f} × a bare split",
            f"≥ {reading.goal(dialect)}",
            got.ratio >= reading.goal(dialect) or got.per_second >= reading.PER_SECOND,
        )
        for dialect, got in measured.items()
    ]


def resource_equality_lines() -> list[Line]:
    got = resource_equality.ratio()
    return [
        Line(
            f"resource equality, {resource_equality.ATTEMPTS_MEASURED:,} attempts, CPU",
            f"{got['cpu_kernel']:.3f} s",
            f"{got['cpu_sql']:.2f} s",
            f"{got['ratio']:.3f} × the CPU",
            f"≤ {resource_equality.GOAL}",
            got["ratio"] <= resource_equality.GOAL,
        )
    ]


def usage_lines() -> list[Line]:
    got = usage_history.ratio()
    return [
        Line(
            f"daily usage history, 5 years, 1 M attempts, {name}, CPU",
            f"{got[f'cpu_{name}']:.3f} s",
            f"{got['cpu_pass']:.3f} s",
            f"{got[f'ratio_{name}']:.1f} × one pass",
            f"≤ {usage_history.GOAL:g}",
            got[f"ratio_{name}"] <= usage_history.GOAL,
        )
        for name in ("windows", "half_life")
    ]


def share_tree_lines() -> list[Line]:
    got = share_tree_history.ratio()
    return [
        Line(
            f"daily history of a tree of {share_tree_history.USERS:,} users, 5 years, {name}, CPU",
            f"{got[f'cpu_{name}']:.3f} s",
            f"{got['cpu_pass']:.3f} s",
            f"{got[f'ratio_{name}']:.1f} × one pass",
            f"≤ {share_tree_history.GOAL:g}",
            got[f"ratio_{name}"] <= share_tree_history.GOAL,
        )
        for name in ("windows", "half_life")
    ]


def operator_lines() -> list[Line]:
    got = operators.costs()
    yardstick = got["subtraction"]
    return [
        Line(
            f"priority operator {name}, ns per evaluation, CPU",
            f"{got[name]:.1f}",
            f"{yardstick:.1f}",
            f"{got[name] / yardstick:.1f} × a subtraction",
            f"≤ {operators.GOAL:g}",
            got[name] <= operators.GOAL * yardstick,
        )
        for name in OPERATORS
    ]


def kernel_lines() -> list[Line]:
    return [
        Line(
            figure.what,
            f"{figure.measured_s:.2f}",
            "",
            f"{figure.measured_s:.2f} s of user CPU",
            f"≤ {figure.goal_s:g}",
            figure.measured_s <= figure.goal_s,
        )
        for figure in kernels.figures()
    ]


def simulation_lines() -> list[Line]:
    return [
        Line(
            figure.what,
            f"{figure.ours:.3f}",
            "" if figure.theirs is None else f"{figure.theirs:.3f}",
            f"{figure.value:.2f}" + ("" if figure.theirs is None else " ×"),
            f"{'≥' if figure.at_least else '≤'} {figure.goal:g}",
            figure.holds,
        )
        for figure in simulation.figures()
    ]


def audit_lines() -> list[Line]:
    real = whole_audit.real_log()
    with tempfile.TemporaryDirectory() as folder:
        cost = whole_audit.cost(real or whole_audit.demo(Path(folder)))
    name = "KTH-SP2" if real else "demo log (FAIRAUDIT_REAL_LOGS names no KTH-SP2)"
    return [
        Line(
            f"whole audit with PDF, {name}, warm",
            f"{cost.wall_s:.2f} s",
            "",
            f"{cost.cpu_s:.2f} s CPU, peak {cost.peak_mib:.0f} MiB",
            f"≤ {whole_audit.GOAL:.0f} s",
            cost.wall_s <= whole_audit.GOAL,
        )
    ]


def command_lines() -> list[Line]:
    log = "KTH-SP2" if whole_audit.real_log() else "demo log"
    return [
        Line(
            f"{figure.what}, {log}, warm",
            f"{figure.user_s:.2f} s",
            "",
            "user CPU",
            f"≤ {figure.goal_s:g} s",
            figure.user_s <= figure.goal_s,
        )
        for figure in commands.figures()
    ]


def grid_lines() -> list[Line]:
    real = whole_audit.real_log()
    with tempfile.TemporaryDirectory() as folder:
        cost = policy_grid.cost(real or whole_audit.demo(Path(folder)))
    name = "KTH-SP2" if real else "demo log (FAIRAUDIT_REAL_LOGS names no KTH-SP2)"
    return [
        Line(
            f"policy grid, {cost.combinations} combinations, 5,000 attempts, {name}",
            f"{cost.wall_s:.1f} s",
            "",
            f"{cost.cpu_s:.1f} s CPU, {policy_grid.THREADS} threads",
            f"≤ {policy_grid.GOAL:.0f} s",
            cost.wall_s <= policy_grid.GOAL,
        )
    ]


def user_lines() -> list[Line]:
    real = whole_audit.real_log()
    with tempfile.TemporaryDirectory() as folder:
        cost = user_policies.cost(real or whole_audit.demo(Path(folder)))
    name = "KTH-SP2" if real else "demo log"
    return [
        Line(
            f"[K]'s six policies, twice, {cost.attempts:,} attempts, {name}",
            f"{cost.wall_s:.1f} s",
            "",
            f"{cost.cpu_s:.1f} s CPU, {user_policies.THREADS} threads",
            f"≤ {user_policies.GOAL:.0f} s",
            cost.wall_s <= user_policies.GOAL,
        )
    ]


def main() -> int:
    print(machine(), flush=True)
    titles = ("what", "ours", "yardstick", "measured", "goal", "")
    row = "{:<62} {:>9} {:>10}  {:<28} {:>7}  {}"
    print(row.format(*titles), flush=True)
    missed = 0
    for measure in (
        kernel_lines,
        ingest_lines,
        reading_lines,
        resource_equality_lines,
        usage_lines,
        share_tree_lines,
        operator_lines,
        audit_lines,
        command_lines,
        grid_lines,
        user_lines,
        simulation_lines,
    ):
        for line in measure():
            missed += not line.holds
            print(row.format(*line[:5], "holds" if line.holds else "MISSED"), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

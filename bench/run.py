"""`make bench`: how fast each stage is, beside its twin and its limit, into RESULTS.md.

    python -m bench.run                               # all stages; up to a million attempts
    python -m bench.run --sizes 10000,100000,10000000
    python -m bench.run --only metrics,ingest         # in RESULTS.json the others stay as they are
    python -m bench.run --check                       # writes nothing; 1 where a ratio got worse

Each stage runs in a separate process that prints its figures as JSON. One that fails, or takes
longer than ``--minutes``, is reported, and the run ends with 1. The check compares ratios with
those of RESULTS.json (``measure.comparing``); stages that seem worse are measured once more.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from bench.measure import page
from bench.measure.comparing import Change, changes
from bench.measure.figures import Figure, dumped, loaded
from bench.measure.growth import growths
from bench.measure.machine import whole

HERE = Path(__file__).parent
KEPT, PAGE = HERE / "RESULTS.json", HERE / "RESULTS.md"
SIZES = (10_000, 100_000, 1_000_000)
CHECKED = (10_000, 100_000)
"""Sizes of a check, which is quick and shows most changes."""
MINUTES = 10.0
"""Time limit of a stage."""
Made = dict[str, list[Figure]]
"""Figures by stage."""
STAGES = {
    # by name: its module in bench.stages
    "start-up": "commands",
    "kernels": "kernels",
    "ingest": "ingest",
    "metrics": "metrics",
    "queues": "queues",
    "fairshare": "usage",
    "share-tree": "share_tree",
    "simulation": "simulation",
    "delivered": "delivered",
    "public": "public",
    "audits": "audits",
    "audit-stages": "audit_stages",
    "rendering": "rendering",
}


def child(stage: str, sizes: Sequence[int]) -> None:
    """Measures one stage in this process; a figure to a line."""
    for figure in import_module(f"bench.stages.{STAGES[stage]}").measure(sizes):
        print(json.dumps(dumped("", [figure])), flush=True)


def measured(stage: str, sizes: Sequence[int], minutes: float) -> Iterator[Figure]:
    """The figures of a stage, as they come.

    Raises:
        RuntimeError: it failed, or took too long; what it had measured has been given.
    """
    command = [sys.executable, "-m", "bench.run", "--child", stage, "--sizes", _comma(sizes)]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=HERE.parent, process_group=0
    )
    late = threading.Timer(60 * minutes, _stopped, [running.pid])
    late.start()
    try:
        assert running.stdout is not None
        for line in running.stdout:
            yield from loaded(json.loads(line))
        code = running.wait()
    finally:
        in_time = late.is_alive()
        late.cancel()
        _stopped(running.pid)
        running.wait()
    if code != 0:
        raise RuntimeError(f"ended with {code}" if in_time else "took too long")


def _stopped(group: int) -> None:
    """Ends a stage and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _comma(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sizes))


def all_of(stages: Sequence[str], sizes: Sequence[int], minutes: float) -> tuple[Made, bool]:
    """The figures of these stages, said as they come, and whether all stages came to their end."""
    begin, made, whole_run = time.monotonic(), Made(), True
    for stage in stages:
        print(f"{stage} …", file=sys.stderr, flush=True)
        made[stage] = []
        try:
            for figure in measured(stage, sizes, minutes):
                made[stage].append(figure)
                print(said(figure, time.monotonic() - begin), flush=True)
        except (RuntimeError, KeyboardInterrupt) as error:
            whole_run = False
            why = "interrupted" if isinstance(error, KeyboardInterrupt) else error
            print(f"*** NOT MEASURED, all or some of {stage}: {why} ***", flush=True)
    return made, whole_run


def said(figure: Figure, elapsed_s: float) -> str:
    """One line."""
    size = "" if figure.size is None else f"{figure.size:,}"
    side = figure.compared
    ratio = f"{page.number(side.ratio)} × {side.what} (± {side.noise:.0%})" if side else ""
    missed = "  MISSED" if figure.missed else ""
    what = f"{figure.stage}: {figure.what}"
    return f"{elapsed_s:5.0f} s  {what:<62} {size:>10} {figure.seconds:9.3f} s  {ratio}{missed}"


def write(figures: Sequence[Figure], elapsed_s: float) -> None:
    """RESULTS.json, RESULTS.md and its pictures."""
    from bench.measure.pictures import picture

    machine = whole()
    KEPT.write_text(dumped(machine, figures), encoding="utf-8")
    grown = growths(figures)
    names = []
    for stage in dict.fromkeys(one.stage for one in grown):
        names.append(f"results-{stage.lower().replace(' ', '-')}.svg")
        of = [one for one in grown if one.stage == stage]
        (HERE / names[-1]).write_text(picture(stage, of), encoding="utf-8")
    took = f"{elapsed_s / 60:.0f} minutes"
    PAGE.write_text(page.page(machine, took, figures, names), encoding="utf-8")


def kept() -> list[Figure]:
    """The figures of RESULTS.json; none where it is missing."""
    return loaded(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []


def together(before: Sequence[Figure], new: Sequence[Figure]) -> list[Figure]:
    """All figures; new ones replace older ones."""
    fresh = {figure.stage for figure in new}
    order = dict.fromkeys(figure.stage for figure in (*before, *new))
    return [
        figure
        for stage in order
        for figure in (new if stage in fresh else before)
        if figure.stage == stage
    ]


def worse(stages: Sequence[str], sizes: Sequence[int], minutes: float) -> tuple[list[Change], bool]:
    """The figures that got worse in two measurements, and whether all stages finished."""
    then = kept()
    made, whole_run = all_of(stages, sizes, minutes)
    compared = {stage: changes(then, figures) for stage, figures in made.items()}
    print(f"{sum(map(len, compared.values()))} ratios compared with those of {KEPT.name}")
    slow = {stage: [one for one in of if one.worse] for stage, of in compared.items()}
    doubtful = [stage for stage, of in slow.items() if of]
    if not doubtful:
        return [], whole_run
    print(f"{sum(map(len, slow.values()))} seem worse: once more", flush=True)
    again, whole_again = all_of(doubtful, sizes, minutes)
    keys = {one.now.key for of in slow.values() for one in of}
    both = (one for of in again.values() for one in changes(then, of) if one.now.key in keys)
    return [one for one in both if one.worse], whole_run and whole_again


def main() -> int:
    parser = argparse.ArgumentParser(description="how fast each stage is, into RESULTS.md")
    parser.add_argument("--sizes", help="numbers of attempts, such as 10000,100000")
    parser.add_argument("--only", help=f"some of {', '.join(STAGES)}")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="what a stage may take")
    parser.add_argument("--check", action="store_true", help="compare with RESULTS.json")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sizes = tuple(map(int, asked.sizes.split(","))) if asked.sizes else ()
    if asked.child:
        child(asked.child, sizes)
        return 0
    stages = asked.only.split(",") if asked.only else list(STAGES)
    if unknown := set(stages) - set(STAGES):
        parser.error(f"no stage {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    begin = time.monotonic()
    if asked.check:
        slower, whole_run = worse(stages, sizes or CHECKED, asked.minutes)
        for one in slower:
            print(f"WORSE: {told(one)}")
        print(f"{len(slower)} ratios got worse" if slower else "nothing got worse")
        return 1 if slower or not whole_run else 0
    made, whole_run = all_of(stages, sizes or SIZES, asked.minutes)
    figures = [figure for of in made.values() for figure in of]
    figures = together(kept(), figures) if asked.only else figures
    write(figures, time.monotonic() - begin)
    print(f"written: {PAGE.name}; {sum(figure.missed for figure in figures)} goals are missed")
    return 0 if whole_run else 1


def told(change: Change) -> str:
    """A line for each figure that got worse, with the factor."""
    size = "" if change.now.size is None else f", {change.now.size:,}"
    tolerated = f"{1 + change.tolerance:.2f} times are tolerated"
    what = f"{change.now.stage}: {change.now.what}{size}"
    return f"{what}: {change.factor:.2f} times the ratio of {KEPT.name}, {tolerated}"


if __name__ == "__main__":
    sys.exit(main())

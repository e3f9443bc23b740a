"""How a whole audit grows with its log: CPU and memory of each stage, in docs/scale.md.

    make bench-large                                  # up to 1 M attempts; some minutes
    python -m bench.scale.large_audit --attempts 10000000   # one size, printed

KTH-SP2 repeated end to end (`repeated_log`), audited without PDF and advice, one process for each
size. Stages are those of `audit --timings`. A stage's exponent is the power of the number of
attempts with which its CPU grew from the smallest size to the largest.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from audit.files import caches
from audit.pipeline.opening import Session
from audit.timings import Timings
from bench.logs.real import real_log
from bench.logs.repeated_log import repeated_logs
from bench.measure.growth import exponent
from bench.measure.machine import additions_s, machine

SCALE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"
TITLE = "## Whole audits"
SIZES = (100_000, 200_000, 1_000_000)
GOALS = {"exponent": 1.1, "cpu_s": 55.0, "peak_mib": 900.0}
"""Of each stage that takes a second of the largest audit, of 200,000 attempts, and of 1 M."""
ADDITIONS_S = 1.8
"""Of the machine of the goal in CPU seconds, see ``machine.additions_s``."""


class Audit(NamedTuple):
    """The cost of an audit."""

    cpu_s: dict[str, float]  # by stage
    peak_mib: float
    additions_s: float  # of the machine when it began and ended, the mean


def _measure(logs: list[Path], out: Path) -> Audit:
    """Audits logs in this process."""
    caches.give_back()
    watch = Timings()
    from audit import config
    from audit.oneoff import audit
    from audit.pipeline.opening import LogRequest

    simulation = config.Config().simulation.model_copy(update={"advice_budget_s": 0})
    chosen = config.Config(simulation=simulation)
    session = Session(LogRequest(logs=logs), chosen, on_progress=watch.update)
    audit.audit(session, audit.AuditOptions(out=out, pdf=False))
    watch.end()
    cpu_s: dict[str, float] = {}
    for stage in watch.stages:
        name = "reading" if stage.name.startswith("reading ") else stage.name
        cpu_s[name] = cpu_s.get(name, 0.0) + stage.cpu_s
    return Audit(cpu_s, max(stage.peak_mib or 0.0 for stage in watch.stages), math.nan)


def audit(attempts: int) -> Audit:
    """The cost of an audit of ``records`` attempts, in a separate process.

    Raises:
        RuntimeError: FAIRAUDIT_REAL_LOGS names no KTH-SP2.
    """
    kth = real_log()
    if kth is None:
        raise RuntimeError("FAIRAUDIT_REAL_LOGS names no folder with KTH-SP2")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = Path(name)
        logs = repeated_logs(kth, attempts, folder)
        before = additions_s()
        child = subprocess.run(
            [sys.executable, "-m", __spec__.name, "--child", str(folder / "out"), *map(str, logs)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    *stages, peak = child.stdout.splitlines()
    cpu = {stage: float(seconds) for stage, seconds in (line.split("\t") for line in stages)}
    return Audit(cpu, float(peak), (before + additions_s()) / 2)


def measured(sizes: tuple[int, ...]) -> dict[int, Audit]:
    """Audits of these numbers of attempts, said as they end."""
    made = {}
    for size in sizes:
        made[size] = audit(size)
        said = f"{sum(made[size].cpu_s.values()):.1f} s CPU, peak {made[size].peak_mib:,.0f} MiB"
        print(f"{size:,} attempts: {said}", flush=True)
    return made


def exponents(made: dict[int, Audit]) -> dict[str, float]:
    """By stage, with which power of the number of attempts its CPU grew; NaN: not known."""
    first, last = min(made), max(made)
    powers = {
        stage: exponent([(first, made[first].cpu_s[stage]), (last, spent)])
        for stage, spent in made[last].cpu_s.items()
        if stage in made[first].cpu_s
    }
    return {stage: math.nan if power is None else power for stage, power in powers.items()}


def missed(made: dict[int, Audit]) -> list[str]:
    """The goals that do not hold."""
    largest = made[max(made)].cpu_s
    wrong = [
        f"{stage}: grows with the power {power:.2f}"
        for stage, power in exponents(made).items()
        if largest[stage] >= 1 and power > GOALS["exponent"]
    ]
    if (fewer := made.get(200_000)) is not None:
        spent, most = sum(fewer.cpu_s.values()), _most_cpu_s(fewer)
        if spent > most:
            wrong.append(f"200,000 attempts: {spent:.1f} s CPU, and {most:.0f} at most here")
    if (million := made.get(1_000_000)) is not None and million.peak_mib > GOALS["peak_mib"]:
        wrong.append(f"1 M attempts: {million.peak_mib:,.0f} MiB")
    return wrong


def _most_cpu_s(made: Audit) -> float:
    """The goal in CPU seconds, on a machine as fast as this one was."""
    return GOALS["cpu_s"] * made.additions_s / ADDITIONS_S


def table(made: dict[int, Audit]) -> str:
    """The stages by size, as Markdown."""
    lines = [
        f"| CPU s by stage | {' | '.join(f'{size:,}' for size in made)} | exponent |",
        f"|---|{'---:|' * (len(made) + 1)}",
    ]
    for stage, power in exponents(made).items():
        seconds = " | ".join(f"{one.cpu_s[stage]:,.2f}" for one in made.values())
        lines.append(f"| {stage} | {seconds} | {'' if math.isnan(power) else f'{power:.2f}'} |")
    sums = " | ".join(f"{sum(one.cpu_s.values()):,.1f}" for one in made.values())
    peaks = " | ".join(f"{one.peak_mib:,.0f}" for one in made.values())
    return "\n".join([*lines, f"| **all** | {sums} | |", f"| **peak, MiB** | {peaks} | |"])


def _missed_in_words(made: dict[int, Audit]) -> str:
    wrong = missed(made)
    return f"Missed: {'; '.join(wrong)}." if wrong else "All hold."


def _write(text: str) -> None:
    """Puts the section into docs/scale.md, for the one that was there; others stay."""
    before, _, old = SCALE.read_text(encoding="utf-8").partition(TITLE)
    _, heading, after = old.partition("\n## ")
    SCALE.write_text(f"{before.rstrip()}\n\n{text}\n{heading}{after}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="how a whole audit grows with its log")
    parser.add_argument(
        "--attempts", type=int, help="audit this number of attempts, and write no page"
    )
    parser.add_argument("--child", nargs="+", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        done = _measure(arguments.child[1:], arguments.child[0])
        for stage, seconds in done.cpu_s.items():
            print(f"{stage}\t{seconds}")
        print(done.peak_mib)
        return 0
    made = measured((arguments.attempts,) if arguments.attempts else SIZES)
    print(table(made))
    if not arguments.attempts:
        _write(
            f"{TITLE}\n\nKTH-SP2 repeated end to end and audited without PDF and advice: CPU of "
            f"all threads, in seconds, by stage of `audit --timings` ({machine()}), measured by "
            f"`make bench-large`.\n\n{table(made)}\n\nGoals: 200,000 attempts "
            f"in ≤ {GOALS['cpu_s']:.0f} CPU s where 20 million additions by Python take "
            f"{ADDITIONS_S} s ({_most_cpu_s(made[200_000]):.0f} here), 1 M in "
            f"≤ {GOALS['peak_mib']:,.0f} MiB, and no stage that grows with a power above "
            f"{GOALS['exponent']}. {_missed_in_words(made)}"
        )
    wrong = missed(made)
    print("\n".join(f"MISSED: {line}" for line in wrong) or "all goals hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""The share of starts that the other run, and a whole replay, give on time.

python -m bench.modern.ceiling
"""

import math
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from audit import config
from audit.oneoff.simulate import simulate
from audit.pipeline.opening import LogRequest, Session
from audit.scenario.scenario import ScenarioChange
from bench.modern.captured import CAPTURES, Capture
from bench.modern.record import CLUSTERS

WAITED_S: Final = 60
"""Jobs that waited longer are judged."""


class Start(NamedTuple):
    """Of a job's first attempt."""

    at: float
    """Seconds since the first submission."""
    wait: float
    partition: str


Starts = Mapping[tuple[str, str], Start]
"""By key of the submission and number of the array's task."""


def starts(attempts: pl.DataFrame, capture: Capture) -> Starts:
    """Return the starts of first attempts."""
    keys = capture.keys()
    start = "first_start_time" if "first_start_time" in attempts.columns else "start_time"
    first = attempts.filter(pl.col("attempt") == 1, pl.col(start).is_not_null())
    columns = ("job_id", start, "arrival_time", "partition")
    found = {}
    for job, start, arrival, partition in first.select(columns).iter_rows():
        submission, _, task = job.partition("_")
        found[keys[submission], task] = Start(start - capture.begin, start - arrival, partition)
    return found


def replayed(folder: Path) -> pl.DataFrame:
    """Return a whole replay of a site's log; see ``Capture.site``."""
    out = folder / "replay.parquet"
    site = config.load(folder / "config.toml")
    simulate(Session(LogRequest(logs=[folder / "sacct.txt"]), site), ScenarioChange(), out)
    return pl.read_parquet(out)


def on_time(truth: Starts, other: Starts, which: Collection[str]) -> tuple[int, int]:
    """Return the number of waiting jobs that start on time in ``other``, and of all of them."""
    waited = {
        job: one for job, one in truth.items() if one.wait > WAITED_S and one.partition in which
    }
    near = [
        job
        for job, one in waited.items()
        if job in other and abs(other[job].at - one.at) <= max(60, 0.1 * one.wait)
    ]
    return len(near), len(waited)


def share(pairs: Iterable[tuple[int, int]]) -> float:
    """The mean of some shares."""
    shares = [part / whole for part, whole in pairs]
    return sum(shares) / len(shares)


GROUPS: Final[Mapping[str, Collection[str]]] = {
    "all": ("whole", "cpu", "bigmem", "cpu,bigmem", "gpu", "debug", "scavenger"),
    "whole nodes": ("whole",),
    "shared nodes": ("cpu", "bigmem", "cpu,bigmem", "gpu", "debug", "scavenger"),
    **{name: (name,) for name in ("cpu", "bigmem", "gpu", "debug", "scavenger")},
}
"""Partitions by group."""


class Figures(NamedTuple):
    """Of one group of jobs; the shares are means of both clusters."""

    judged: tuple[int, int]
    share: float


def compared(truths: Mapping[str, Starts], others: Mapping[str, Starts]) -> dict[str, Figures]:
    """Return the share of starts on time in each group, of each cluster beside its other starts."""
    made = {}
    for group, which in GROUPS.items():
        counts = [on_time(truths[name], others[name], which) for name in CLUSTERS]
        if all(whole for _, whole in counts):
            made[group] = Figures((counts[0][1], counts[1][1]), share(counts))
    return made


def observed(name: str, folder: Path) -> Starts:
    """Return the starts of a cluster; ``folder`` then holds its log and configuration."""
    folder.mkdir()
    capture = Capture(CAPTURES / name)
    return starts(capture.site(folder).described, capture)


def ceilings(truths: Mapping[str, Starts]) -> dict[str, Figures]:
    """Return the share of starts that the other cluster has on time."""
    one, two = CLUSTERS
    return compared(truths, {one: truths[two], two: truths[one]})


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Path(folder, name) for name in CLUSTERS}
        truths = {name: observed(name, place) for name, place in places.items()}
        highest = ceilings(truths)
        replays = {
            name: starts(replayed(place), Capture(CAPTURES / name))
            for name, place in places.items()
        }
        for group, ours in compared(truths, replays).items():
            ceiling = highest[group].share
            ratio = ours.share / ceiling if ceiling else math.nan
            print(
                f"{group:13} judged {ours.judged[0]:3} and {ours.judged[1]:3}  "
                f"ceiling {ceiling:.3f}  ours {ours.share:.3f}  ratio {ratio:.2f}"
            )


if __name__ == "__main__":
    main()

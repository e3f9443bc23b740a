"""The submissions to the site and the acts of its administrators, the same for each cluster.

python -m bench.modern.workload   # the load of each pool
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

Kind = TypeVar("Kind")

SEED: Final = 4
SUBMISSIONS_S: Final = 1_750
"""Jobs arrive within this many seconds; about as many again until the last has ended."""


@dataclass(frozen=True)
class Job:
    """One call of sbatch."""

    key: str
    user: str
    words: tuple[str, ...]
    run: str
    """A line of shell."""
    tasks: int = 1


@dataclass(frozen=True)
class Act:
    """One call of a program, not of sbatch; ``{key}`` is replaced by the id of that job."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Event:
    """Something that happens some seconds after the beginning."""

    at_s: float
    what: Job | Act


USERS: Final = {
    "cpu": {"games": 5, "mail": 3, "news": 3, "list": 4, "irc": 3, "uucp": 4, "proxy": 2, "man": 2},
    "bigmem": {"uucp": 3, "proxy": 3, "list": 1},
    "whole": {"games": 3, "mail": 2, "list": 3, "irc": 2},
    "gpu": {"backup": 5, "lp": 4, "proxy": 2, "news": 1, "man": 1},
    "debug": {"games": 1, "news": 2, "list": 1, "backup": 2, "lp": 1, "proxy": 1},
    "scavenger": {"man": 3, "mail": 2, "irc": 2, "backup": 1},
}
"""Weights of the users of each partition."""

CAMPAIGNS: Final = {"cpu": 50, "bigmem": 12, "whole": 17, "gpu": 40, "debug": 22, "scavenger": 20}


class Draw:
    """A seeded source of jobs."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.pick = self._random.choice
        self.uniform = self._random.uniform
        self.whole = self._random.randint
        self.chance = self._random.random

    def weighted(self, weights: dict[Kind, int]) -> Kind:
        return self._random.choices([*weights], [*weights.values()])[0]

    def seconds(self, median: float) -> int:
        """Return the runtime of a job: 15 s to 10 minutes."""
        return round(min(600, max(15, self._random.lognormvariate(0, 0.8) * median)))

    def walltime(self, seconds: int) -> int:
        """Return the requested minutes: mostly far more than needed, sometimes too few."""
        if self.chance() < 0.03 and seconds > 70:
            return seconds // 60
        return min(60, 1 + round(seconds / 60 * self.pick((1.1, 1.5, 2, 3, 5))))


def _cpu(draw: Draw) -> Iterator[str]:
    cpus = draw.weighted({1: 5, 2: 4, 4: 6, 8: 6, 12: 2, 16: 2, 32: 1})
    kind = draw.weighted({"plain": 10, "memory": 3, "feature": 2, "whole": 1, "either": 2})
    if cpus == 32:
        yield from ("-N2", "--ntasks-per-node=12")
    elif cpus == 8 and draw.chance() < 0.4:
        yield from ("-n8", "-c1")
    else:
        yield from ("-n1", f"-c{cpus}")
    if kind == "memory":
        whole = "--mem=56000M" if cpus <= 8 else "--mem-per-cpu=3000M"
        yield draw.pick(("--mem-per-cpu=7000M", "--mem-per-cpu=3500M", whole))
    elif kind == "feature":
        yield f"--constraint={draw.pick(('avx2', 'avx512', 'avx2|avx512'))}"
    elif kind == "whole":
        yield "--exclusive"
    yield "--partition=cpu,bigmem" if kind == "either" else "--partition=cpu"


def _bigmem(draw: Draw) -> Iterator[str]:
    memory = draw.weighted({30: 2, 60: 3, 100: 3, 200: 1})
    yield from ("--partition=bigmem", "-n1", f"-c{draw.pick((1, 2, 4))}", f"--mem={memory}G")


def _whole(draw: Draw) -> Iterator[str]:
    nodes = draw.weighted({1: 6, 2: 5, 3: 1, 4: 1})
    yield from ("--partition=whole", f"-N{nodes}", f"--ntasks-per-node={draw.pick((8, 16))}")


def _gpu(draw: Draw) -> Iterator[str]:
    count = draw.weighted({1: 8, 2: 5, 3: 1, 4: 3})
    kind = draw.weighted({"": 4, "a100:": 3, "v100:": 3})
    yield from ("--partition=gpu", "-n1", f"-c{draw.pick((1, 2, 4)) * count}")
    if count > 1 and draw.chance() < 0.15:
        yield from ("-N2", "--ntasks-per-node=1", f"--gpus-per-node={kind}{count}")
    else:
        yield f"{draw.pick(('--gres=gpu:', '--gpus=', '--gres=gpu:'))}{kind}{count}"


def _debug(draw: Draw) -> Iterator[str]:
    yield from ("--partition=debug", "-n1", f"-c{draw.pick((4, 8))}")


def _scavenger(draw: Draw) -> Iterator[str]:
    yield from ("--partition=scavenger", "--qos=scavenging", "-n1", f"-c{draw.pick((1, 2, 4, 8))}")


REQUESTS: Final[dict[str, Callable[[Draw], Iterator[str]]]] = {
    "cpu": _cpu,
    "bigmem": _bigmem,
    "whole": _whole,
    "gpu": _gpu,
    "debug": _debug,
    "scavenger": _scavenger,
}
MEDIAN_S: Final = {
    "cpu": 115, "bigmem": 110, "whole": 90, "gpu": 120, "debug": 60, "scavenger": 170,
}  # fmt: skip


def campaigns(draw: Draw) -> Iterator[Event]:
    """Similar jobs of a user, shortly after one another; one campaign in six is an array."""
    for partition, count in CAMPAIGNS.items():
        for number in range(count):
            at = draw.uniform(0, SUBMISSIONS_S)
            user = draw.weighted(USERS[partition])
            words = [*REQUESTS[partition](draw)]
            if partition != "scavenger":
                quality = draw.weighted({"normal": 12, "high": 2, "low": 2})
                words.append(f"--qos={quality}")
            size = draw.weighted({1: 6, 2: 4, 3: 3, 5: 1})
            typical = draw.seconds(MEDIAN_S[partition])
            key = f"{partition}{number}"
            if size == 5 or (size == 3 and draw.chance() < 0.4):
                yield _array(draw, key, at, user, words, typical)
                continue
            for part in range(size):
                seconds = min(600, max(15, round(typical * draw.uniform(0.7, 1.4))))
                extra = ("--nice=300",) if draw.chance() < 0.03 else ()
                job = _job(f"{key}-{part}", user, [*words, *extra], seconds, draw.walltime(seconds))
                yield Event(at + 3 * part, job)


def _job(
    key: str, user: str, words: Sequence[str], seconds: int, minutes: int, run: str | None = None
) -> Job:
    named = (f"--job-name={key}", *words, f"--time={_limit(words, minutes)}")
    return Job(key, user, named, run or f"sleep {seconds}")


def _limit(words: Sequence[str], minutes: int) -> int:
    greatest = {"--partition=debug": 5, "--partition=scavenger": 30}
    return min([minutes, *(greatest[word] for word in words if word in greatest)])


def _array(draw: Draw, key: str, at: float, user: str, words: Sequence[str], typical: int) -> Event:
    tasks = draw.whole(4, 7)
    throttle = draw.pick(("", "%2", "%3"))
    words = (
        *words,
        f"--array=0-{tasks - 1}{throttle}",
        f"--time={_limit(words, draw.walltime(round(1.4 * typical)))}",
        f"--job-name={key}",
    )
    run = f"sleep $(( {typical} * (80 + 37 * SLURM_ARRAY_TASK_ID % 60) / 100 ))"
    return Event(at, Job(key, user, words, run, tasks))


def special() -> Iterator[Event]:
    """Jobs that wait for dependencies, begin times, holds or licences, and cancelled ones."""

    def job(at: float, key: str, user: str, *words: str, seconds: int = 60, run: str = "") -> Event:
        return Event(at, _job(key, user, words, seconds, 5, run or None))

    def act(at: float, *words: str) -> Event:
        return Event(at, Act(words))

    for number, at in enumerate((60, 500, 950, 1_400)):
        yield job(at, f"first{number}", "uucp", "-c4")
        after = f"--dependency=afterok:{{first{number}}}"
        yield job(at + 2, f"second{number}", "uucp", "-c8", after, seconds=90)
        after = f"--dependency=afterany:{{second{number}}}"
        yield job(at + 4, f"third{number}", "uucp", "-c2", after, seconds=30)
    for number, at in enumerate((120, 125, 130, 1_000)):
        yield job(at, f"single{number}", "list", "-c2", "--dependency=singleton", "-Jsingle")
    yield job(200, "fails", "irc", "-c1", run="sleep 40; exit 3")
    yield job(202, "never", "irc", "-c1", "--dependency=afterok:{fails}")
    yield act(900, "scancel", "{never}")
    for number, (at, wait) in enumerate(((90, 180), (400, 300), (800, 240), (1_300, 200))):
        yield job(at, f"begin{number}", "proxy", "-c2", f"--begin=now+{wait}")
        yield job(at + 20, f"held{number}", "mail", "-c2", "--hold")
        yield act(at + 20 + wait, "scontrol", "release", f"{{held{number}}}")
        yield job(at + 40, f"stopped{number}", "list", "-c4", "--begin=now+10")
        yield act(at + 42, "scontrol", "hold", f"{{stopped{number}}}")
        yield act(at + 40 + wait, "scontrol", "release", f"{{stopped{number}}}")
    for number in range(6):
        yield job(300 + 8 * number, f"licensed{number}", "news", "-c1", "-Lsolver:1", seconds=75)
    yield Event(
        350, Job("too-long", "man", ("-c1", "--time=90", "--job-name=too-long"), "sleep 20")
    )
    yield act(1_500, "scancel", "{too-long}")
    for number, at in enumerate((450, 1_100, 1_600)):
        yield job(at, f"unwanted{number}", "games", "-c16", "--nice=2000", seconds=300)
        yield act(at + 100, "scancel", f"{{unwanted{number}}}")
    yield job(640, "wants-drained", "irc", "-wc02", "-c4")
    yield job(910, "reserved", "uucp", "--reservation=course", "-c8", seconds=100)


def administration() -> Iterator[Event]:
    """Two drained nodes, a maintenance, and a reservation for a user."""

    def act(at: float, *words: str) -> Event:
        return Event(at, Act(words))

    yield act(600, "scontrol", "update", "nodename=c02", "state=drain", "reason=disk")
    yield act(1_080, "scontrol", "update", "nodename=c02", "state=resume")
    yield act(1_200, "scontrol", "update", "nodename=v02", "state=drain", "reason=fan")
    yield act(1_500, "scontrol", "update", "nodename=v02", "state=resume")
    reserve = ("scontrol", "create", "reservation")
    yield act(
        *(300, *reserve, "reservationname=cooling", "starttime=now+900", "duration=6"),
        *("nodes=w[03-04]", "flags=maint", "users=root"),
    )
    yield act(
        *(700, *reserve, "reservationname=course", "starttime=now+240", "duration=5"),
        *("nodes=c04", "users=uucp"),
    )


def events() -> list[Event]:
    """All, in order."""
    every = [*campaigns(Draw(SEED)), *special(), *administration()]
    return sorted(every, key=lambda event: event.at_s)


def main() -> None:
    jobs = [event.what for event in events() if isinstance(event.what, Job)]
    print(f"{len(jobs)} calls of sbatch, {sum(job.tasks for job in jobs)} jobs")
    load: Counter[str] = Counter()
    for job in jobs:
        name = next((w.split("=")[1] for w in job.words if w.startswith("--partition")), "cpu")
        number = {word[:2]: word[2:] for word in job.words if word[:2] in {"-c", "-N", "-n"}}
        cpus = int(number.get("-c", "8")) if name != "whole" else 16
        if number.get("-n") == "8":
            cpus = 8
        if any(word == "--mem-per-cpu=7000M" for word in job.words):
            cpus *= 2
        gpus = next((int(w[-1]) for w in job.words if w[:3] == "--g" and w[-1].isdigit()), 0)
        size = (gpus if name == "gpu" else cpus) * int(number.get("-N", "1"))
        text = job.run.replace("(", " ").split()
        seconds = next(int(word) for word in text if word.isdigit())
        load[name] += size * seconds * job.tasks
        load[f"{name} jobs"] += job.tasks
    capacity = {"cpu": 96, "whole": 64, "gpu": 16, "debug": 16}
    load["cpu"] += load["bigmem"] + load["cpu,bigmem"]
    for name, units in sorted(load.items()):
        share = f"{units / SUBMISSIONS_S / capacity[name]:.2f}" if name in capacity else ""
        print(name, units, share)


if __name__ == "__main__":
    main()

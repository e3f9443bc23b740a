"""Recompute the numbers on page one of a report from its log.

    python docs/report/recompute.py LOG REPORT.html [NODES [EVENTS]]

LOG is in the SWF, or the text of Slurm's sacct. NODES is the output of ``scontrol show node -o``,
and EVENTS that of ``sacctmgr -P show event``, if fairaudit read them. The script shares no code
with fairaudit: it reads the log itself (replay.py, slurm.py), takes the rules that the page names
as given, and computes each number from its definition. It prints a line per number, then how many
sentences it skips for which reason (``page_one.UNCHECKED``), then the other sentences with numbers
that it does not check. It exits with 1 if a number differs, or if more than ``MOST_UNCHECKED`` of
the latter are left. Intervals are bootstraps with other random numbers, so their ends may differ by
a part ``NOISE``.
"""

import gzip
import html
import math
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date
from functools import cached_property
from pathlib import Path

from nodes import OnNodes
from page_one import HEAD, UNCHECKED, Head, short_share
from pairs import Passed, passed_over
from replay import STRICT, Job, Log, Replay, Rule, read_rules, read_swf, width
from slurm import read_nodes, read_sacct, with_nodes

MOST_UNCHECKED = 1
NOISE = 0.2
RESAMPLES = 1_000
LEAST_UNITS = 8


class Facts:
    """The statements of a page, computed from the log."""

    def __init__(self, log: Log, rules: list[Rule], replay: Callable[[], Replay]) -> None:
        self.log, self.rules, self._replay = log, rules, replay
        self.jobs = [job for job in log.jobs if job.start is not None]
        self.first = min(job.end for job in self.jobs)  # where the log begins
        self.last = max(job.end for job in log.jobs)
        self.users = sorted({job.user for job in log.jobs})

    @cached_property
    def head(self) -> Head:
        return Head(self.log, self.rules, lambda: self.replay, self.machine, lambda: self.passed)

    @property
    def covered(self) -> int:
        """Days from the first end of a job to the last."""
        return (
            self.log.day(self.last) - self.log.day(min(job.end for job in self.log.jobs))
        ).days + 1

    @cached_property
    def replay(self) -> Replay:
        return self._replay()

    @cached_property
    def waits(self) -> list[tuple[Job, dict[str, float]]]:
        """Started jobs of known size, and the seconds of their waits by cause."""
        pairs = zip(self.log.jobs, self.replay.booked, strict=True)
        return [(job, book) for job, book in pairs if job.start is not None and job.size > 0]

    def share(self, cause: str, of: Callable[[Job], bool] = lambda _: True) -> float:
        chosen = [(book[cause], job.wait) for job, book in self.waits if of(job)]
        return sum(seconds for seconds, _ in chosen) / sum(wait for _, wait in chosen)

    def share_interval(self, cause: str) -> tuple[float, float] | str:
        """Return the interval over calendar weeks of arrival (days below 8 weeks), if any."""
        parts = [(self.log.day(job.arrival), book[cause], job.wait) for job, book in self.waits]
        weeks = [(day.isocalendar()[:2], above, below) for day, above, below in parts]
        parts = weeks if len({week for week, _, _ in weeks}) >= LEAST_UNITS else parts
        units = sorted({unit for unit, _, _ in parts})
        return self.interval(parts, units) if len(units) >= LEAST_UNITS else "no interval"

    def interval(self, parts, units=None) -> tuple[float, float]:
        """Return the bootstrap interval of a ratio of sums, from (unit, above, below)."""
        units, sums = units or self.users, defaultdict(lambda: [0.0, 0.0])
        for unit, above, below in parts:
            sums[unit][0] += above
            sums[unit][1] += below
        draw, ratios = random.Random(1), []
        for _ in range(RESAMPLES):
            drawn = [sums[unit] for unit in draw.choices(units, k=len(units)) if unit in sums]
            if below := sum(pair[1] for pair in drawn):
                ratios.append(sum(pair[0] for pair in drawn) / below)
        ratios.sort()
        return ratios[math.ceil(0.025 * len(ratios)) - 1], ratios[
            math.ceil(0.975 * len(ratios)) - 1
        ]

    @cached_property
    def machine(self) -> dict[date, list[float]]:
        """By day: seconds; busy and lost (idle while queued) CPU-seconds; seconds over capacity."""
        change: defaultdict[float, list[int]] = defaultdict(lambda: [0, 0])
        for job in self.jobs:
            change[job.arrival][1] += job.size
            change[job.start][0] += job.size
            change[job.start][1] -= job.size
            change[job.end][0] -= job.size
        day = self.log.day(self.first)
        while (edge := self.log.midnight(day)) < self.last:
            change[max(edge, self.first)][0] += 0
            day = date.fromordinal(day.toordinal() + 1)
        days: defaultdict[date, list[float]] = defaultdict(lambda: [0.0] * 4)
        times, used, queued, capacity = sorted(change), 0, 0, self.log.capacity
        for t, after in zip(times, [*times[1:], self.last], strict=True):
            used, queued = used + change[t][0], queued + change[t][1]
            if t < self.first:
                continue
            lost = min(max(capacity - used, 0), queued)
            for at, amount in enumerate((1, used, lost, used > capacity)):
                days[self.log.day(t)][at] += amount * (after - t)
        return days

    def of_time(self, at: int) -> float:
        """Return a share of the capacity (busy: 1, lost: 2), or of the time (over: 3)."""
        total = [sum(day[k] for day in self.machine.values()) for k in (0, at)]
        return total[1] / total[0] / (1 if at == 3 else self.log.capacity)

    def lost_interval(self) -> tuple[float, float]:
        parts = ((day, of[2], of[0] * self.log.capacity) for day, of in self.machine.items())
        return self.interval(parts, list(self.machine))

    @cached_property
    def shortfalls(self) -> list[tuple[Job, float]]:
        """Deserved minus consumed of each job of known size (Sabin and Sadayappan, section 3.2)."""
        change: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for job in self.jobs:
            for t, place, sign in (
                (job.arrival, 0, 1),
                (job.end, 0, -1),
                (job.start, 1, 1),
                (job.end, 1, -1),
            ):
                change[t][place] += sign * job.size
        integral, total, active, used, last = {}, 0.0, 0, 0, 0
        for t in sorted(change):
            total += used / active * (t - last) if active else 0.0
            integral[t], last = total, t
            active, used = active + change[t][0], used + change[t][1]
        return [
            (job, job.size * (integral[job.end] - integral[job.arrival] - job.length))
            for job in self.jobs if job.size > 0
        ]  # fmt: skip

    def shortfall(self, label: str = "") -> tuple[float, tuple[float, float]]:
        parts = [
            (job.user, max(short, 0.0), job.size * job.length)
            for job, short in self.shortfalls if label in ("", width(job.size))
        ]  # fmt: skip
        return sum(p[1] for p in parts) / sum(p[2] for p in parts), self.interval(parts)

    @property
    def peak(self) -> int:
        change: Counter[int] = Counter()
        for job in self.jobs:
            change[job.start] += job.size
            change[job.end] -= job.size
        used = peak = 0
        for t in sorted(change):
            used += change[t]
            peak = max(peak, used)
        return peak

    @cached_property
    def passed(self) -> dict[tuple[str, str], Passed]:
        return passed_over(self.log)


# --- numbers as pages write them -----------------------------------------------------------------


def two(value: float) -> str:
    """Return a number to two significant digits, at most one of them after the point."""
    if abs(value) < 0.05:
        return "under 0.1" if value > 0 else "0"
    rounded = round(value, min(1 - math.floor(math.log10(abs(value))), 1))
    return f"{rounded:,.0f}" if rounded == int(rounded) else f"{rounded:,.1f}"


def percent(share: float) -> str:
    return f"{two(100 * share)} %"


def one_in(share: float) -> str:
    return f"1 in {round(1 / share)}" if share < 0.28 else f"{round(10 * share)} in 10"


def long_date(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


# --- the sentences of page one -------------------------------------------------------------------

N, P = r"(\d[\d,]*)", r"((?:under )?[\d.,]+ %)"
I = r"(?: \(([^()]*\d[^()]*) %\))?"  # noqa: E741
Expected = list[object]  # of each group: text, the ends of an interval, or None for what is given


CLAIMS: list[tuple[str, Callable[[Facts, re.Match], Expected]]] = [
    (
        rf"^Fairness audit · .* · (?:(\d+ \w+ \d+) to )?(\d+ \w+ \d+) · (?:pool \w+ · )?{N} jobs? "
        rf"of {N} users?(?:, started {N} times)?",
        lambda f, m: [
            m[1] and long_date(f.log.day(f.first)), long_date(f.log.day(f.last)),
            f"{len({job.number for job in f.jobs}):,}", f"{len(f.users):,}", f"{len(f.jobs):,}",
        ],
    ),
    (rf"{P} of all waiting time is unexplained{I}", lambda f, m: [
        percent(f.share("unexplained")), f.share_interval("unexplained")]),
    (rf"For {P} of all waiting time{I} enough was free, and only .*? kept the job from starting",
     lambda f, m: [percent(f.share("free")), f.share_interval("free")]),
    (r"keep jobs waiting while capacity is free: .*\.$", lambda f, m: []),
    (rf"no job ended on {N} of the {N} days from the first end of a job to the last", lambda f, m: [
        f"{f.covered - len({f.log.day(job.end) for job in f.jobs}):,}", f"{f.covered:,}"]),
    (rf"For {P} of the time, more than {N} CPUs were in use \(up to {N}\)",
     lambda f, m: [short_share(f.of_time(3)), f"{f.log.capacity:,}", f"{f.peak:,}"]),
    (rf"^(.* in .*?) jobs received less .*?; the shortfall is {P} of all consumption{I}",
     lambda f, m: [one_in(sum(s > 0 for _, s in f.shortfalls) / len(f.shortfalls)),
                   percent(f.shortfall()[0]), f.shortfall()[1]]),
    (rf"Jobs of (.+) CPUs? have the largest shortfall: {P} of what they consumed{I}", lambda f, m: [
        None, percent(f.shortfall(m[1])[0]), f.shortfall(m[1])[1]]),
    (rf"{P} of the capacity{I} was idle while", lambda f, m: [
        percent(f.of_time(2)), f.lost_interval()]),
]  # fmt: skip


def same(shown: str, expected: object) -> bool:
    """Return whether a page shows what was recomputed; the ends of intervals with some noise."""
    if not isinstance(expected, tuple):
        return expected is None or shown == expected
    low, high = (float(re.sub("under |,", "", end)) for end in re.split("–| to ", shown))
    slack = NOISE * (high - low) + 10 ** (math.floor(math.log10(max(abs(high), 1))) - 1)
    return all(abs(a - 100 * b) <= slack for a, b in zip((low, high), expected, strict=True))


def check(text: str, facts: Facts) -> tuple[list[tuple[str, str, bool]], list[str], list[str]]:
    """Return a line per number, the reasons of what is skipped, and sentences that are left."""
    lines, rest, skipped = [], text, []
    claims = [(facts, *claim) for claim in CLAIMS] + [(facts.head, *claim) for claim in HEAD]
    for of, pattern, expect in claims:
        for m in re.finditer(pattern, text):
            for shown, expected in zip(m.groups(), expect(of, m), strict=True):
                if shown is not None and expected is not None:
                    is_tuple = isinstance(expected, tuple)
                    value = " to ".join(percent(end) for end in expected) if is_tuple else expected
                    lines.append((shown, value, same(shown, expected)))
            rest = rest.replace(m[0], "…")
    for pattern, reason in UNCHECKED.items():
        rest, number = re.subn(pattern, "…", rest)
        skipped += [reason] * number
    left = [one for one in re.split(r"(?<=[.;]) ", rest) if re.search(r"\d", one)]
    return lines, skipped, left


def paragraphs(page: str) -> list[str]:
    """Return the paragraphs and rows of page one and of all findings as text."""
    begin = page.index('id="top"')
    findings = page.find('id="findings"')
    end = page.index("</ol>", findings) if findings >= 0 else page.index("<details", begin)
    part = page[page.index(">", begin) + 1 : end]
    hidden = r'<svg.*?</svg>|<div class="bar[^>]*>.*?</div>|<details class="query">.*?</details>'
    part = re.sub(f"(?s){hidden}", "", part)
    part = re.sub(r'<span class="(?:what|than)">', " | ", part)
    part = re.sub(r"</t[hd]><t[hd][^>]*>", " | ", part)
    part = re.sub(r"</?(?:p|li|tr|h1|h2|figcaption|div|ul|ol|section)\b[^>]*>", "\0", part)
    text = html.unescape(re.sub(r"<[^>]+>", "", part))
    return [" ".join(one.split()) for one in text.split("\0") if one.strip()]


def reservations(page: str) -> int:
    """Return how many jobs have a reservation, as the page states, or STRICT."""
    if "jobs hardly ever start while a job ahead of them cannot" in page:
        return STRICT
    return 20 if "This log shows reservations" in page else 0


def read(file: str) -> str:
    data = Path(file).read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("latin-1")


def facts_of(page: str, text: str, nodes: str, events: str) -> Facts:
    """Return the statements of a page, from the text of its log, and of nodes and their drains."""
    depth = reservations(page)
    if not text.startswith(";"):
        pool = re.search(r'<p class="kicker">.*?pool (\w+) ·', page)
        log, requests = read_sacct(text, pool and pool[1])
        if not nodes:
            return Facts(log, [], lambda: Replay(log, [], depth))
        machines = read_nodes(nodes, events)
        log = with_nodes(log, machines)
        return Facts(log, [], lambda: OnNodes(log, requests, machines, depth))
    log = read_swf(text.splitlines())
    named = re.findall(r"<li>(?:window|limit) \d+ of \d+: (.*?) \([^()]*\)</li>", page)
    rules = read_rules([html.unescape(re.sub(r"<[^>]+>", "", x)) for x in named], log)
    return Facts(log, rules, lambda: Replay(log, rules, depth))


def main(log_file: str, page_file: str, *of_nodes: str) -> int:
    page = Path(page_file).read_text(encoding="utf-8").replace("\u00a0", " ")
    nodes, events, *_ = (*map(read, of_nodes), "", "")
    facts = facts_of(page, read(log_file), nodes, events)
    wrong, unchecked, skipped = 0, [], Counter()
    print("page | recomputed | same?")
    for paragraph in paragraphs(page):
        lines, reasons, left = check(paragraph, facts)
        skipped.update(reasons)
        unchecked += left
        if lines:
            print(f"\n{paragraph}")
        for shown, value, agrees in lines:
            print(f"    {shown} | {value} | {'yes' if agrees else 'NO'}")
            wrong += not agrees
    print(f"\n{wrong} numbers differ. Not recomputed, with the reason:")
    print("", *(f"{n} × {reason}" for reason, n in skipped.items()), sep="\n    ")
    print(f"\nOther sentences that are not checked: {len(unchecked)} (at most {MOST_UNCHECKED})")
    print("", *unchecked, sep="\n    ")
    return int(wrong > 0 or len(unchecked) > MOST_UNCHECKED)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

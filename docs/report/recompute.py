"""Recompute the numbers on page one of a report from its log.

    python docs/report/recompute.py LOG REPORT.html

LOG is an SWF log. The script shares no code with fairaudit: it reads
the log itself (replay.py), takes the rules that the page names as given, and computes each number
from its definition. It prints a line per number, then the sentences with numbers that it does not
check: advice, figures of the model, and how many users could be tested, which depends on
unstartable jobs. It exits with 1 if a number differs, or if more than ``MOST_UNCHECKED`` sentences
besides advice are unchecked. Intervals are bootstraps with other
random numbers, so their ends may differ by a part ``NOISE``.
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

from pairs import Passed, passed_over
from replay import (
    CAUSES,
    STRICT,
    TOLERANCE,
    Job,
    Log,
    Replay,
    Rule,
    read_rules,
    read_swf,
    whole,
    width,
)

MOST_UNCHECKED = 4
NOISE = 0.2
RESAMPLES = 1_000
LEAST_UNITS = 8


class Facts:
    """The statements of a page, computed from the log."""

    def __init__(self, log: Log, rules: list[Rule], depth: int) -> None:
        self.log, self.rules, self.depth = log, rules, depth
        self.jobs = [job for job in log.jobs if job.start is not None]
        self.first = min(job.end for job in self.jobs)  # where the log begins
        self.last = max(job.end for job in log.jobs)
        self.users = sorted({job.user for job in log.jobs})

    @property
    def covered(self) -> int:
        """Days from the first end of a job to the last."""
        return (
            self.log.day(self.last) - self.log.day(min(job.end for job in self.log.jobs))
        ).days + 1

    @cached_property
    def replay(self) -> Replay:
        return Replay(self.log, self.rules, self.depth)

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

    def main_cause(self, of: Callable[[Job], bool] = lambda _: True) -> str:
        return max(CAUSES, key=lambda cause: self.share(cause, of))

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
    def agreement(self) -> float:
        """Share of the jobs that waited over a minute that EASY starts within the minute before."""
        ready, over = self.replay.ready, self.replay.over
        judged = [
            (k, job) for k, job in enumerate(self.log.jobs)
            if job.start is not None and job.wait > TOLERANCE
            and 0 < job.size <= self.log.capacity and k not in over
        ]  # fmt: skip
        on_time = sum(k in ready and job.start - ready[k] <= TOLERANCE for k, job in judged)
        return on_time / len(judged)

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

    @property
    def above(self) -> str:
        """Return what a page adds to the busy share if more than 1 % of it may be over capacity."""
        return " (including use above capacity)" if self.of_time(3) > 0.01 else ""

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

    def mean_wait(self, inside: Callable[[Job], bool]) -> float:
        waits = [job.wait for job in self.jobs if inside(job)]
        return sum(waits) / len(waits)

    def later(self, job: Job) -> bool:
        return job.end >= (self.first + self.last + 1) // 2

    def change(self, cause: str) -> float:
        """Return how much longer the later half of the jobs waited for a cause, s per job."""
        halves = defaultdict(list)
        for job, book in self.waits:
            halves[self.later(job)].append(book[cause])
        return sum(halves[True]) / len(halves[True]) - sum(halves[False]) / len(halves[False])

    @property
    def unexplained_change(self) -> float:
        earlier = self.share("unexplained", lambda job: not self.later(job))
        return self.share("unexplained", self.later) - earlier

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

    @property
    def known(self) -> int:
        """The number of users and accounts with a name."""
        return sum(name != "-1" for _, name in self.passed)

    @cached_property
    def passed(self) -> dict[tuple[str, str], Passed]:
        return passed_over(self.log)

    @property
    def named(self) -> list[tuple[str, str]]:
        """Entities that are passed over, longest passed time first."""
        users = {id(one) for (kind, _), one in self.passed.items() if kind == "user"}
        found = [  # an account with one user has the result of that user
            (kind, name) for (kind, name), one in self.passed.items()
            if one.named and (kind == "user" or id(one) not in users)
        ]  # fmt: skip
        return sorted(found, key=lambda key: -self.passed[key].seconds)


# --- numbers as pages write them -----------------------------------------------------------------


def two(value: float) -> str:
    """Return a number to two significant digits, at most one of them after the point."""
    if abs(value) < 0.05:
        return "under 0.1" if value > 0 else "0"
    rounded = round(value, min(1 - math.floor(math.log10(abs(value))), 1))
    return f"{rounded:,.0f}" if rounded == int(rounded) else f"{rounded:,.1f}"


def percent(share: float) -> str:
    return f"{two(100 * share)} %"


def duration(seconds: float) -> str:
    for unit, size, least in (
        ("d", 86_400, 172_800),
        ("h", 3_600, 7_200),
        ("min", 60, 60),
        ("s", 1, 0),
    ):
        if abs(seconds) >= least:
            return f"{two(seconds / size)} {unit}"
    raise AssertionError


def brief(seconds: float) -> str:
    """Return a duration as titles of charts show it: with two significant digits at least."""
    unit, size = duration(seconds).split()[-1], {"d": 86_400, "h": 3_600, "min": 60, "s": 1}
    value = seconds / size[unit]
    digits = max(1 - math.floor(math.log10(value)), 0) if value != int(value) else 0
    return f"{value:,.{digits}f} {unit}"


def one_in(share: float) -> str:
    return f"1 in {round(1 / share)}" if share < 0.28 else f"{round(10 * share)} in 10"


def long_date(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


# --- the sentences of page one -------------------------------------------------------------------

MEANWHILE = {
    "before the log begins": "outside",
    "while nothing ran in the pool, or the pool had less than the job requested": "unavailable",
    "while a limit or closed hours did not allow the job to start": "rule",
    "behind jobs of the same user": "own",
    "while enough was free, but for jobs ahead that could start as well": "claimed",
    "while enough was free, but kept for a bigger job ahead": "kept",
    "behind running jobs of others that had arrived earlier": "earlier",
    "behind running jobs of others that had arrived later": "later",
    "while enough was free, until the scheduler's next look at the queue": "cycle",
    "while enough was free, without a reason in the log": "unexplained",
}
CLAUSE = {cause: clause for clause, cause in MEANWHILE.items()}
C = f"({'|'.join(map(re.escape, MEANWHILE))})"
N, P, T = r"(\d[\d,]*)", r"((?:under )?[\d.,]+ %)", r"((?:under )?[\d.,]+ (?:d|h|min|s))\b"
I = r"(?: \(([^()]*\d[^()]*) %\))?"  # noqa: E741
ABOVE = r"( \(including use above capacity\))?"
WHO = r"(User|Account|Partition|QOS) (.+?)"
MORE = "later jobs that requested at least as much"
Expected = list[object]  # of each group: text, the ends of an interval, or None for what is given


def _who(m: re.Match) -> tuple[str, str]:
    return m[1].lower(), m[2]


def _entity(f: Facts, m: re.Match) -> Expected:
    """Return the row of a passed over entity."""
    kind, name = _who(m)
    one, of = f.passed[kind, name], lambda job: getattr(job, kind) == name
    cause = f.main_cause(of)
    numbers = [f"{one.jobs:,}", duration(one.seconds / one.jobs), percent(one.share)]
    return [
        None,
        None,
        *numbers,
        percent(one.expected),
        percent(f.share(cause, of)),
        CLAUSE[cause],
    ]


def _width_of(advice: str) -> Callable[[Job], bool]:
    """Return whether jobs are of the width that a piece of advice is about, if any."""
    label = re.search(r"([\d–]+)-CPU jobs wait|[Jj]obs of (over \d+) CPUs wait", advice)
    return lambda job: label is None or width(job.size) == (label[1] or label[2])


def _changed(f: Facts, m: re.Match) -> Expected:
    """Return the mean waits of both halves, and the change of each cause that is listed."""
    before, now = (f.mean_wait(lambda job, x=x: f.later(job) is x) for x in (False, True))
    listed = re.findall(rf"[+−]{T} {C}( \(mostly [^;]*\))?", m[4])
    parts = [(f.change(MEANWHILE[clause]), clause + rule) for _, clause, rule in listed]
    texts = (f"{'+' if s > 0 else '−'}{duration(abs(s))} {words}" for s, words in parts)
    return ["rose" if now > before else "fell", duration(before), duration(now), "; ".join(texts)]


def _stretch(f: Facts, label: str) -> str:
    """Return the mean wait of the jobs that ended in a month, week, day or year."""
    forms = ("in %b %Y", "in week {} of %G", "on %Y-%m-%d", "in %Y")

    def inside(job: Job) -> bool:
        day = f.log.day(job.end)
        return any(f"{day:{form}}".format(day.isocalendar().week) == label for form in forms)

    return brief(f.mean_wait(inside))


CLAIMS: list[tuple[str, Callable[[Facts, re.Match], Expected]]] = [
    (
        rf"^Fairness audit · .* · (?:(\d+ \w+ \d+) to )?(\d+ \w+ \d+) · {N} jobs? of {N} users?",
        lambda f, m: [
            m[1] and long_date(f.log.day(f.first)), long_date(f.log.day(f.last)),
            f"{len(f.jobs):,}", f"{len(f.users):,}",
        ],
    ),
    (rf"{WHO}(?: and {N} more)?: {MORE} often", lambda f, m: [
        None, None if _who(m) in f.named else "not named", f"{len(f.named) - 1:,}"]),
    (rf"{P} of all waiting time passed {C}{I}", lambda f, m: [
        percent(f.share(MEANWHILE[m[2]])), CLAUSE[f.main_cause()],
        f.share_interval(MEANWHILE[m[2]])]),
    (rf"{P} (?:of all waiting time )?is unexplained{I}", lambda f, m: [
        percent(f.share("unexplained")), f.share_interval("unexplained")]),
    (rf"(?:^{P} )?For {P} of all waiting time{I} enough was free, and only .*? kept the "
     r"job from starting(?:: mostly [^.]*)?", lambda f, m: [
        percent(f.share("free")), percent(f.share("free")), f.share_interval("free")]),
    (r"keep jobs waiting while capacity is free: .*\.$", lambda f, m: []),
    (rf"pool was {P} busy{ABOVE}", lambda f, m: [percent(f.of_time(1)), f.above]),
    (rf"{N} of {N} refused", lambda f, m: ["0", f"{f.log.records:,}"]),
    (rf"no job ended on {N} of the {N} days from the first end of a job to the last", lambda f, m: [
        f"{f.covered - len({f.log.day(job.end) for job in f.jobs}):,}", f"{f.covered:,}"]),
    (rf"{N} CPUs?, {P} busy{ABOVE}(?:, exceeded for {P} of the time)?", lambda f, m: [
        f"{f.log.capacity:,}", percent(f.of_time(1)), f.above, percent(f.of_time(3))]),
    (rf"{N} rules? inferred from .*?(?=;|$)", lambda f, m: [str(len(f.rules))]),
    (rf"{P} of the jobs that waited start when the site started them \(at least 80 % required\)",
     lambda f, m: [percent(f.agreement)]),
    (r"More was in use \(up to ([\d,]+)\) than the pool's ([\d,]+) CPUs for ([\d.]+) % of the time",
     lambda f, m: [f"{f.peak:,}", f"{f.log.capacity:,}", f"{100 * f.of_time(3):.1f}"]),
    (r"nexplained share: ([\d.]+) points (more|less) than in the earlier half", lambda f, m: [
        two(100 * abs(f.unexplained_change)), "more" if f.unexplained_change > 0 else "less"]),
    (rf"[Nn]one of {N} users and accounts tested was [^.]*\. {N} could not be tested: (.*)",
     lambda f, m: [f"{f.known - whole(m[2]):,}", f"{sum(_reasons(m[3])):,}", None]),
    (r"No user or account could be tested: .*?\(of ([\d,]+)\)(.*)", lambda f, m: [
        f"{f.known - sum(_reasons(m[2])):,}", None]),
    (rf"^(?:[Nn]one of |{N} of )[\d,]+ users and accounts tested", lambda f, m: [
        f"{len(f.named):,}"]),
    (rf"{WHO} waits longer: the order follows recent usage, and it used (.+) times its share",
     lambda f, m: [None, None, two(f.passed[_who(m)].used)]),
    (r"Most affected: (user|account|partition|qos) (.+)\.", lambda f, m: [*f.named[0]]),
    (rf"Mean wait (rose|fell) from {T} in the earlier half of the log to {T}: (.*)\.", _changed),
    (rf"Mean wait: {T} ((?:in|on) [^,]*), {T} ((?:in|on) [^,]*)$", lambda f, m: [
        _stretch(f, m[2]), None, _stretch(f, m[4]), None]),
    (rf"^{WHO} \| {N} \| {T} \| {P} of {MORE} started first \({P} expected\)"
     rf"; {P} of its waiting time passed {C}", _entity),
    (rf"{WHO}: {P} of {MORE} started first; {P} are expected", lambda f, m: [
        None, None, percent(f.passed[_who(m)].share), percent(f.passed[_who(m)].expected)]),
    (rf"^(.* in .*?) jobs received less .*?; the shortfall is {P} of all consumption{I}",
     lambda f, m: [one_in(sum(s > 0 for _, s in f.shortfalls) / len(f.shortfalls)),
                   percent(f.shortfall()[0]), f.shortfall()[1]]),
    (rf"Jobs of (.+) CPUs? have the largest shortfall: {P} of what they consumed{I}", lambda f, m: [
        None, percent(f.shortfall(m[1])[0]), f.shortfall(m[1])[1]]),
    (rf"{P} of the capacity{I} was idle while", lambda f, m: [
        percent(f.of_time(2)), f.lost_interval()]),
    (rf"{WHO} waits longer, and used (about|.+ of|.+ times) an equal share", lambda f, m: [
        None, None, f.used(*_who(m))]),
    (rf"Observed mean wait: {T}", lambda f, m: [duration(f.mean_wait(_width_of(m.string)))]),
]  # fmt: skip


def same(shown: str, expected: object) -> bool:
    """Return whether a page shows what was recomputed; the ends of intervals with some noise."""
    if not isinstance(expected, tuple):
        return expected is None or shown == expected
    low, high = (float(re.sub("under |,", "", end)) for end in re.split("–| to ", shown))
    slack = NOISE * (high - low) + 10 ** (math.floor(math.log10(max(abs(high), 1))) - 1)
    return all(abs(a - 100 * b) <= slack for a, b in zip((low, high), expected, strict=True))


def _reasons(text: str) -> list[int]:
    """Return of how many users and accounts each reason is one."""
    return [whole(number) for number in re.findall(r"\(of ([\d,]+)\)", text)]


def check(text: str, facts: Facts) -> tuple[list[tuple[str, str, bool]], list[str]]:
    """Return a line per number of a paragraph, and the sentences with numbers that are left."""
    lines, rest = [], text
    for pattern, expect in CLAIMS:
        for m in re.finditer(pattern, text):
            for shown, expected in zip(m.groups(), expect(facts, m), strict=True):
                if shown is not None and expected is not None:
                    is_tuple = isinstance(expected, tuple)
                    value = " to ".join(percent(end) for end in expected) if is_tuple else expected
                    lines.append((shown, value, same(shown, expected)))
            rest = rest.replace(m[0], "…")
    return lines, [one for one in re.split(r"(?<=[.;]) ", rest) if re.search(r"\d", one)]


def paragraphs(page: str) -> list[str]:
    """Return the paragraphs and rows of page one and of all findings as text."""
    begin = page.index('id="top"')
    part = page[page.index(">", begin) + 1 : page.index("</ol>", page.index('id="findings"'))]
    hidden = r'<svg.*?</svg>|<details class="query">.*?</details>|<span class="shows">.*?</span>'
    part = re.sub(f"(?s){hidden}", "", part)
    part = re.sub(r'</p>\s*<p class="of">', " ", part)
    part = re.sub(r"</t[hd]><t[hd][^>]*>", " | ", part)
    part = re.sub(r"</?(?:p|li|tr|h1|h2|figcaption|div|ul|ol|section)\b[^>]*>", "\0", part)
    text = html.unescape(re.sub(r"<[^>]+>", "", part))
    return [" ".join(one.split()) for one in text.split("\0") if one.strip()]


def reservations(page: str) -> int:
    """Return how many jobs have a reservation, as the page states, or STRICT."""
    if "jobs hardly ever start while a job ahead of them cannot" in page:
        return STRICT
    return 20 if "This log shows reservations" in page else 0


def main(log_file: str, page_file: str) -> int:
    data = Path(log_file).read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("latin-1")
    page = Path(page_file).read_text(encoding="utf-8").replace("\u00a0", " ")
    log = read_swf(text.splitlines())
    named = re.findall(r"<li>rule \d+ of \d+: (.*?) \([^()]*\)</li>", page)
    rules = read_rules([html.unescape(re.sub(r"<[^>]+>", "", x)) for x in named], log)
    facts = Facts(log, rules, reservations(page))
    wrong, unchecked, replays = 0, [], []
    print("page | recomputed | same?")
    for paragraph in paragraphs(page):
        lines, left = check(paragraph, facts)
        of_replays = re.search("replay|Observed mean wait|would never start", paragraph)
        (replays if of_replays else unchecked).extend(left)
        if lines:
            print(f"\n{paragraph}")
        for shown, value, agrees in lines:
            print(f"    {shown} | {value} | {'yes' if agrees else 'NO'}")
            wrong += not agrees
    print(f"\n{wrong} numbers differ. Results of replays, which are not checked: {len(replays)}")
    print("", *replays, sep="\n    ")
    print(f"\nOther sentences that are not checked: {len(unchecked)} (at most {MOST_UNCHECKED})")
    print("", *unchecked, sep="\n    ")
    return int(wrong > 0 or len(unchecked) > MOST_UNCHECKED)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

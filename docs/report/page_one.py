"""Recompute the figures, causes, sizes and users at the head of a report.

Part of recompute.py, which shares no code with fairaudit. Logs have no holds.
"""

import bisect
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from functools import cached_property

from pairs import Passed
from replay import CAUSES, Job, Log, Replay, Rule, whole
from word import decided, lost

DAY = 86_400
LABELS = {
    "A limit or rule": "rule",
    "Enough free, but scattered": "nodes",
    "Machine down": "unavailable",
    "Next look of the scheduler": "cycle",
    "Machine full of earlier jobs": "earlier",
    "Machine full of later jobs": "later",
    "full of earlier jobs": "earlier",
    "full of later jobs": "later",
    "A job ahead was about to start": "claimed",
    "Kept free for a bigger job ahead": "kept",
    "The user’s own jobs": "own",
    "Before the log begins": "outside",
    "Enough free, no reason logged": "unexplained",
    "Enough CPUs free in total, no reason logged": "unexplained",
}
GROUPS = {
    "The site": ("rule", "nodes", "unavailable", "cycle"),
    "Other users": ("earlier", "later", "claimed", "kept"),
    "The user": ("own",),
    "Not known": ("outside", "unexplained"),
    "A full machine": ("earlier", "later"),
}
LEAST_CYCLE = 0.05  # share of all waiting; what is below counts as unexplained
LEAST_SIMILAR, LEAST_USERS, LEAST_COMPARED = 20, 3, 20
REACHES = (DAY, 7 * DAY, 30 * DAY)
LONGER, TIMES, LISTED = 600, 2, 0.01
LEAST_STEPS, MOST_STEPS = 6, 60
NUMBERS = ("No", "One", "Two", "Three")
SHARES = {
    1 / 2: "half", 1 / 3: "a third", 2 / 3: "two thirds", 1 / 4: "a quarter",
    3 / 4: "three quarters", 4 / 5: "four fifths",
}  # fmt: skip


def quantile(values: Iterable[int], part: float) -> int:
    """Return the value of nearest rank."""
    ordered = sorted(values)
    return ordered[max(math.ceil(part * len(ordered) - 1e-9), 1) - 1]


class Head:
    """The statements at the head of a page, computed from the log."""

    def __init__(
        self,
        log: Log,
        rules: list[Rule],
        replay: Callable[[], Replay],
        machine: dict[date, list[float]],
        passed: Callable[[], dict[tuple[str, str], Passed]],
    ) -> None:
        self.log, self.rules, self._machine = log, rules, machine
        self._replay, self._passed = replay, passed
        self.jobs = [job for job in log.jobs if job.start is not None and job.size > 0]
        self.total = sum(job.wait for job in self.jobs)

    @cached_property
    def books(self) -> list[tuple[Job, dict[str, float]]]:
        """The jobs, with the seconds of their waits by cause."""
        pairs = zip(self.log.jobs, self._replay().booked, strict=True)
        return [(job, book) for job, book in pairs if job.start is not None and job.size > 0]

    def word(self) -> str:
        """Return the word; under limits, which pairs do not know, no one counts as overtaken."""
        limited = any(rule.per or rule.kind for rule in self.rules if rule.most is not None)
        return decided(self.log, self.books, {} if limited else self._passed())

    @cached_property
    def causes(self) -> dict[str, float]:
        """The share of each cause of all waiting."""
        found = {c: sum(book[c] for _, book in self.books) / self.total for c in CAUSES}
        if found["cycle"] < LEAST_CYCLE:
            found["unexplained"] += found["cycle"]
            found["cycle"] = 0.0
        return found

    def free(self) -> str:
        """Return in words the part of the time under rules while enough was free."""
        free, rule = (sum(book[cause] for _, book in self.books) for cause in ("free", "rule"))
        return plain(free / rule).replace("nearly all", "nearly always")

    def wait(self, part: float, jobs: Iterable[Job] | None = None) -> str:
        return short_time(quantile((j.wait for j in (self.jobs if jobs is None else jobs)), part))

    def run(self, part: float) -> str:
        return short_time(quantile((job.length for job in self.jobs), part))

    def over(self, seconds: int) -> str:
        return short_share(sum(job.wait > seconds for job in self.jobs) / len(self.jobs))

    def waiting(self, jobs: Iterable[Job]) -> str:
        return short_share(sum(job.wait for job in jobs) / self.total)

    def of_class(self, low: int, high: int, unit: str | None) -> list[Job]:
        """Return the jobs of a class of sizes; where GPUs have classes, others have no GPUs."""
        if unit == "GPU":
            return [job for job in self.jobs if low <= job.gpus <= high]
        return [j for j in self.jobs if low <= j.size <= high and not (unit and j.gpus)]

    def gpus_busy(self) -> str:
        begin, end = self.begin, max(job.end for job in self.log.jobs)
        used = sum(j.gpus * max(min(j.end, end) - max(j.start, begin), 0) for j in self.jobs)
        return short_share(used / self.log.gpus / (end - begin))

    def untested(self) -> str:
        """Return the passed time of users who have too few jobs for a test."""
        waiting = sum(job.wait - book["outside"] for job, book in self.books)
        return short_share(lost(self._passed(), waiting, "user", named=False))

    def by_priority(self) -> str:
        """Return how often a job that started before an earlier one had the higher priority."""
        higher = []
        for partition in {job.partition for job in self.jobs}:
            waiting = [job for job in self.jobs if job.partition == partition]
            waiting = [job for job in waiting if job.priority is not None]
            for job in sorted(waiting, key=lambda job: (job.start, job.arrival)):
                first = min(waiting, key=lambda job: job.arrival)
                waiting.remove(job)
                if first.arrival < job.arrival and first.start > job.start:
                    higher.append(job.priority > first.priority)
        return short_share(sum(higher) / len(higher))

    def of_user(self, name: str) -> list[Job]:
        kind, _, number = name.rpartition(" ")
        return [j for j in self.jobs if (j.account if kind == "Account" else j.user) == number]

    @property
    def begin(self) -> int:
        return min(job.end for job in self.log.jobs if job.start is not None)

    def busy(self, begin: float, end: float) -> float:
        """Return the busy share between two instants, from that of each day."""
        seconds = used = 0.0
        for day, (covered, area, *_) in self._machine.items():
            edges = self.log.midnight(day), self.log.midnight(day + timedelta(1))
            inside = max(min(edges[1], end) - max(edges[0], begin), 0)
            seconds += inside
            used += inside * area / covered if covered else 0.0
        return used / seconds / self.log.capacity

    def busy_share(self) -> str:
        covered, area = (sum(day[k] for day in self._machine.values()) for k in (0, 1))
        return short_share(area / covered / self.log.capacity)

    def fullest(self, step: str) -> str:
        """Return the busy share of the fullest complete month, week or day with ended jobs."""
        last = max(job.end for job in self.log.jobs)
        ended = {_first(self.log.day(job.end), step) for job in self.jobs}
        spans = [
            (self.log.midnight(day), self.log.midnight(_next(day, step)), day)
            for day in sorted({_first(day, step) for day in self._machine})
        ]
        spans = [one for one in spans if one[0] >= self.begin and one[1] <= last + 1]
        shares = [self.busy(a, b) for a, b, day in spans[-MOST_STEPS:] if day in ended]
        return short_share(min(max(shares), 1.0)) if len(spans) >= LEAST_STEPS else "no step"

    @cached_property
    def halves(self) -> tuple[list[Job], list[Job]]:
        """The jobs by the half of the log in which they ended."""
        middle = (self.begin + max(job.end for job in self.log.jobs) + 1) // 2
        return ([j for j in self.jobs if j.end < middle], [j for j in self.jobs if j.end >= middle])

    def loads(self) -> list[str]:
        end = max(job.end for job in self.log.jobs) + 1
        middle = (self.begin + end) // 2
        return [digits(100 * self.busy(*span)) for span in ((self.begin, middle), (middle, end))]

    @cached_property
    def by_user(self) -> list[tuple[int, str, int]]:
        """Waits, name and CPU-seconds of each user, most waiting first."""
        sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for job in self.jobs:
            if job.user != "-1":
                sums[job.user][0] += job.wait
                sums[job.user][1] += job.size * job.length
        return sorted(((w, u, a) for u, (w, a) in sums.items()), key=lambda x: (-x[0], x[1]))

    def half(self) -> tuple[int, float, float]:
        """Return how many users have closest to half of the waiting; their shares."""
        shares, passed = [], 0
        for waited, _, _ in self.by_user:
            passed += waited
            shares.append(passed / self.total)
        at = min(range(len(shares)), key=lambda k: (abs(shares[k] - 0.5), k))
        area = sum(job.size * job.length for job in self.jobs)
        return at + 1, shares[at], sum(a for _, _, a in self.by_user[: at + 1]) / area

    @cached_property
    def similar(self) -> dict[int, int]:
        """The median wait of the similar jobs of each job that has enough, by its number."""
        strata: defaultdict[tuple, list[Job]] = defaultdict(list)
        for job in self.jobs:
            if job.user != "-1":
                strata[(*job.stratum, job.walltime is None)].append(job)
        found = {}
        for jobs in strata.values():
            times = [job.arrival for job in jobs]
            for job in jobs:
                for reach in REACHES:
                    low = bisect.bisect_left(times, job.arrival - reach)
                    high = bisect.bisect_right(times, job.arrival + reach)
                    others = [one for one in jobs[low:high] if one.user != job.user]
                    if len(others) >= LEAST_SIMILAR and (
                        len({one.user for one in others}) >= LEAST_USERS
                    ):
                        found[job.number] = quantile((one.wait for one in others), 0.5)
                        break
        return found

    def alike(self, jobs: list[Job]) -> list[Job]:
        """Return the jobs that have similar ones, if these are enough."""
        some = [job for job in jobs if job.number in self.similar]
        return some if len(some) >= LEAST_COMPARED and 2 * len(some) >= len(jobs) else []

    @cached_property
    def longer(self) -> tuple[int, int]:
        """How many users are compared with similar jobs, and how many waited much longer."""
        waiting = sum(job.wait - book["outside"] for job, book in self.books)
        by_user, compared, longer = defaultdict(list), 0, 0
        for job in self.jobs:
            by_user[job.user].append(job)
        for some in filter(None, map(self.alike, by_user.values())):
            compared += 1
            mine = quantile((job.wait for job in some), 0.5)
            theirs = quantile((self.similar[job.number] for job in some), 0.5)
            excess = sum(max(job.wait - self.similar[job.number], 0) for job in some)
            long = mine >= TIMES * theirs and mine - theirs >= LONGER
            longer += long and excess >= LISTED * waiting
        return compared, longer


def _first(day: date, step: str) -> date:
    if step == "month":
        return day.replace(day=1)
    return day - timedelta(day.weekday()) if step == "week" else day


def _next(first: date, step: str) -> date:
    if step == "month":
        return (first + timedelta(31)).replace(day=1)
    return first + timedelta(7 if step == "week" else 1)


# --- numbers as this part of a page writes them --------------------------------------------------


def digits(value: float, number: int = 2) -> str:
    if value <= 0:
        return "0"
    rounded = round(value, min(number - 1 - math.floor(math.log10(value)), 1))
    return f"{rounded:,.0f}" if rounded == int(rounded) else f"{rounded:,.1f}"


def short_time(seconds: float) -> str:
    for below, unit, size in ((60, "s", 1), (5_400, "min", 60), (172_800, "h", 3_600)):
        if seconds < below:
            return f"{digits(seconds / size)} {unit}"
    return f"{digits(seconds / DAY)} d"


def short_share(share: float) -> str:
    if 0.995 <= share < 1:
        return "over 99 %"
    return "under 1 %" if 0 < share < 0.00995 else f"{digits(100 * share)} %"


def plain(share: float) -> str:
    """Return a share as a word if one is within 4 points, else the figure."""
    near = min(SHARES, key=lambda at: abs(at - share))
    if share >= 0.95:
        return "nearly all"
    return SHARES[near] if abs(near - share) <= 0.04 + 1e-9 else short_share(share)


def within(shown: str, share: float) -> str:
    """Return a share that may be rounded either way, as the numbers of a table add up."""
    if shown.startswith(("under", "over")):
        return short_share(share)
    number = whole(shown.split(maxsplit=1)[0])
    return shown if abs(number - 100 * share) < 1 else short_share(share)


# --- the sentences -------------------------------------------------------------------------------

N, P = r"(\d[\d,]*)", r"((?:under |over )?[\d.,]+ %)"
T = r"([\d.,]+ (?:d|h|min|s))\b"
WHO = r"((?:(?:User|Account) )?[\w.-]+)"
BETWEEN = "between the halves of the (?:log|period)"
OVERTAKEN = "(?:Not known: later jobs|Later jobs|A chain|It used)"
"""Beginnings of reasons of those whom later jobs overtook."""
HALF = "typical wait|one job in ten waited over|wait of one job in ten"
Checked = list[object]


def _size(h: Head, m: re.Match) -> Checked:
    low, high = (whole(m[k] or m[1]) for k in (1, 2))
    jobs = h.of_class(low, high, m[3])
    figures = (h.waiting(jobs), h.wait(0.5, jobs), h.wait(0.9, jobs))
    return [None, None, None, f"{len(jobs):,}", *figures]


def _user(h: Head, m: re.Match) -> Checked:
    jobs = h.of_user(m[1])
    some = h.alike(jobs)
    similar = short_time(quantile((h.similar[j.number] for j in some), 0.5)) if some else "–"
    count = f"{len(some):,}" if some and len(some) < len(jobs) else None
    wait = h.wait(0.5, some or jobs)
    return [None, count or "all", f"{len(jobs):,}", h.waiting(jobs), wait, similar]


def _half(h: Head, m: re.Match) -> Checked:
    users, waiting, used = h.half()
    count = NUMBERS[users] if users < len(NUMBERS) else f"{users:,}"
    much = "half" if plain(waiting) == "half" and users > 1 else short_share(waiting)
    return [count, much, short_share(used)]


def _where(h: Head, m: re.Match) -> Checked:
    """Return the share of the unexplained waiting, and of the jobs, of a class."""
    number = m[2] or m[3] or m[4]

    def inside(job: Job) -> bool:
        if m[2]:
            return job.walltime is not None and job.walltime > 3_600 * whole(number)
        return job.size > whole(number) if m[3] else job.user == number

    dropped = ("cycle",) if not h.causes["cycle"] else ()
    seconds = [
        (inside(job), sum(book[c] for c in ("unexplained", *dropped))) for job, book in h.books
    ]
    share = sum(s for mine, s in seconds if mine) / sum(s for _, s in seconds)
    jobs = sum(mine for mine, _ in seconds) / len(seconds)
    return [plain(share), None, None, None, short_share(jobs)]


def _halves(h: Head, m: re.Match, *, loads: bool) -> Checked:
    """Return the waits of both halves; ``loads``: after their loads, else before."""
    what = m[3] if loads else m[1]
    waits = [h.wait(0.5 if "typical" in what else 0.9, half) for half in h.halves]
    return [*h.loads(), None, *waits] if loads else [None, *waits, *h.loads()]


def _without(h: Head, m: re.Match) -> Checked:
    rest = [[j for j in half if j.user != m[1]] for half in h.halves]
    part = 0.5 if max(quantile((j.wait for j in x), 0.5) for x in h.halves) >= 60 else 0.9
    return [h.by_user[0][1], *(h.wait(part, x) for x in rest)]


def _queues(h: Head, m: re.Match) -> Checked:
    """Return the waits of one job in ten of the queues that are listed."""
    names = [part.rsplit(" ", 2)[0] for part in m[1].split(", ")]
    waits = [h.wait(0.9, [j for j in h.jobs if j.partition == name]) for name in names]
    return [", ".join(f"{name} {wait}" for name, wait in zip(names, waits, strict=True))]


def _later(h: Head, m: re.Match) -> Checked:
    wide = [(job.wait, book["later"]) for job, book in h.books if job.size > whole(m[1])]
    share = sum(later for _, later in wide) / sum(wait for wait, _ in wide)
    return [None, short_share(share), digits(share / h.causes["later"])]


def _one_user(h: Head, m: re.Match) -> Checked:
    over, low, high, unit = m[2], m[3], m[4] or m[3], m[5]
    waits: defaultdict[str, int] = defaultdict(int)
    mixed = unit if any(job.gpus for job in h.jobs) else None
    first, last = (whole(over) + 1, 1 << 40) if over else (whole(low), whole(high))
    for job in h.of_class(first, last, mixed):
        waits[job.user] += job.wait
    return [short_share(max(waits.values()) / sum(waits.values())), None, None, None, None]


def _hours(seconds: float) -> str:
    return digits(seconds / 3_600, 3)


def _cause(h: Head, m: re.Match) -> Checked:
    return [None, within(m[2], h.causes[LABELS[m[1]]])]


def _group(h: Head, m: re.Match) -> Checked:
    return [None, within(m[2], sum(h.causes[cause] for cause in GROUPS[m[1]]))]


HEAD: list[tuple[str, Callable[[Head, re.Match], Checked]]] = [
    (rf"^{T} \| typical wait \(median\) \| typical run: {T}(?:; without (.+): {T})?$",
     lambda h, m: [h.wait(0.5), h.run(0.5), None, m[3] and h.wait(
         0.5, [j for j in h.jobs if j.partition != m[3]])]),
    (rf"^{T} \| or more for one job in ten \| one run in ten: {T}$",
     lambda h, m: [h.wait(0.9), h.run(0.9)]),
    (rf"^{T} \| or more for one job in a hundred \| one run in a hundred: {T}$",
     lambda h, m: [h.wait(0.99), h.run(0.99)]),
    (rf"^{N} jobs? \| waited over 10 minutes \| for a verdict: .*$",
     lambda h, m: [f"{sum(job.wait > 600 for job in h.jobs):,}"]),
    (rf"^{P} \| of jobs waited over an hour \| over (a minute|ten hours): {P}$",
     lambda h, m: [h.over(3_600), None, h.over(60 if m[2] == "a minute" else 36_000)]),
    (rf"^{P} \| of {N} CPUs?(?: \({N} nodes?\))? were busy(?: \| fullest (month|week|day): {P})?"
     rf"(?: \| of the GPUs: {P}| \|)?$", lambda h, m: [
        h.busy_share(), f"{h.log.capacity:,}", f"{h.log.nodes:,}", None,
        m[4] and h.fullest(m[4]), m[6] and h.gpus_busy()]),
    (r"^Share of all ([\d.,]+) hours? of waiting(?:; cancelled jobs waited another ([\d.,]+) "
     r"hours?)?\.", lambda h, m: [
        _hours(h.total), _hours(sum(j.wait for j in h.log.jobs if j.start is None))]),
    (rf"^({'|'.join(GROUPS)}) \| {P}$", _group),
    (rf"^({'|'.join(LABELS)}) \| {P}$", _cause),
    (r"^Limit or rule: .*, ([^,]+?)(?: of the time)? while enough was free\.$",
     lambda h, m: [h.free()]),
    (rf"No reason: (.+?) of it is that of (?:jobs with time limits over {N} h|jobs over {N} CPUs?|"
     rf"User (\d+)), {P} of all jobs\.", _where),
    (rf"^(\d+)(?:–(\d+))?(?: (CPU|GPU)s?)? \|(?: \|)? {N} \| {P} \| {T} \| {T}$", _size),
    (rf"^(\w+) users? (?:have|has) (half|{P[1:-1]}) of all waiting, (?:and|in line with "
     rf"(?:its|their)) {P} of the CPU time\.", _half),
    (rf"^{WHO} \| {N} of {N} \| {P} \| {T} \| – \| {OVERTAKEN}.*$",
     lambda h, m: [None, None, f"{len(h.of_user(m[1])):,}", None, None]),
    (rf"^{WHO} \| (?:{N} of )?{N} \| {P} \| {T} \| ({T[1:-3]}|–) \| "
     rf"(?!{OVERTAKEN}).*$", _user),
    (r"^(Fair|Mixed|Unfair|Quiet|Cannot tell) (?!Most of the waiting was that of jobs)[A-Z].*\.$",
     lambda h, m: [h.word()]),
    (rf"Longer waits than similar jobs: {N} of {N} users compared(?:, \d+ of them above)?"
     r"(?:, listed above)?(?:, \d+ shown)?$",
     lambda h, m: [f"{h.longer[1]:,}", f"{h.longer[0]:,}"]),
    (rf"Longer waits than similar jobs: none of {N} users compared$",
     lambda h, m: [f"{h.longer[0]:,}"]),
    (rf"(?:load .*?|load \()([\d.]+)(?:,| to) (?:then )?([\d.]+) %\)?, the ({HALF}) \w+ from {T} "
     rf"to {T}(?: {BETWEEN})?\.", lambda h, m: _halves(h, m, loads=True)),
    (rf"{BETWEEN}(?:, as few users decide it)?: ({HALF}) {T}, then {T}; load ([\d.]+), then "
     r"([\d.]+) %\.", lambda h, m: _halves(h, m, loads=False)),
    (r"No comparison: the records cover (\d+) days, and two weeks are needed\.",
     lambda h, m: [str((max(job.end for job in h.log.jobs) - h.begin) // DAY)]),
    (rf"Without User (\d+): from {T} to {T}\.", _without),
    (r"Without User (\d+): about the same\.", lambda h, m: [h.by_user[0][1]]),
    (r"By queue, one job in ten waited over: (.+)\.$", _queues),
    (rf"^Times and sizes ?(?:\| )?The log has {N} of the [\d,]+ records that its header names for "
     r"this time\.", lambda h, m: [f"{h.log.records:,}"]),
    (rf"Of the waiting of jobs over {N} CPUs?, {P} was behind later jobs: ([\d.]+) times the usual "
     r"share\.", _later),
    (rf"One user has {P} of the waiting of jobs (?:over {N}|of (\d+)(?:–(\d+))?) (CPU|GPU)s?\.",
     _one_user),
    (rf"Their waiting after such starts is {P} of all;", lambda h, m: [h.untested()]),
    (rf"Order: {P} of the jobs that started before an earlier one had the higher priority\.",
     lambda h, m: [h.by_priority()]),
    (rf"All three; reasons for {P} of the jobs\.", lambda h, m: [plain(
        sum(job.reason != "None" for job in h.jobs) / len(h.jobs))]),
]  # fmt: skip

BOUND, VERDICT = "a bound, which is given", "the verdict, which has its own tests"
DEFINED, ASKED = "a definition", "a question about a class that is checked"
REPLAYED, UNSTARTABLE = "a replay of a change", "a test that depends on unstartable jobs"
UNCHECKED = {
    r"^\w+ \| [\d.]+$": BOUND,
    r"Listed from .*": BOUND,
    r"a verdict needs less than \d.*": BOUND,
    r"^.* \| (?:fair|unfair|mixed|cannot tell|quiet) \| .*": VERDICT,
    r"(?:Close: )?[^.;]* of the waiting cannot be judged .*?(?:;|$)": VERDICT,
    r"Cannot tell Most of the waiting was that of jobs held back .*": UNSTARTABLE,
    r"Order: .* could be tested, .*? of all waiting\.": UNSTARTABLE,
    r"Similar jobs: .*": DEFINED,
    r"The base is .*": DEFINED,
    r"(?:They|It) would (?:show|confirm) .*": ASKED,
    r"^.* \| (?:inferred|configured) \| .*": "a rule, which is given",
    r".*: [\d.]+ % of later jobs that requested at least as much started first; .*": UNSTARTABLE,
    r"To (?:ask|decide): .*": ASKED,
    r".* wait .* less on average.*": REPLAYED,
    r"No change .*": REPLAYED,
    r"Replay: it matches .*": REPLAYED,
    r".* of (?:all|their) waiting time is delay by later arrivals .*": REPLAYED,
    r"\d+ jobs? that gave up waited longer than .*": "a comparison of similar jobs",
    r"Overtaken more often than others: .*": UNSTARTABLE,
}
"""Figures that are not recomputed, with the reason."""

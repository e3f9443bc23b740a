"""Read a log and replay it under rules: what jobs waited for.

Part of recompute.py, which shares no code with fairaudit.
"""

import bisect
import math
import re
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

TOLERANCE = 60  # seconds that a scheduler may need to start a job
OUTAGE = 600  # seconds without a running job
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
CAUSES = (
    *("outside", "unavailable", "rule", "nodes", "own", "claimed", "kept", "earlier", "later"),
    *("cycle", "unexplained"),
)
LAPSE = 900  # seconds for which a job that could start is believed to be about to
STRICT = -1  # no job starts before an earlier one


class Job(NamedTuple):
    """A job of the log. Times are in seconds since the epoch; jobs sort by place in the queue."""

    arrival: int
    submit: int
    number: int
    user: str
    account: str
    partition: str
    qos: str
    size: int
    walltime: int | None
    start: int | None
    end: int  # when it was cancelled, if it never started
    gpus: int = 0
    priority: int | None = None
    reason: str = ""

    @property
    def leave(self) -> int:
        return self.end if self.start is None else self.start

    @property
    def wait(self) -> int:
        return self.leave - self.arrival

    @property
    def length(self) -> int:
        return 0 if self.start is None else self.end - self.start

    @property
    def stratum(self) -> tuple:
        """Partition, QOS, width class and walltime class."""
        hours = 9 if self.walltime is None else -(-self.walltime // 3600)
        return self.partition, self.qos, width(self.size), bisect.bisect_left((1, 4, 12, 24), hours)


class Log(NamedTuple):
    """A log: ``jobs`` in the order of the queue."""

    jobs: list[Job]
    records: int
    capacity: int
    zone: tzinfo
    gpus: int = 0
    nodes: int = 0  # 0: not known

    def day(self, t: float) -> date:
        return datetime.fromtimestamp(t, self.zone).date()

    def midnight(self, day: date) -> int:
        return int(datetime.combine(day, time(), self.zone).timestamp())


def read_swf(lines: list[str]) -> Log:
    """Read a log in which each job has one line."""
    header: dict[str, str] = {}
    names: dict[str, dict[int, str]] = {"Queue": {}, "Partition": {}}
    jobs, records = [], 0
    for line in lines:
        if line.startswith(";"):
            key, _, value = (part.strip() for part in line[1:].partition(":"))
            header.setdefault(key, value)
            if key in names and (named := re.match(r"(\d+)\s+(?:- )?(.+)", value)):
                names[key][int(named[1])] = re.split(r" - ", named[2])[0].strip()
            continue
        f = [int(float(x)) for x in line.split()]
        if len(f) != 18:
            continue
        records += 1
        _, submit, wait, run, allocated = f[:5]
        never = run < 0 or (run == 0 and (f[10] == 5 or allocated <= 0))
        if wait < 0 and not never:
            continue  # its start is unknown
        arrival = int(header["UnixStartTime"]) + submit
        start = arrival + max(wait, 0)
        queue, partition = (
            "" if number < 0 else names[key].get(number, str(number))
            for key, number in (("Queue", f[14]), ("Partition", f[15]))
        )
        place = (arrival, arrival, f[0], str(f[11]), str(f[12]))
        size = allocated if allocated > 0 else max(f[7], 0)
        times = (None, start) if never else (start, start + run)
        kind = (partition, queue) if partition else (queue, "")
        jobs.append(Job(*place, *kind, size, f[8] if f[8] > 0 else None, *times))
    zone = ZoneInfo(header.get("TimeZoneString", "UTC"))
    return Log(sorted(jobs), records, int(header["MaxProcs"]), zone)


def read_rules(texts: list[str], log: Log) -> "list[Rule]":
    """Return the named rules, with their hours on the clock that they name."""
    clock = r" \((?:UTC([+−-]\d+) all year|([A-Z]\w+(?:/\w+)*))\)"
    rules = []
    for text in texts:
        on = log
        if fixed := re.search(clock, text):
            hours = fixed[1] and timedelta(hours=int(fixed[1].replace("−", "-")))
            on = log._replace(zone=timezone(hours) if hours else ZoneInfo(fixed[2]))
        rules.append(Rule(re.sub(clock, "", text), on))
    return rules


class Rule:
    """A limit or window that the page names, such as "limit of 6 running jobs per user"."""

    def __init__(self, text: str, log: Log) -> None:
        text = text[0].lower() + text[1:]
        day = {word: re.search(rf" {word} (\d{{4}}-\d\d-\d\d)", text) for word in ("from", "until")}
        since, until = (found and date.fromisoformat(found[1]) for found in day.values())
        self.since = log.midnight(since) if since else -math.inf
        self.until = log.midnight(until + timedelta(1)) if until else math.inf
        over, up_to = (re.search(rf"jobs .*{w} ([\d,]+) CPU", text) for w in ("over", "up to"))
        hours = re.search(r"jobs over ([\d,]+) (h|min|s)\b", text)
        self.over = whole(over[1]) if over else -1
        self.up_to = whole(up_to[1]) if up_to else math.inf
        self.above = whole(hours[1]) * {"h": 3600, "min": 60, "s": 1}[hours[2]] if hours else -1
        part = re.search(
            r"(user|account|partition|qos) ([^ ,]+(?:, [^ ,]+)*)(?: from| until|$)", text
        )
        self.kind, self.names = (part[1], part[2].split(", ")) if part else ("", [])
        limit = re.match(r"limit of ([\d,]+) (running job|CPU)s? (?:per (\w+)|in total)", text)
        self.most = whole(limit[1]) if limit else None
        self.jobs, self.per = (limit[2] == "running job", limit[3]) if limit else (False, None)
        self.overlap = "may not run into" in text
        self.spans = [] if limit else self._closed(text, log)
        self.ends = [end for _, end in self.spans]

    def _closed(self, text: str, log: Log) -> list[tuple[float, float]]:
        """Return when the hours are closed."""
        hours: set[int] = set()
        for first, last, begin, end in re.findall(
            r"(\w{3})(?:–(\w{3}))?(?: (\d\d)–(\d\d))?(?=,| )", text
        ):
            if first in DAYS:
                days = range(DAYS.index(first), DAYS.index(last or first) + 1)
                of_day = range(int(begin or 0), int(end or 24))
                hours |= {day * 24 + hour for day in days for hour in of_day}
        longest = max(job.walltime or job.length for job in log.jobs)
        first = max(self.since, log.jobs[0].arrival) // 3600 * 3600
        last = min(self.until, max(job.end for job in log.jobs) + longest)
        spans: list[tuple[float, float]] = []
        for t in range(int(first), math.ceil(last), 3600):
            local = datetime.fromtimestamp(t, log.zone)
            if local.weekday() * 24 + local.hour in hours:
                begin = spans.pop()[0] if spans and spans[-1][1] == t else max(t, self.since)
                spans.append((begin, min(t + 3600, self.until)))
        return spans

    def covers(self, job: Job) -> bool:
        long = (job.length if job.walltime is None else job.walltime) > self.above
        named = not self.kind or getattr(job, self.kind) in self.names
        return long and named and self.over < job.size <= self.up_to

    def reach(self, job: Job) -> int:
        return max(job.length if job.walltime is None else job.walltime, 1) if self.overlap else 1

    def key(self, job: Job) -> tuple:
        return self, getattr(job, self.per) if self.per else None

    def amount(self, job: Job) -> int:
        return 1 if self.jobs else job.size

    def forbids(self, job: Job, t: float, used: Counter) -> bool:
        """Return whether a job may not start; ``used`` is what runs, by ``key``."""
        if not self.covers(job):
            return False
        if self.most is not None:
            over = used[self.key(job)] + self.amount(job) > self.most
            return self.since <= t < self.until and over
        at = bisect.bisect_right(self.ends, t)
        return at < len(self.ends) and self.spans[at][0] < t + self.reach(job)

    def count(self, jobs: Iterable[Job], used: Counter) -> None:
        for job in jobs:
            if self.most is not None and self.covers(job):
                used[self.key(job)] += self.amount(job)

    def edges(self, jobs: list[Job]) -> set[float]:
        begins, found = [begin for begin, _ in self.spans], {*self.ends, self.since, self.until}
        for job in jobs:
            if job.wait and self.covers(job):
                first, last = (t + self.reach(job) - 1 for t in (job.arrival, job.leave))
                inside = begins[bisect.bisect(begins, first) : bisect.bisect(begins, last)]
                found |= {begin - self.reach(job) + 1 for begin in inside}
        return found


class Replay:
    """The log by instants: what each wait was spent on."""

    def __init__(self, log: Log, rules: list[Rule], depth: int = 0) -> None:
        self.jobs, self.capacity, self.rules, self.depth = log.jobs, log.capacity, rules, depth
        self.age = [0.0] * len(log.jobs)
        self.begin = min(job.end for job in log.jobs if job.start is not None)  # of the log
        self.booked = [dict.fromkeys((*CAUSES, "free"), 0.0) for _ in log.jobs]
        self.lacking: Counter[str] = Counter()  # seconds by what single nodes lack
        self._idle: list[tuple[float, float, list[int]]] = []
        self._run()

    def _run(self) -> None:
        jobs = self.jobs
        times = {t for job in jobs for t in (job.arrival, job.leave, job.end)}
        edges = self.edges()
        ordered = sorted(times | {t for t in edges if min(times) < t < max(times)})
        by_leave = sorted(range(len(jobs)), key=lambda k: jobs[k].leave)
        by_end = sorted((k for k in by_leave if jobs[k].length), key=lambda k: jobs[k].end)
        queue: list[int] = []
        running: list[int] = []
        arrived = left = ended = 0
        for now, after in pairwise([*ordered, ordered[-1]]):
            while ended < len(by_end) and jobs[by_end[ended]].end <= now:
                running.remove(by_end[ended])
                ended += 1
            while arrived < len(jobs) and jobs[arrived].arrival <= now:
                queue.append(arrived)
                arrived += 1
            started = []
            while left < len(by_leave) and jobs[by_leave[left]].leave <= now:
                queue.remove(by_leave[left])
                started += [by_leave[left]] * (jobs[by_leave[left]].start is not None)
                left += 1
            running += [k for k in started if jobs[k].length]
            if not running and ended:
                self._idle.append((now, after, [*queue]))
                continue
            self._end_of_idle()
            if queue:
                self._book(now, after, queue, running)
        self._end_of_idle()

    def edges(self) -> set[float]:
        """Return when rules begin and end to forbid jobs."""
        return set().union(*(rule.edges(self.jobs) for rule in self.rules))

    def _end_of_idle(self) -> None:
        """Book a stretch without running jobs: an outage if a job could have run."""
        if not self._idle:
            return
        could = sum(
            after - now
            for now, after, queue in self._idle
            if now >= self.begin
            and any(0 < j.size <= self.capacity and not self._forbidden(j, now, Counter())
                    for j in (self.jobs[k] for k in queue))
        )  # fmt: skip
        outage = min(self._idle[-1][1] - self._idle[0][0], could) >= OUTAGE
        for now, after, queue in self._idle:
            self._book(now, after, queue, [], outage=outage)
        self._idle = []

    def _forbidden(self, job: Job, t: float, used: Counter) -> bool:
        return any(rule.forbids(job, t, used) for rule in self.rules)

    def _used(self, running: list[int]) -> Counter:
        used: Counter = Counter()
        for rule in self.rules:
            rule.count((self.jobs[k] for k in running), used)
        return used

    def _book(self, now, after, queue, running, *, outage=False) -> None:
        """Book the seconds from one instant to the next to causes; a lapse is an instant."""
        while now < after:
            causes = self._walk(now, queue, running, outage=outage)
            aging = [k for k, cause in causes if cause == "unexplained" and self.age[k] < LAPSE]
            until = min([after, *(now + LAPSE - self.age[k] for k in aging)])
            for k, cause in causes:
                self._add(k, cause, now, until, running)
            for k in aging:
                self.age[k] += until - now
            now = until

    def _add(self, k, cause, now, until, running) -> None:
        jobs, job, book, seconds = self.jobs, self.jobs[k], self.booked[k], until - now
        if cause == "rule":
            free = self.capacity - sum(jobs[r].size for r in running)
            book["free"] += seconds * (job.size <= free)
        if cause == "full":
            used = sum(jobs[r].size for r in running)
            own = sum(jobs[r].size for r in running if jobs[r].user == job.user)
            before = sum(jobs[r].size for r in running if r < k and jobs[r].user != job.user)
            book["own"] += seconds * own / used
            book["earlier"] += seconds * before / used
            book["later"] += seconds * (used - own - before) / used
            return
        last = 0
        if cause == "unexplained" and self.age[k] < LAPSE and job.start is not None:
            last = max(until - max(now, job.start - TOLERANCE), 0)
            book["cycle"] += last
        book[cause] += seconds - last

    def _walk(self, now, queue, running, *, outage) -> list[tuple[int, str]]:
        """Return what each waiting job waits for: a cause, or "full"."""
        jobs, counted, causes = self.jobs, self._used(running), []
        free = left = self.capacity - sum(jobs[k].size for k in running)
        plan, claims, passed = Plan(now, running, jobs), Counter(), set()
        failed = None  # the first that cannot start (strict), or has a reservation
        fitting = [k for k in queue if 0 < jobs[k].size <= free]
        for k in queue:
            job = jobs[k]
            if job.size <= 0:
                continue
            lapsed = self.age[k] >= LAPSE
            if now < self.begin:
                cause = "outside"
            elif outage or job.size > self.capacity:
                cause = "unavailable"
            elif self._forbidden(job, now, counted):
                cause = "rule"
            elif lapsed:
                passed.add(job.user)
                cause = "unexplained" if job.size <= free else "full"
            elif self._can(job, left, plan, failed):
                cause = "unexplained"
                if job.user not in passed:
                    left -= job.size
                    plan.claim(job)
                    claims[job.user] += job.size
                    for rule in self.rules:
                        rule.count([job], counted)
            else:
                cause = "full" if job.size > free else "claimed"
                if job.size <= left:
                    cause = "own" if failed == job.user else "kept"
                elif job.size <= min(free, left + claims[job.user]):
                    cause = "own"
                needed = fitting and k < fitting[-1] and len(plan.reserved) < self.depth
                if (self.depth == STRICT or (needed and plan.reserve(job, left))) and not failed:
                    failed = job.user
            causes.append((k, cause))
        return causes

    def _can(self, job, left, plan, failed) -> bool:
        if self.depth == STRICT or not plan.reserved:
            return job.size <= left and not (self.depth == STRICT and failed)
        return job.size <= left and plan.has_room(job, left)


class Plan:
    """The plan of a walk: expected ends of running jobs and claims, and reservations."""

    def __init__(self, now: float, running: list[int], jobs: list[Job]) -> None:
        self.now = now
        self.ends = sorted((jobs[k].start + estimate(jobs[k]), jobs[k].size) for k in running)
        self.reserved: list[tuple[float, float, int]] = []

    def claim(self, job: Job) -> None:
        bisect.insort(self.ends, (self.now + estimate(job), job.size))

    def has_room(self, job: Job, left: int) -> bool:
        """Return whether a job that fits now fits for its whole estimate."""
        until = self.now + estimate(job)
        for begin, _, _ in self.reserved:
            if begin < until:
                room = left + sum(size for end, size in self.ends if end <= begin)
                room -= sum(size for b, e, size in self.reserved if b <= begin < e)
                if room < job.size:
                    return False
        return True

    def reserve(self, job: Job, left: int) -> bool:
        """Reserve the earliest start at which a job fits; false if it never fits."""
        steps: Counter[float] = Counter()
        for end, size in self.ends:
            steps[end] += size
        for begin, end, size in self.reserved:
            steps[begin] -= size
            steps[end] += size
        length, room = estimate(job), left
        since = self.now if room >= job.size else None
        for t in sorted(steps):
            if since is not None and t >= since + length:
                break
            room += steps[t]
            since = None if room < job.size else t if since is None else since
        if since is None:
            return False
        self.reserved.append((since, since + length, job.size))
        return True


def estimate(job: Job) -> int:
    return max(1, job.length, job.walltime or 0)


def width(size: int) -> str:
    """Return the class of a size: 1, 2, 3–4, 5–8, …, over 128."""
    top = 1 << max(size - 1, 0).bit_length()
    return "over 128" if size > 128 else str(size) if size <= 2 else f"{top // 2 + 1}–{top}"


def whole(text: str) -> int:
    return int(text.replace(",", ""))

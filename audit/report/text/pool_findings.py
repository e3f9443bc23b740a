"""What a report found of one pool, in sentences; see ``findings``."""

from collections.abc import Iterator
from typing import Final

from audit.report.contents import SMALL_SAMPLE, Breakdown, Entities, Figure, PoolPart
from audit.report.text import belief, tables, wording

# A mean this many times the upper quartile is ruled by a few entities, whatever the rest do.
_RULED_BY_FEW: Final = 2

WITHOUT_ARRIVALS: Final = ("The machine", "Resources", "Never started")
"""What can be said of a pool although nobody knows when its attempts arrived."""


def of_pool(pool: PoolPart) -> Iterator[tuple[str, str]]:
    """What there is to say of the pool: subjects, and sentences on them."""
    for subject, text in (
        ("Why they waited", _why(pool)),
        ("Longer than peers", " ".join(map(_longer, (pool.users, pool.accounts))).strip()),
        ("Equal sharing", _sharing(pool)),
        ("Wide and narrow", _widths(pool)),
        ("Later arrivals", _overtaken(pool)),
        ("Fair start times", _fair_start(pool)),
        ("Who started late", _late(pool)),
        ("Model fidelity", _fidelity(pool)),
        ("Users", _users(pool)),
        ("Waits", _waits(pool)),
        ("Wait for work done", _nuwt(pool)),
        ("The machine", _machine(pool)),
        ("Resources", _resources(pool)),
        ("Never started", _never_started(pool)),
    ):
        if text:
            yield subject, text


def _why(pool: PoolPart) -> str:
    room = pool.figure("wait_room_share")
    if room.value is None:
        return ""
    shares = [
        (wording.percent(figure.value), words)
        for part, words in (
            ("shared", "there was room that others before them could claim"),
            ("earlier", "what they lacked was in use by others who had come before them"),
            ("later", "by others who came after them"),
            ("own", "by their own users"),
            ("down", "the pool had less than they asked for"),
        )
        if (figure := pool.figure(f"wait_{part}_share")).value
    ]
    told = "".join(f"; for {share} {words}" for share, words in shares)
    return (
        f"For {wording.percent(room.value)} of all waiting{_within(room)} there was room for those "
        f"who waited, even after all before them took theirs: something else than competition "
        f"held them back, or the sums of a pool hide that no node suited them{told}."
    )


_TOLD: Final = 3
"""So many users, and accounts, are named in a finding."""


def _longer(of: Entities) -> str:
    """Who waits longer than others with jobs alike."""
    if not of.peered:
        return ""
    if not of.longer:
        return (
            f"No {of.kind} of {of.peered:,} that could be compared waits longer than others with "
            "jobs alike beyond chance."
        )
    told = [_beside(of.kind, part) for part in of.longer[:_TOLD]]
    more = len(of.longer) - _TOLD
    rest = f", and {wording.plural(more, f'more {of.kind}')}" if more > 0 else ""
    return f"Beyond chance, {'; '.join(told)}{rest}."


def _beside(kind: str, part: Breakdown) -> str:
    ratio, excess = part.figure("peer_ratio"), part.figure("excess_wait")
    return (
        f"{kind} {wording.name(part.label)} waits {wording.number(ratio.value, 2)} times as long "
        f"as others with jobs alike{_within(ratio)}, {wording.duration(excess.value)} in all "
        "beyond theirs"
    )


def _sharing(pool: PoolPart) -> str:
    mean = pool.figure("re_unfairness")
    if mean.value is None:
        return ""
    share = pool.figure("re_unfairness_share")
    treated = pool.figure("re_treated_unfairly_share")
    attempts = pool.attempts if treated.attempts is None else treated.attempts
    text = (
        f"{wording.percent(treated.value)} of the {wording.plural(attempts, 'attempt')} got "
        "less than an equal share of the pool would have given them. What they went short of is "
        f"{wording.value(mean, pool.resource)} for each attempt of the pool{_within(mean)}"
    )
    if share.value is not None:
        text += f", or {wording.percent(share.value)} of all that was consumed{_within(share)}"
    return text + "."


def _widths(pool: PoolPart) -> str:
    metric = "re_unfairness_share"
    extremes = _extremes(pool, metric)
    if extremes is None:
        return ""
    resource = wording.resource(pool.resource)
    most, least = extremes
    high, low = most.figure(metric), least.figure(metric)
    text = (
        f"Attempts of {wording.width(most.label)} {resource}s went short most: by "
        f"{wording.percent(high.value)} of what they consumed{_within(high)}. Those of "
        f"{wording.width(least.label)} went short least, by {wording.percent(low.value)}"
        f"{_within(low)}."
    )
    return text + _compared(high, low)


def _extremes(pool: PoolPart, metric: str) -> tuple[Breakdown, Breakdown] | None:
    """The width classes with most and with least, of those with attempts enough."""
    sound = [
        part
        for part in pool.widths
        if part.figure(metric).value is not None and _attempts(part, metric) >= SMALL_SAMPLE
    ]
    if len(sound) < 2:
        return None
    ordered = sorted(sound, key=lambda part: part.figure(metric).value or 0.0)
    return ordered[-1], ordered[0]


def _compared(high: Figure, low: Figure) -> str:
    if not (_has_interval(high) and _has_interval(low)):
        return ""
    if _above(high, low):
        return " These intervals lie apart: chance hardly explains the difference."
    return " These intervals overlap: the difference may be chance."


def _overtaken(pool: PoolPart) -> str:
    cost, rest = pool.figure("overtaken_time_mean"), pool.figure("unmodelled_time_mean")
    if cost.value is None or rest.value is None:
        return ""
    side = "later" if rest.value >= 0 else "earlier"
    explained = pool.figure("miss_explained_share")
    text = (
        f"Under the modelled policy later arrivals cost each of the "
        f"{wording.plural(cost.attempts or 0, 'attempt')} that can be judged "
        f"{wording.duration(cost.value)} in the mean{_within(cost)}. Everybody who came later "
        f"included, they started {wording.duration(abs(rest.value))} {side} than this policy "
        f"would have let them{_within(rest)}: that the model does not explain"
    )
    if explained.value is not None:
        text += (
            f". Of what they missed their fair start times by, later arrivals explain "
            f"{wording.percent(explained.value)}{_within(explained)}"
        )
    return f"{text}. {belief.caveat(pool)}"


def _fair_start(pool: PoolPart) -> str:
    share, mean = pool.figure("missed_strict_share"), pool.figure("miss_strict_mean")
    if mean.value is None:
        return ""
    relaxed = pool.figure("miss_relaxed_mean")
    attempts = wording.plural(mean.attempts or 0, "attempt")
    beyond = belief.tolerance(pool.fair_start)
    if share.value:
        text = (
            f"{wording.percent(share.value)} of the {attempts} that can be judged started more "
            f"than {beyond} later than they would have, had nobody arrived after them; these by "
            f"{wording.duration(pool.figure('missed_strict_mean').value)} in the mean. "
        )
    else:
        text = (
            f"None of the {attempts} that can be judged started more than {beyond} later than it "
            "would have, had nobody arrived after it. "
        )
    early = wording.percent(pool.figure("preferred_strict_share").value)
    text += belief.judged(pool.fair_start.fidelity)
    return (
        f"{text}{early} started that much earlier. Over all, the miss per attempt is "
        f"{wording.duration(mean.value)}{_within(mean)}, and {wording.duration(relaxed.value)}"
        f"{_within(relaxed)} where nobody may slip past those ahead (relaxed). "
        f"{belief.caveat(pool)}"
    )


def _late(pool: PoolPart) -> str:
    metric = "miss_strict_mean"
    extremes = _extremes(pool, metric)
    said = []
    if extremes is not None and extremes[0].figure(metric).value:
        most, least = extremes
        high, low = most.figure(metric), least.figure(metric)
        said.append(
            f"Attempts of {wording.width(most.label)} {wording.resource(pool.resource)}s started "
            f"latest, {wording.duration(high.value)}{_within(high)} after their fair start times "
            f"in the mean; those of {wording.width(least.label)}, "
            f"{wording.duration(low.value)}{_within(low)}.{_compared(high, low)}"
        )
    if belief.good_fit(pool) and (told := _ends(pool)):
        said.append(f"Late starts less early ones, in sum: {'; '.join(told)}.")
    if said and not belief.good_fit(pool):
        said.append(belief.caveat(pool))
    return " ".join(said)


def _ends(pool: PoolPart) -> list[str]:
    """Who lost most and who gained most."""
    ends = [
        (row, side)
        for rows, side in (
            (tables.lost(pool.users, 1), "lost most"),
            (tables.gained(pool.users, 1), "gained most"),
        )
        for row in rows
    ]
    return [
        f"user {wording.name(row.name)} {side}, {wording.duration(abs(row.missed.net_s))} over "
        f"{wording.plural(row.missed.attempts, 'attempt')}"
        for row, side in ends
        if row.missed is not None
    ]


def _fidelity(pool: PoolPart) -> str:
    if not pool.has_fair_starts:
        return ""
    reasons = belief.reasons(pool)
    return f"{reasons} {belief.fit_line(pool)}" if reasons else belief.fit_line(pool)


def _users(pool: PoolPart) -> str:
    rows = [row for row in pool.users.named if row.re_unfairness_net is not None]
    if len(rows) < 2:
        return ""
    net = {row.name: row.re_unfairness_net or 0.0 for row in rows}
    ranked = sorted(rows, key=lambda row: net[row.name], reverse=True)
    most, best = ranked[0], ranked[-1]
    said = []
    if net[most.name] > 0:
        said.append(
            f"user {wording.name(most.name)} went short most, "
            f"by {wording.amount(net[most.name], pool.resource)} over "
            f"{wording.plural(most.attempts, 'attempt')}"
        )
    if net[best.name] < 0:
        said.append(
            f"user {wording.name(best.name)} got most beyond an equal share, "
            f"{wording.amount(-net[best.name], pool.resource)} over "
            f"{wording.plural(best.attempts, 'attempt')}"
        )
    if not said:
        return ""
    return (
        f"Of {wording.plural(len(rows), 'user')}, {'; '.join(said)}. "
        "Such sums grow with how much a user ran; the tables below give counts beside them."
    )


def _waits(pool: PoolPart) -> str:
    median = pool.figure("wait_median")
    if median.value is None:
        return ""
    mean = pool.figure("wait_mean")
    return (
        f"Half of the attempts waited {_at_most(median.value)}, one in ten longer than "
        f"{wording.duration(pool.figure('wait_p90').value)}, one in a hundred longer than "
        f"{wording.duration(pool.figure('wait_p99').value)}. The mean wait is "
        f"{wording.duration(mean.value)}{_within(mean)}."
    )


def _at_most(seconds: float) -> str:
    return "not at all" if seconds == 0 else f"{wording.duration(seconds)} or less"


def _nuwt(pool: PoolPart) -> str:
    users = pool.users
    median = users.figure("nuwt_median")
    uwt = users.figure("uwt")
    if median.value is None or uwt.value is None:
        return ""
    upper = users.figure("nuwt_q3").value
    unit = f"{wording.resource(pool.resource)}-second"
    text = (
        f"For each {unit} that they used, the median user waited {wording.number(median.value)} s "
        f"(quartiles {wording.number(users.figure('nuwt_q1').value)} and "
        f"{wording.number(upper)}); over all users together it is "
        f"{wording.number(users.figure('nuwt_pooled').value)} s. The mean over users, UWT, is "
        f"{wording.number(uwt.value)}{_within(uwt)}, with a standard deviation of "
        f"{wording.number(users.figure('nuwt_deviation').value)}"
    )
    if upper is not None and uwt.value > _RULED_BY_FEW * upper:
        text += ": a few users rule it, so the median says more"
    return f"{text}. {_left_out(users)}".strip()


def _left_out(of: Entities) -> str:
    single = of.figure("nuwt_single_job").value or 0
    unused = of.figure("nuwt_no_usage").value or 0
    if not single and not unused:
        return ""
    return (
        f"Left out: {wording.plural(single, of.kind)} with fewer than two started jobs, "
        f"{wording.count(unused)} without usage."
    )


def _machine(pool: PoolPart) -> str:
    busy = pool.figure("utilization")
    if busy.value is None:
        return ""
    text = (
        f"The pool of {wording.plural(pool.capacity, wording.resource(pool.resource))} was "
        f"{wording.percent(busy.value)} busy{_within(busy)}"
    )
    lost = pool.figure("loss_of_capacity")
    if lost.value is not None:
        text += (
            f". On average {wording.percent(lost.value)} of it{_within(lost)} stood idle while "
            "the queue asked for as much. Not all of this could have been used: a queued attempt "
            "may be wider than what is idle"
        )
    return text + "."


def _resources(pool: PoolPart) -> str:
    busy = [
        f"{wording.percent(of.utilization)} of the {wording.resources(of.resource)}"
        for of in pool.resources
        if of.utilization is not None and of.used
    ]
    if len(busy) < 2:
        return ""
    most = [
        f"user {wording.name(of.users[0].name)} had {wording.percent(of.users[0].share)} of the "
        f"{wording.resources(of.resource)}"
        for of in pool.resources
        if of.resource != pool.resource and of.users and of.users[0].name is not None
    ]
    text = f"Busy over the period: {', '.join(busy)}."
    return f"{text} Of all that was used, {', '.join(most)}." if most else text


def _never_started(pool: PoolPart) -> str:
    never = pool.figure("never_started").value
    if not never:
        return ""
    gave_up = pool.figure("gave_up_wait_s").value
    waited = "" if gave_up is None else f", after {wording.duration(gave_up)} of waiting in sum"
    return (
        f"{wording.plural(never, 'attempt')} left the queue without having started{waited}. "
        "No figure above counts them."
    )


def _within(figure: Figure) -> str:
    said = wording.interval(figure)
    return f" (95 % interval {said})" if said else ""


def _has_interval(figure: Figure) -> bool:
    return figure.lower is not None and figure.upper is not None


def _above(high: Figure, low: Figure) -> bool:
    return high.lower is not None and low.upper is not None and high.lower > low.upper


def _attempts(part: Breakdown, metric: str) -> int:
    return part.figure(metric).attempts or 0

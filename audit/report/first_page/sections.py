"""Strip, causes, sizes and users of page one, in words."""

from collections.abc import Callable, Iterator
from typing import Final

from audit.report.first_page import amounts, phrases, reasons
from audit.report.first_page.causes import (
    BEHIND,
    BY_KEY,
    CAUSES,
    FULL,
    FULL_OF,
    GROUPS,
    together,
)
from audit.report.first_page.facts import PageFacts, People, Person, Shares, SizeClass
from audit.report.first_page.page import Cell, KeyGroup, KeyRow, Segment, SizeRow, WhoGroup, WhoRow
from audit.report.first_page.reasons import label, name
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, joined, say, upper
from audit.report.text import wording

DRAWN: Final = 0.004
"""Parts of a bar below this share are not drawn."""
LISTED: Final = 0.01
MUCH: Final = 0.05
NO_REASON: Final = 0.2
MUCH_CANCELLED: Final = 0.05
MOST_WORDS: Final = 25
_HOUR_S: Final = 3_600


def figure(text: str, key: str) -> Sentence:
    """Return a figure on its own."""
    return Sentence((Slot(text, key),))


# --- the strip -----------------------------------------------------------------------------------


def strip(facts: PageFacts) -> tuple[Cell, ...]:
    """Return the four figures; without start times, how busy the machine was."""
    of, busy = facts.strip, _busy(facts)
    if of is None:
        return (busy,)
    run = say(phrases.TYPICAL_RUN, time=Slot(amounts.short_time(of.run_median), "typical run"))
    if of.slow_queue is not None:
        queue = wording.name(of.slow_queue, 20)
        wait = Slot(amounts.short_time(of.without_queue), "typical wait without a queue")
        run += say(phrases.WITHOUT_QUEUE, queue=queue, wait=wait)
    median = Cell(figure(amounts.short_time(of.median), "typical wait"), say(phrases.MEDIAN), run)
    if facts.decision.word == "quiet":
        return (median, *_long(facts), busy)
    tenth = Slot(amounts.short_time(of.run_p90), "one run in ten")
    p90 = Cell(
        figure(amounts.short_time(of.p90), "one job in ten"),
        say(phrases.ONE_IN, n="ten"),
        say(phrases.RUN_IN, n="ten", time=tenth),
    )
    minute = of.over[60]
    what, other = ("a minute", minute) if minute <= 0.95 else ("ten hours", of.over[36_000])
    over = Cell(
        figure(amounts.short_share(of.over[_HOUR_S]), "over an hour"),
        say(phrases.OVER_HOUR),
        say(phrases.OVER, what=what, share=Slot(amounts.short_share(other), f"over {what}")),
    )
    return (median, p90, over, busy)


def _long(facts: PageFacts) -> tuple[Cell, Cell]:
    """Return the figures of a quiet pool."""
    of = facts.strip
    assert of is not None
    hundred = Slot(amounts.short_time(of.run_p99), "one run in a hundred")
    p99 = Cell(
        figure(amounts.short_time(of.p99), "one job in a hundred"),
        say(phrases.ONE_IN, n="a hundred"),
        say(phrases.RUN_IN, n="a hundred", time=hundred),
    )
    least, share = int(facts.thresholds["few_jobs"]), facts.thresholds["few_share"]
    jobs = wording.plural(of.long_jobs, "job")
    than = say(phrases.FOR_VERDICT, least=str(least), n=wording.count(1 / share if share else 0))
    return p99, Cell(figure(jobs, "jobs over 10 minutes"), say(phrases.LONG_JOBS), than)


def _busy(facts: PageFacts) -> Cell:
    machine = facts.machine
    amount = wording.plural(machine.capacity, wording.resource(machine.resource))
    nodes = ""
    if machine.nodes is not None and machine.resource != "nodes":
        nodes = f" ({wording.plural(machine.nodes, 'node')})"
    than = NOTHING
    if machine.gpus_busy is not None:
        share = Slot(amounts.short_share(machine.gpus_busy), "busy GPUs")
        than = say(phrases.OF_GPUS, share=share)
    elif machine.fullest is not None:
        share = Slot(amounts.short_share(machine.fullest), "fullest step")
        than = say(phrases.FULLEST, step=machine.step, share=share)
    what = say(phrases.BUSY, amount=Slot(amount, "capacity"), nodes=nodes)
    return Cell(figure(amounts.short_share(machine.busy), "busy"), what, than)


# --- why jobs waited -----------------------------------------------------------------------------


def why_sub(facts: PageFacts) -> Sentence:
    """Return how much waiting there was."""
    cancelled: Sentence | str = ""
    if facts.cancelled_s >= MUCH_CANCELLED * facts.waiting_s and facts.cancelled_s:
        hours = Slot(amounts.hours(facts.cancelled_s), "waiting of cancelled jobs")
        cancelled = say(phrases.CANCELLED, hours=hours)
    hours = Slot(amounts.hours(facts.waiting_s), "all waiting")
    return say(phrases.WHY_SUB, hours=hours, cancelled=cancelled)


def bar(shares: Shares, facts: PageFacts) -> tuple[Segment, ...]:
    """Return the parts of a bar that are wide enough to see, which together are 1."""
    drawn = [cause for cause in CAUSES if shares.get(cause.key, 0.0) >= DRAWN]
    total = sum(shares[cause.key] for cause in drawn)
    return tuple(
        Segment(cause.key, shares[cause.key] / total, label(cause, facts)) for cause in drawn
    )


def groups(facts: PageFacts) -> tuple[KeyGroup, ...]:
    """Return the key of the bar: totals add up to 100, and listed causes to their total."""
    shares = {key: 100 * share for key, share in facts.causes.items()}
    if not any(shares.values()):
        return ()
    exact = {title: sum(shares[c.key] for c in CAUSES if c.group == title) for title in GROUPS}
    totals = amounts.adding_up({title: of for title, of in exact.items() if of}, 100)
    most = next(iter(together(shares)))
    return tuple(
        KeyGroup(
            title,
            figure(amounts.whole(total, alone=len(totals) == 1), f"share of {title.lower()}"),
            tuple(_rows(title, total, shares, most, facts)),
        )
        for title, total in totals.items()
    )


def _rows(
    title: str, total: int, shares: Shares, most: str, facts: PageFacts
) -> Iterator[KeyRow]:
    listed = {
        cause.key: shares[cause.key]
        for cause in CAUSES
        if cause.group == title and shares[cause.key] >= 100 * LISTED
    }
    parts: dict[str, float] = {}
    if listed.keys() >= set(FULL_OF):
        parts = {key: listed.pop(key) for key in FULL_OF}
        listed = {FULL: sum(parts.values())} | listed
    alone = len(listed) == 1
    for key, value in _fitted(listed, total).items():
        share = NOTHING if alone else figure(amounts.whole(value), f"share of {key}")
        if key != FULL:
            said = BY_KEY[key].said or key
            yield KeyRow(key, label(BY_KEY[key], facts), share, most=said == most)
            continue
        yield KeyRow(FULL, wording.first_upper(phrases.FULL_MACHINE), share, most=key == most)
        for part, of_full in _fitted(parts, total if alone else value).items():
            share = figure(amounts.whole(of_full), f"share of {part}")
            yield KeyRow(part, phrases.OF_FULL[part], share, most=False, part=True)


def _fitted(shares: Shares, total: int) -> dict[str, int]:
    """Return rounded shares, which add up to a total that they miss by one."""
    rounded = {key: round(share) for key, share in shares.items()}
    if abs(sum(rounded.values()) - total) != 1:
        return rounded
    fitted = amounts.adding_up(shares, total)
    # else what is not listed makes up the rest
    return fitted if sum(fitted.values()) == total else rounded


def shown_share(key: str, facts: PageFacts) -> str:
    """Return the share of a cause as the key of the bar has it."""
    for group in groups(facts):
        for row in group.rows:
            if row.cause == key:
                return (row.share or group.total).plain
    return amounts.whole(round(100 * together(facts.causes)[key]))


def notes(facts: PageFacts) -> tuple[Sentence, ...]:
    """Return the notes below the key."""
    return tuple(filter(None, _notes(facts)))


def _notes(facts: PageFacts) -> Iterator[Sentence]:
    shares = facts.causes
    alone = facts.people is not None and facts.people.users == 1
    if facts.waiting_s and not alone and sum(shares[key] for key in BEHIND) < MUCH:
        yield say(phrases.NOT_FOR_OTHERS)
    if shares.get("rule", 0.0) >= MUCH and facts.rules:
        yield _rule_note(facts)
    lacked, part = facts.lacked or ("", 0.0)
    if (
        not facts.part
        and shares.get("nodes", 0.0) >= MUCH
        and part >= 0.5
        and lacked in phrases.LACKED
    ):
        yield say(phrases.SCATTERED, what=phrases.LACKED[lacked])
    if shares.get("none", 0.0) >= NO_REASON and facts.where is not None:
        where = facts.where
        yield say(
            phrases.WHERE,
            much=Slot(amounts.spoken(where.share), "class without a reason"),
            jobs=reasons.jobs_of(where, facts),
            part=Slot(amounts.short_share(where.jobs), "jobs of the class without a reason"),
        )


def _rule_note(facts: PageFacts) -> Sentence:
    total = sum(one.waiting_s for one in facts.rules)
    free = sum(one.free_s for one in facts.rules) / total
    first = facts.rules[0]
    source = phrases.SOURCES.get(first.source, first.source)
    spoken = Slot(amounts.spoken(free, nearly="nearly always"), "rules while enough was free")

    def said(phrase: str, name_of: Callable[[str], Slot]) -> Sentence:
        if 2 * first.waiting_s >= total or len(facts.rules) == 1:
            which = say(phrases.MAINLY, rule=reasons.rule_link(first.name), source=source)
        else:
            links = [name_of(one.name) for one in facts.rules[:2]]
            which = say(phrases.TWO_RULES, a=links[0], b=links[1], source=source)
        if facts.part:
            return say(phrases.RULE_IN_PART, which=which)
        return say(phrase, which=which, free=spoken)

    made = said(phrases.RULE, reasons.rule_link)
    if len(made.text.split()) <= MOST_WORDS:
        return made
    return said(phrases.RULE_BRIEFLY, reasons.mention)


# --- sizes ---------------------------------------------------------------------------------------


def size_rows(facts: PageFacts) -> tuple[SizeRow, ...]:
    """Return the classes of sizes; of one alone nothing, as the other parts say it all."""
    if len(facts.sizes) == 1:
        return ()
    mixed = len({one.gpus for one in facts.sizes}) > 1
    made = []
    for one in facts.sizes:
        title = size_label(one, facts) if mixed else _numbers(one)
        part = one.waiting_s / facts.waiting_s if facts.waiting_s else 0.0
        made.append(
            SizeRow(
                title,
                bar(one.causes, facts),
                figure(wording.count(one.jobs), f"jobs of {title}"),
                figure(amounts.short_share(part), f"waiting of {title}"),
                figure(amounts.short_time(one.median), f"typical wait of {title}"),
                figure(amounts.short_time(one.p90), f"one in ten of {title}"),
            )
        )
    return tuple(made)


def size_title(facts: PageFacts) -> str:
    """Return the title of the column of classes."""
    if len({one.gpus for one in facts.sizes}) > 1:
        return "Requested"
    if facts.sizes and facts.sizes[0].gpus:
        return "GPUs"
    return wording.first_upper(f"{reasons.unit(facts)}s")


def _numbers(one: SizeClass) -> str:
    low, high = (wording.count(of) if of >= 10_000 else str(of) for of in (one.low, one.high))
    return low if one.low == one.high else f"{low}–{high}"


def size_label(one: SizeClass, facts: PageFacts) -> str:
    """Return a class with its unit: ``1 GPU``, ``5–16 CPUs``."""
    unit = "GPU" if one.gpus else reasons.unit(facts)
    return f"{_numbers(one)} {unit}{'' if one.high == 1 else 's'}"


def _jobs(one: SizeClass, facts: PageFacts) -> str:
    unit = "GPU" if one.gpus else reasons.unit(facts)
    if one.top and one.low > 1:
        return phrases.OVER_SIZE.format(size=one.low - 1, unit=unit)
    return f"jobs of {size_label(one, facts)}"


def size_note(facts: PageFacts) -> Sentence:
    """Return the first note that holds, of the class with most waiting."""
    queues = facts.queues
    if 2 <= len(queues) <= 4 and queues[-1].p90 >= 1.5 * max(queues[0].p90, 1):
        parts: list[Slot] = []
        for queue in queues:
            shown = f"{wording.name(queue.name, 24)} "
            parts += [Slot(", ")] if parts else []
            parts += [
                Slot(shown),
                Slot(amounts.short_time(queue.p90), f"one in ten of queue {shown}"),
            ]
        made = say(phrases.BY_QUEUE, queues=Sentence(tuple(parts)))
        if len(made.text.split()) <= MOST_WORDS:
            return made
    if len(facts.sizes) == 1:
        return NOTHING
    by_waiting = sorted(facts.sizes, key=lambda one: -one.waiting_s)
    some = [one for one in by_waiting if one.waiting_s >= MUCH * facts.waiting_s]
    for note in (_behind_later, _one_user, _whole_node):
        for one in some:
            if made := note(one, facts):
                return made
    return NOTHING


def _behind_later(one: SizeClass, facts: PageFacts) -> Sentence:
    later, usual = one.causes["later"], facts.causes["later"]
    if later < 0.25 or not usual or later < 3 * usual:
        return NOTHING
    return say(
        phrases.BEHIND_LATER,
        jobs=_jobs(one, facts),
        share=Slot(amounts.short_share(later), "later jobs of a class"),
        times=Slot(amounts.digits(later / usual), "times the usual share"),
    )


def _one_user(one: SizeClass, facts: PageFacts) -> Sentence:
    if one.largest_user < 0.75:
        return NOTHING
    share = Slot(amounts.short_share(one.largest_user), "one user of a class")
    rules, hardly = facts.causes["rule"] >= MUCH, one.causes["rule"] < 0.1
    if rules and hardly:
        return upper(say(phrases.HARDLY_MET, jobs=_jobs(one, facts), share=share))
    return NOTHING if rules else say(phrases.ONE_USER, share=share, jobs=_jobs(one, facts))


def _whole_node(one: SizeClass, facts: PageFacts) -> Sentence:
    largest = max(one.causes, key=lambda key: (one.causes[key], key))
    if facts.part or largest != "nodes" or one.causes["nodes"] < 0.25:
        return NOTHING
    return upper(say(phrases.WHOLE_NODE, jobs=_jobs(one, facts)))


# --- who waits -----------------------------------------------------------------------------------


def who_sub(facts: PageFacts) -> Sentence:
    """Return how few users have half of the waiting; nothing about one user alone."""
    people = facts.people
    if people is None or people.users == 1:
        return NOTHING
    if people.users >= 20 and people.half > people.users / 5:
        return say(phrases.SPREAD)
    one = people.half == 1
    much = amounts.short_share(people.half_waiting)
    if not one and amounts.plain(people.half_waiting) == "half":
        much = "half"
    in_line = people.half_cpu >= people.half_waiting * 2 / 3
    line = phrases.IN_LINE.format(whose="its" if one else "their") if in_line else "and"
    return upper(
        say(
            phrases.HALF_OF,
            users=Slot(amounts.counted(people.half, "user"), "users with half of the waiting"),
            have="has" if one else "have",
            much=Slot(much, "waiting of the users with half"),
            line=line,
            cpu=Slot(amounts.short_share(people.half_cpu), "CPU time of the users with half"),
        )
    )


def who_groups(facts: PageFacts) -> tuple[WhoGroup, ...]:
    """Return the lists of users or accounts."""
    people = facts.people
    return () if people is None else tuple(_groups(people, facts))


def _groups(people: People, facts: PageFacts) -> Iterator[WhoGroup]:
    kind = people.kind
    if people.overtaken:
        base = "" if facts.base_days is None else f" in the last {facts.base_days} days"
        title = say(
            phrases.OVERTAKEN,
            base=base,
            n=Slot(str(len(people.overtaken)), "number overtaken"),
            m=Slot(wording.count(people.tested), "number tested"),
            kind=kind,
        )
        yield WhoGroup(title, tuple(_overtaken_rows(people, facts)))
    if people.most:
        yield WhoGroup(say(phrases.MOST), tuple(_row(one, facts) for one in people.most))
    if people.users > 1:
        yield _longer(people, facts)
    if people.used_less:
        title = say(
            phrases.USED_LESS,
            n=Slot(str(len(people.used_less)), "accounts below their share"),
            m=Slot(str(people.with_share), "accounts with a share"),
        )
        yield WhoGroup(title, tuple(_less_rows(people, facts)))


def _longer(people: People, facts: PageFacts) -> WhoGroup:
    of = Slot(wording.count(people.compared), "number compared")
    if not people.compared:
        return WhoGroup(say(phrases.NONE_COMPARABLE, kind=people.kind), ())
    if not people.longer:
        return WhoGroup(say(phrases.NONE_LONGER, m=of, kind=people.kind), ())
    shown, fresh = len(people.longer_rows), people.longer - people.above
    above = Slot(wording.count(people.above), "of them above")
    listed = say(phrases.ABOVE, n=above) if fresh else say(phrases.ALL_ABOVE)
    title = say(
        phrases.LONGER,
        n=Slot(wording.count(people.longer), "number with longer waits"),
        m=of,
        kind=people.kind,
        above=listed if people.above else "",
        shown=say(phrases.SHOWN, n=Slot(str(shown), "number shown")) if shown < fresh else "",
    )
    return WhoGroup(title, tuple(_row(one, facts) for one in people.longer_rows))


def _overtaken_rows(people: People, facts: PageFacts) -> Iterator[WhoRow]:
    for one in people.overtaken:
        of = f"overtaken {one.kind} {one.name}"
        yield WhoRow(
            *(one.kind, one.name, name(one.kind, one.name)),
            figure(f"{wording.count(one.passed_jobs)} of {wording.count(one.jobs)}", f"jobs {of}"),
            figure(amounts.short_share(one.passed), f"passed time {of}"),
            figure(amounts.short_time(one.passed_median), f"typical passed time {of}"),
            Sentence((Slot(amounts.UNKNOWN),)),
            reasons.overtaken(one, facts),
        )


def _row(one: Person, facts: PageFacts) -> WhoRow:
    of = f"{one.kind} {one.name}"
    jobs = wording.count(one.jobs)
    if one.compared is not None and one.compared < one.jobs:
        jobs = f"{wording.count(one.compared)} of {jobs}"
    similar = amounts.short_time(one.similar)
    return WhoRow(
        *(one.kind, one.name, name(one.kind, one.name)),
        figure(jobs, f"jobs of {of}"),
        figure(amounts.short_share(one.waiting), f"waiting of {of}"),
        figure(amounts.short_time(one.median), f"typical wait of {of}"),
        figure(similar, "" if one.similar is None else f"similar jobs of {of}"),
        reasons.person(one, facts),
    )


def _less_rows(people: People, facts: PageFacts) -> Iterator[WhoRow]:
    for one in people.used_less:
        of = f"account {one.name} below its share"
        yield WhoRow(
            *("account", one.name, name("account", one.name)),
            figure(wording.count(one.jobs), f"jobs of {of}"),
            figure(amounts.short_share(one.waiting), f"waiting of {of}"),
            figure(amounts.short_time(one.median), f"typical wait of {of}"),
            figure(amounts.short_time(one.others), f"others’ typical wait of {of}"),
            reasons.used_less(one, facts),
        )


def who_foot(groups_: tuple[WhoGroup, ...], facts: PageFacts) -> Sentence:
    """Return the footnote: what *not known* may be, and what similar jobs are."""
    rows = [row for group in groups_ for row in group.rows]
    unknown = any(row.reason.text.startswith("Not known") for row in rows)
    people = facts.people
    several = people is not None and people.users > 1
    listed = () if people is None else (*people.most, *people.longer_rows)
    some = any(one.compared is not None and one.compared < one.jobs for one in listed)
    return joined(
        say(phrases.NOT_KNOWN) if unknown else NOTHING,
        say(phrases.SIMILAR) if several and rows else NOTHING,
        say(phrases.SOME_SIMILAR) if several and some else NOTHING,
    )

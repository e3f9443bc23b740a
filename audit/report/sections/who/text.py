"""Who waited, in the words of page one."""

from collections.abc import Iterator

from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.facts import PageFacts
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, figure, joined, say, upper
from audit.report.sections.who import reasons
from audit.report.sections.who.reasons import name
from audit.report.sections.who.record import People, Person, WhoGroup, WhoRow


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

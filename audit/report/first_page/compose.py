"""Page one from its numbers."""

from audit.metrics.verdict import Word
from audit.report.first_page import (
    amounts,
    elsewhere,
    outlook,
    phrases,
    reasons,
    sections,
    verdicts,
)
from audit.report.first_page.causes import NOT_KNOWN
from audit.report.first_page.facts import PageFacts
from audit.report.first_page.page import FirstPage, LongWaitRow
from audit.report.first_page.sentences import Sentence, Slot, say
from audit.report.text import wording


def compose(facts: PageFacts, zone: str) -> FirstPage:
    """Return page one; ``zone`` is the cluster's, for dates."""
    word = facts.decision.word
    who = sections.who_groups(facts)
    people = facts.people
    return FirstPage(
        word=word,
        title=phrases.WORDS[word],
        sentence=verdicts.sentence(facts),
        pool=facts.pool,
        cluster=facts.cluster,
        days=facts.days,
        kicker=_kicker(facts),
        cannot=verdicts.cannot_tell(facts),
        strip=sections.strip(facts),
        why_sub=sections.why_sub(facts),
        bar=sections.bar(facts.causes, facts),
        groups=sections.groups(facts),
        notes=sections.notes(facts),
        size_title=sections.size_title(facts),
        sizes=sections.size_rows(facts),
        size_note=sections.size_note(facts),
        who_sub=sections.who_sub(facts),
        who_label=wording.first_upper(people.kind) if people else "User",
        who=who,
        who_foot=sections.who_foot(who, facts),
        changed=outlook.changed(facts),
        steps=facts.steps,
        step=facts.step,
        marks=facts.marks,
        to_try=outlook.to_try(facts),
        trust=outlook.steps(facts),
        trust_lines=outlook.lines(facts),
        limits=outlook.limits(facts),
        long_waits=tuple(_long(one, zone) for one in facts.long_waits)
        if word is Word.QUIET
        else (),
        cautions=facts.cautions,
        lines=elsewhere.lines(facts),
        mail=elsewhere.mail(facts),
        mainly=elsewhere.mainly(facts),
        because=elsewhere.because(facts),
        over_hour=facts.strip.over[3_600] if facts.strip else None,
        not_known=sum(facts.causes[key] for key in NOT_KNOWN) if facts.causes else None,
    )


def _kicker(facts: PageFacts) -> Sentence:
    users = facts.people.users if facts.people else facts.base_users
    made = say(
        "{jobs} of {users}",
        jobs=Slot(wording.plural(facts.jobs, "job"), "jobs"),
        users=Slot(wording.plural(users, "user"), "users"),
    )
    if facts.several:
        made = say("pool {pool} · ", pool=wording.name(facts.pool, 30)) + made
    if facts.base_days is not None:
        days = Slot(wording.plural(facts.base_days, "day"), "")
        made += say(" · Verdict over {days}", days=days)
    return made


def _long(one: tuple[str, int, int, int], zone: str) -> LongWaitRow:
    user, size, wait, arrival = one
    return LongWaitRow(
        user,
        reasons.name("user", user),
        sections.figure(str(size), ""),
        sections.figure(amounts.short_time(wait), ""),
        wording.day(arrival, zone),
    )

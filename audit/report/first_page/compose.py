"""Page one from its numbers."""

from audit.metrics.verdict import Word
from audit.report import wording
from audit.report.first_page import amounts, elsewhere, phrases
from audit.report.first_page.page import FirstPage, PageFacts
from audit.report.first_page.sentences import Sentence, Slot, figure, say
from audit.report.sections import advice as advice_page_one
from audit.report.sections import trust as trust_text
from audit.report.sections import verdict as verdicts
from audit.report.sections.causes import page_one as causes_page_one
from audit.report.sections.causes.shown import NOT_KNOWN
from audit.report.sections.changes import page_one as changes_page_one
from audit.report.sections.waits import page_one as waits_text
from audit.report.sections.waits.record import LongWaitRow
from audit.report.sections.who import page_one
from audit.report.sections.who import page_one as who_text


def compose(facts: PageFacts, zone: str) -> FirstPage:
    """Return page one; ``zone`` is the cluster's, for dates."""
    word = facts.decision.word
    who = who_text.who_groups(facts)
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
        strip=waits_text.strip_cells(facts),
        why_sub=causes_page_one.why_sub(facts),
        bar=causes_page_one.bar(facts.causes, facts),
        groups=causes_page_one.groups(facts),
        notes=causes_page_one.notes(facts),
        size_title=waits_text.size_title(facts),
        sizes=waits_text.size_rows(facts),
        size_note=waits_text.size_note(facts),
        who_sub=who_text.who_sub(facts),
        who_label=wording.first_upper(people.kind) if people else "User",
        who=who,
        who_foot=who_text.who_foot(who, facts),
        changed=changes_page_one.changed(facts),
        steps=facts.steps,
        step=facts.step,
        marks=facts.marks,
        to_try=advice_page_one.to_try(facts),
        trust=trust_text.steps(facts),
        trust_lines=trust_text.lines(facts),
        limits=trust_text.limits(facts),
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
        page_one.name("user", user),
        figure(str(size), ""),
        figure(amounts.short_time(wait), ""),
        wording.day(arrival, zone),
    )

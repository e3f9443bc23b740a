"""Page one from its numbers, and the same words elsewhere: output, mail, subject and index."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from audit.metrics.verdict import Because, Word
from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.page import FirstPage, PageFacts
from audit.report.first_page.sentences import Sentence, Slot, figure, say
from audit.report.sections import verdict as verdicts
from audit.report.sections.advice import section as advice
from audit.report.sections.causes import page_one as causes_page_one
from audit.report.sections.causes.shown import BY_KEY, FULL, NOT_CERTAIN, NOT_KNOWN
from audit.report.sections.changes import page_one as changes_page_one
from audit.report.sections.trust import section as trust_text
from audit.report.sections.waits import page_one as waits_text
from audit.report.sections.waits.record import LongestWait, LongWaitRow
from audit.report.sections.who import page_one as who_page

THREE: Final = 3
AT_ONCE_S: Final = 1
MOST_IN_INDEX: Final = 8
MOST_ON_PAGE: Final = 250
"""Words of prose."""
MOST_IN_MAIL: Final = 120
"""Words of a mail."""
MOST_IN_LINE: Final = 115 - 9
"""Characters of a line on standard output, without its title."""


def compose(facts: PageFacts, zone: str) -> FirstPage:
    """Return page one; ``zone`` is the cluster's, for dates."""
    word = facts.decision.word
    who = who_page.who_groups(facts)
    people = facts.people
    page = FirstPage(
        word=word,
        title=phrases.WORDS[word],
        sentence=verdicts.sentence(facts),
        pool=facts.pool,
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
        who_sub=who_page.who_sub(facts),
        who_label=wording.first_upper(people.kind) if people else "User",
        who=who,
        who_foot=who_page.who_foot(who, facts),
        changed=changes_page_one.changed(facts),
        steps=facts.steps,
        step=facts.step,
        marks=facts.marks,
        to_try=advice.to_try(facts),
        trust=trust_text.steps(facts),
        trust_lines=trust_text.lines(facts),
        limits=trust_text.limits(facts),
        long_waits=tuple(_long(one, facts, zone) for one in facts.long_waits)
        if word is Word.QUIET
        else (),
        long_sub=phrases.LONG_SUB if _unlogged(facts) else "",
        lines=lines(facts),
        mail=mail(facts),
        mainly=mainly(facts),
        because=because(facts),
        over_hour=facts.strip.over[3_600] if facts.strip else None,
        not_known=sum(facts.causes[key] for key in NOT_KNOWN) if facts.causes else None,
    )
    if sum(len(re.findall(r"\S*\w\S*", one.plain)) for one in page.prose) <= MOST_ON_PAGE:
        return page
    return replace(page, to_try=advice.to_try(facts, most_changes=1))


def _kicker(facts: PageFacts) -> Sentence:
    made = say("{jobs}", jobs=Slot(wording.plural(facts.jobs, "job"), "jobs"))
    if users := _users(facts):
        made += say(" of {users}", users=Slot(wording.plural(users, "user"), "users"))
    if facts.starts > facts.jobs:
        made += say(", started {n} times", n=Slot(wording.count(facts.starts), "starts"))
    if facts.several:
        made = say("pool {pool} · ", pool=wording.name(facts.pool, 30)) + made
    if facts.base_days is not None:
        days = Slot(wording.plural(facts.base_days, "day"), "")
        made += say(" · Verdict over {days}", days=days)
    return made


def _users(facts: PageFacts) -> int:
    return facts.people.users if facts.people else facts.base_users


def _unlogged(facts: PageFacts) -> bool:
    """Whether no reason was logged of a long wait."""
    return not who_page.has_reason(facts) and "none" in {one.cause for one in facts.long_waits}


def _long(one: LongestWait, facts: PageFacts, zone: str) -> LongWaitRow:
    return LongWaitRow(
        one.user,
        who_page.name("user", one.user),
        figure(str(one.size), ""),
        figure(amounts.short_time(one.wait_s), ""),
        wording.day(one.arrival, zone),
        wording.first_upper(who_page.cause(one.cause, facts)),
    )


def lines(facts: PageFacts) -> tuple[tuple[str, str], ...]:
    """Return the lines on standard output below the verdict, each with its title."""
    made = [("Waits", _waits(facts))]
    if facts.decision.word is Word.QUIET:
        made += [("Who", _long_waits(facts)), ("Trust", _trust(facts))]
    else:
        made += [("Why", _why(facts)), ("Who", wording.first_lower(_who(facts)))]
        made += [("Changed", changes_page_one.changed(facts, than=False).plain.rstrip("."))]
        made += [("Try", wording.first_lower(_to_try(facts)).rstrip(".")), ("Trust", _trust(facts))]
    return tuple((title, cut(text, MOST_IN_LINE)) for title, text in made if text)


def cut(text: str, most: int) -> str:
    """Return a text of at most ``most`` characters; a longer one ends in ``…``."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _first(sentences: tuple[object, ...]) -> str:
    first = sentences[0] if sentences else None
    return getattr(first, "plain", "")


def _to_try(facts: PageFacts) -> str:
    if facts.changes and not who_page.carried(facts):
        return advice.replayed(facts.changes[0], brief=True).plain
    return _first(advice.to_try(facts))


def _waits(facts: PageFacts) -> str:
    of, machine = facts.strip, facts.machine
    counts = [wording.plural(facts.jobs, "job")]
    if users := _users(facts):
        counts.append(wording.plural(users, "user"))
    jobs = f"({', '.join(counts)})"
    whole = _pool(facts) if facts.several else "machine"
    busy = f"{whole} {amounts.short_share(machine.busy)} busy"
    if machine.gpus_busy is not None:
        where = f"{whole}: " if facts.several else ""
        unit = wording.resources(machine.resource)
        gpus = amounts.short_share(machine.gpus_busy)
        busy = f"{where}{unit} {amounts.short_share(machine.busy)}, GPUs {gpus} busy"
    if machine.busy is None:
        busy = f"use of the {whole} unknown"
    if of is None:
        return f"{busy} {jobs}"
    hour = of.over[3_600]
    over = f"{amounts.short_share(hour)} of jobs over 1 h"
    if facts.decision.word is Word.QUIET:
        over = f"{wording.plural(of.hour_jobs, 'job')} over 1 h"
    return f"typically {amounts.short_time(of.median)}; {over}; {busy} {jobs}"


def _pool(facts: PageFacts) -> str:
    return f"pool {wording.name(facts.pool, 30)}"


def _brief(key: str, facts: PageFacts) -> str:
    if key == FULL:
        return phrases.FULL_MACHINE
    cause = BY_KEY[key]
    if key == "none" and who_page.has_reason(facts):
        return NOT_CERTAIN
    if facts.part and cause.in_part:
        return wording.first_lower(who_page.label(cause, facts))
    return cause.brief


def _why(facts: PageFacts) -> str:
    shown = [*causes_page_one.shown_shares(facts).items()][:THREE]
    return ", ".join(f"{share} {_brief(key, facts)}" for key, share in shown)


def _who(facts: PageFacts) -> str:
    """Return who waits most, and who waits longer than similar jobs."""
    people = facts.people
    head = who_page.who_sub(facts).plain.rstrip(".").split(", ")[0]  # without their CPU time
    if people is None or not people.compared or not head:
        return head if people else ""
    of, one = wording.plural(people.compared, people.kind), people.longest
    if not people.longer:
        return f"{head}; of {of} compared, none waits longer than similar jobs"
    if people.longer == 1 and one is not None:
        times = map(amounts.short_time, (one.median, one.similar))
        name = who_page.name(one.kind, one.name)
        return "{}; {} typically waited {}, similar jobs {}".format(head, name, *times)
    wait = "waits" if people.longer == 1 else "wait"
    count = wording.count(people.longer)
    return f"{head}; {count} of {of} compared {wait} longer than similar jobs"


def _long_waits(facts: PageFacts) -> str:
    by_user: dict[str, list[str]] = {}
    for one in facts.long_waits:
        by_user.setdefault(one.user, []).append(amounts.short_time(one.wait_s))
    if not by_user:
        return ""
    names = [
        f"{who_page.name('user', user)} ({', '.join(times)})" for user, times in by_user.items()
    ]
    causes = dict.fromkeys(_brief(one.cause, facts) for one in facts.long_waits)
    return f"{amounts.listed(names)}: {' or '.join(causes)}"


def _trust(facts: PageFacts) -> str:
    known = facts.known
    has = ["times", "sizes"]
    if facts.decision.because in phrases.MISSING_TIMES:
        has = ["some times", "sizes"]
    for word, share in (
        ("reasons", known.reasons),
        ("time limits", known.walltimes),
        ("queues", known.queues),
        ("nodes", 1.0 if known.nodes_declared else known.nodes),
        ("limits", 1.0 if known.limits else 0.0),
        ("priorities", known.priorities),
    ):
        if share >= 0.05:
            has.append(word)
    return f"{', '.join(has)}; next: {trust_text.next_source(facts).words}"


# --- mail ----------------------------------------------------------------------------------------


def mail(facts: PageFacts) -> tuple[tuple[str, str], ...]:
    """Return the paragraphs of a mail, each with its first words; a long one is brief."""
    for brief in (False, True):
        made = tuple((title, text) for title, text in _paragraphs(facts, brief=brief) if text)
        if sum(len(f"{title} {text}".split()) for title, text in made) <= MOST_IN_MAIL:
            break
    return made


def _paragraphs(facts: PageFacts, *, brief: bool) -> list[tuple[str, str]]:
    word, sentence = facts.decision.word, verdicts.sentence(facts).plain
    if word is Word.CANNOT_TELL:
        sentence += f" {phrases.NOBODY_ACCUSED}"
    made = [(f"{phrases.WORDS[word]}.", sentence)]
    if word is Word.QUIET:
        if long := _long_waits(facts):
            text, _, reason = long.partition(": ")
            made.append(("The long waits:", f"{text}. {reason.capitalize()}."))
        return made
    made += [
        ("Waits:", _mail_waits(facts, brief=brief)),
        ("Why:", _mail_why(facts)),
        ("Who:", f"{_who(facts)}.".lstrip(".")),
    ]
    first = f"{_to_try(facts)}." if brief else _first(advice.to_try(facts))
    title, _, rest = first.partition(": ")
    asked = title in ("To decide", "To ask")
    made.append((f"{title}:", wording.first_upper(rest)) if asked else ("Try:", first))
    order = trust_text.order(facts).plain.removeprefix("Order: ")
    return [*made, ("Trust:", wording.first_upper(order))]


def _mail_waits(facts: PageFacts, *, brief: bool) -> str:
    of, machine = facts.strip, facts.machine
    whole = "pool" if facts.several else "machine"
    busy = f"The {whole} was {amounts.short_share(machine.busy)} busy."
    if machine.gpus_busy is not None:
        unit = wording.resources(machine.resource)
        gpus = amounts.short_share(machine.gpus_busy)
        busy = f"The {unit} were {amounts.short_share(machine.busy)} busy, the GPUs {gpus}."
    if machine.busy is None:
        busy = f"The use of the {whole} is not known."
    if of is None:
        return busy
    half = "at once" if of.median < AT_ONCE_S else f"within {amounts.short_time(of.median)}"
    jobs = f"jobs in {_pool(facts)}" if facts.several else "jobs"
    waits = f"Half of the {jobs} started {half}, one in ten after {amounts.short_time(of.p90)}."
    if of.p90 < AT_ONCE_S:
        waits = f"Nine in ten {jobs} started at once."
    return waits if brief else f"{waits} {busy}"


def _mail_why(facts: PageFacts) -> str:
    shares = causes_page_one.shown_shares(facts)
    if not shares:
        return ""
    key, part = next(iter(shares.items()))
    text = wording.first_upper(f"{part} of all waiting: {_brief(key, facts)}.")
    if key == "none":
        return text
    if key == "rule" and facts.rules:
        first, *others = facts.rules
        rules = f"the {first.name}"
        if others:
            much = first.waiting_s >= verdicts.ONE_NAME * sum(one.waiting_s for one in facts.rules)
            rules = f"rules, mainly the {first.name}" if much else "rules"
        text = f"{part} of all waiting came from {rules}."
    if "none" in shares:
        reason = "certain reason" if who_page.has_reason(facts) else "reason"
        text += f" For {shares['none']} the log gives no {reason}."
    return text


# --- subject and index ---------------------------------------------------------------------------


def mainly(facts: PageFacts) -> str:
    """Return the main rule or cause for a subject; only for mixed and unfair."""
    if facts.decision.word not in (Word.MIXED, Word.UNFAIR):
        return ""
    key = next(iter(causes_page_one.shown_shares(facts)), None)
    if key is None:
        return ""
    return facts.rules[0].name if key == "rule" and facts.rules else _brief(key, facts)


def because(facts: PageFacts) -> str:
    """Return the largest cause, or what was found, in at most eight words."""
    decision = facts.decision
    if decision.word is Word.CANNOT_TELL and decision.because is not Because.NOT_JUDGED:
        said = phrases.BRIEFLY.get(decision.because) or verdicts.sentence(facts).plain
        return said.rstrip(".")
    if decision.word is Word.QUIET:
        return verdicts.sentence(facts).plain.split(", ")[0].removeprefix("Only ")
    if decision.carried and decision.word in (Word.MIXED, Word.UNFAIR):
        return f"{amounts.counted(len(decision.carried), decision.kind)} overtaken more often"
    return next(iter(reversed(list(_texts(facts)))), "")


def _texts(facts: PageFacts) -> Iterator[str]:
    for one in reversed(verdicts.causes(facts)):
        text = wording.first_upper(one.plain)
        if len(text.split()) <= MOST_IN_INDEX:
            yield text

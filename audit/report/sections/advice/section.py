"""Changes with a benefit in replays: read from the database, in the details, and on page one.

No change is replayed if the policy does not agree with the log (SPEC §11).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import polars as pl

from audit.metrics.attempts.fidelity import KNOWN, short_of_known
from audit.metrics.verdict import Word
from audit.report import part, wording
from audit.report.figures import Figure, records
from audit.report.first_page import amounts, phrases
from audit.report.first_page.page import PageFacts
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, say
from audit.report.sections.advice.record import Advice, AdvicePart, Advised
from audit.report.sections.causes.record import RuleTime
from audit.report.sections.fair_starts.record import Fidelity, fidelity_of
from audit.report.sections.trust.section import (
    LONGEST_TITLE,
    MOST_CHANGES,
    MOST_OF_TITLE,
    MUCH,
    NO_REASON,
)
from audit.report.sections.who import page_one
from audit.report.source import ReportSection, SectionSource
from audit.store.database import quote_text

_UNFIT: Final = ("not_agreeing", "few_users", "few_days", "short_waits")
"""Outcomes of periods in which no change is replayed."""
ADVISED: Final = 3
"""Most changes that are advised."""
GROWTH: Final = 0.1
GROWTH_S: Final = 60
"""Growth of its mean wait above which a class is listed as losing even if it may be chance."""


def read(source: SectionSource) -> dict[str, Advised]:
    """Return the advice for each pool that ``scenario.advice`` found by replays of the period."""
    if not source.observed:
        return {}
    found = {}
    for pool, resource in source.pools.select("pool", "resource").iter_rows():
        rows = source.rows("advice/changes", pool=pool)
        if not rows.is_empty():
            found[pool] = _advised(rows, resource, fidelity_of(source.fidelity[pool]))
    return found


def _advised(rows: pl.DataFrame, resource: str, fit: Fidelity | None) -> Advised:
    changes = [group for _, group in rows.group_by("change", maintain_order=True)]
    each = [group.row(0, named=True) for group in changes]
    advised = [group for group in changes if group["place"][0] is not None]
    return Advised(
        tuple(_advice(group, resource) for group in advised[:ADVISED]),
        tuple(one["title"] for one in each if one["outcome"] not in (*_UNFIT, "not_tried")),
        None if fit is None else fit.of_policy,
        _untested([one["outcome"] for one in each]),
        never_start=tuple((one["title"], one["never_start"]) for one in each if one["never_start"]),
    )


def _untested(outcomes: Sequence[str]) -> str:
    """Return the outcome that explains why no change could be judged; empty if some could."""
    if {*outcomes} == {"not_tried"}:
        return "not_tried"
    return next((one for one in outcomes if one in (*_UNFIT, "not_reproduced")), "")


def _advice(rows: pl.DataFrame, resource: str) -> Advice:
    loses = pl.col("part_outcome") == "loses"
    grows = pl.col("difference_s") >= pl.max_horizontal(GROWTH_S, GROWTH * pl.col("part_today_s"))
    of_user = (pl.col("part_dimension") == "user").fill_null(value=False)
    users = rows.filter(of_user).sort(pl.col("difference_s") * pl.col("part_attempts"))
    losing = rows.filter(~of_user, loses | ((pl.col("part_outcome") == "unclear") & grows)).sort(
        loses,
        pl.col("difference_s") * pl.col("part_attempts"),
        descending=True,
        maintain_order=True,
    )
    row = rows.row(0, named=True)
    (advice,) = records(
        Advice,
        rows.head(1),
        resource=resource,
        width=row["dimension_value"],
        gain=_change(row, "gain_s", "gain_lower_s", "gain_upper_s"),
        losers=tuple(map(_part, losing.iter_rows(named=True))),
        by_user=tuple(map(_part, users.iter_rows(named=True))),
        sql=_evidence(row),
    )
    return advice


def _part(part: dict[str, Any]) -> AdvicePart:
    return AdvicePart(
        part["part_dimension"],
        part["part"],
        _change(part, "difference_s", "lower_s", "upper_s"),
        part["part_outcome"] == "loses",
    )


def _change(row: dict[str, Any], value: str, lower: str, upper: str) -> Figure:
    return Figure("wait_change", row[value], row[lower], row[upper], "s")


def _evidence(row: dict[str, str]) -> str:
    """Return the query for the effects of a change; names are quoted."""
    columns = ("cluster", "pool", "period", "change")
    where = " AND ".join(f"{column} = {quote_text(row[column])}" for column in columns)
    return f"SELECT * FROM advice_parts WHERE {where}"  # noqa: S608


_TITLE: Final = 160
_NAMED: Final = 2
"""Largest number of losing classes that are named; the others are counted."""
_SAME: Final = 0.005


def never(advised: Advised) -> str:
    """Return the changes under which jobs would never start; empty if there are none."""
    if not advised.never_start:
        return ""
    title, count = max(advised.never_start, key=lambda one: one[1])
    more = len(advised.never_start) - 1
    others = ""
    if more:
        others = f", and {wording.plural(more, 'other change')} would also leave such jobs"
    worst = wording.name(wording.first_lower(title), _TITLE)
    return f"{wording.plural(count, 'job')} would never start if you {worst}{others}: not advised."


def nothing(advised: Advised) -> str:
    """Return why no change is advised; empty if one is."""
    if advised.changes:
        return ""
    if advised.part:
        return part.ADVICE
    if advised.untested == "not_agreeing":
        known = "how far the replayed policy agrees with the observed starts is not known"
        if advised.agreement is not None:
            agreement = wording.percent(short_of_known(advised.agreement, 0.001))
            known = f"the replayed policy agrees with {agreement} of the observed starts"
        return f"No change was tested: {known}, and {wording.percent(KNOWN)} are required."
    if advised.untested or not advised.tried:
        return phrases.WHY_UNTESTED.get(advised.untested, phrases.NONE_TESTED)
    tried = wording.plural(len(advised.tried), "change")
    none = f"No change is advised: replays of {tried} on this log show no significant benefit."
    return " ".join(filter(None, (never(advised), none)))


def sentences(advice: Advice) -> str:
    """Return the change, and how much less or more the affected jobs would wait."""
    title = wording.name(advice.title, _TITLE)
    affected = "jobs" if advice.width is None else _jobs(advice, advice.width)
    affected = wording.first_upper(affected)
    within = wording.rough_within(advice.gain)
    effects = [f"{affected} wait {wording.rough(advice.gain)} less{within}"]
    for loser in advice.losers[:_NAMED]:
        jobs, requested = "jobs without a known walltime wait", WALLTIMES.get(loser.label)
        if loser.dimension == "width_class":
            jobs = _jobs(advice, loser.label)
        elif requested:
            jobs = f"jobs that request {requested} wait"
        perhaps = "" if loser.certain else "perhaps "
        effects.append(f"{perhaps}{jobs} {wording.rough(loser.wait)} more")
    more = len(advice.losers) - _NAMED
    if more > 0:
        effects.append(f"{more} other class{'es' if more > 1 else ''} also longer")
    users = [_of_user(user) for user in advice.by_user]
    named = f" By user: {', '.join(users)}." if users else ""
    cautions = [words for option, words in _CAUTIONS.items() if f"--{option}" in advice.change]
    return f"{title}. {', '.join(effects)}.{named}{''.join(cautions)}{_error(advice)}"


def _of_user(user: AdvicePart) -> str:
    change = user.wait.value or 0.0
    size, more = replace(user.wait, value=abs(change)), "less" if change < 0 else "more"
    return f"{wording.name(user.label)} {wording.rough(size)} {more}"


_CAUTIONS: Final = {
    "walltimes": " Users do not know run times in advance, so the real gain is smaller.",
    "per-node": " This assumes that jobs can use more nodes, and that they then run as long.",
}
"""Facts that a replay cannot know, by option of the change."""


def _error(advice: Advice) -> str:
    """Return the error of the replay of today's rules; empty if it is not known."""
    if not advice.observed_s or advice.today_s is None:
        return ""
    error = advice.today_s / advice.observed_s - 1
    size = f"{wording.rough_percent(abs(error))} {'longer' if error > 0 else 'shorter'}"
    observed = wording.rough_duration(advice.observed_s)
    replayed = "the same" if abs(error) < _SAME else size
    return f" (Observed mean wait: {observed}; in a replay of today's rules: {replayed}.)"


WALLTIMES: Final = {
    "0-1h": "up to 1 h",
    "1-4h": "1–4 h",
    "4-12h": "4–12 h",
    "12-24h": "12–24 h",
    ">24h": "over 24 h",
}
"""Classes of walltimes in words."""


def _jobs(advice: Advice, width: str) -> str:
    """Return the jobs of a width class, such as ``65–128-CPU jobs``."""
    if width.startswith(">"):
        return f"jobs of {wording.width_units(width, advice.resource)}"
    return f"{wording.width(width)}-{wording.resource(advice.resource)} jobs"


def to_try(facts: PageFacts, most_changes: int = MOST_CHANGES) -> tuple[Sentence, ...]:
    """Return at most three things to do; the last says what was tested."""
    if facts.decision.word is Word.QUIET:
        return (say(phrases.HARDLY),)
    found = [*map(replayed, facts.changes[:most_changes]), *_questions(facts)]
    if carried := page_one.carried(facts):  # no change answers it
        found.insert(0, say(phrases.WHY_OVERTAKEN, who=carried))
    last = NOTHING
    usable = facts.agreement is not None and facts.agreement >= KNOWN
    if facts.agreement is None:
        last = say(phrases.UNKNOWN_REPLAY)
    elif facts.part:
        last = say(phrases.UNTESTED_PART)
    elif not usable:
        below = amounts.short_share(short_of_known(facts.agreement))
        share = Slot(below, "agreement of the replay")
        last = say(phrases.UNTESTED, share=share)
    elif facts.untested or not (facts.changes or facts.tried):
        last = say(phrases.WHY_UNTESTED.get(facts.untested, phrases.NONE_TESTED))
    elif not facts.changes:
        n, were = Slot(str(facts.tried), "changes tested"), "was" if facts.tried == 1 else "were"
        last = say(phrases.NONE_HELPED, share=amounts.short_share(MUCH), n=n, were=were)
    return (*found[: 2 if last else 3], *([last] if last else []))


def replayed(advice: Advice, *, brief: bool = False) -> Sentence:
    """Return a change, and how much less or more jobs wait in its replay."""
    gain, key = advice.gain, f"after {advice.change}"
    title = amounts.first_words(wording.name(advice.title, LONGEST_TITLE), MOST_OF_TITLE)
    jobs = "jobs" if advice.width is None else _of_width(advice.width, advice)
    less = Slot(amounts.short_time(gain.value), f"gain {key}")
    if brief:
        return say(phrases.LESS_BRIEFLY, change=title, jobs=jobs, gain=less)
    within: Sentence | str = ""
    if gain.lower is not None and gain.upper is not None:
        low, high = map(amounts.short_time, (gain.lower, gain.upper))
        possible = advice.observed_s is None or gain.upper <= advice.observed_s
        phrase = phrases.WITHIN if possible else phrases.AT_LEAST
        within = say(phrase, low=Slot(low, f"interval {key}"), high=high)
    observed: Sentence | str = ""
    if advice.observed_s is not None:
        time = Slot(amounts.short_time(advice.observed_s), f"mean wait {key}")
        observed = say(phrases.OBSERVED, time=time)
    caveat = next((of for option, of in phrases.CAVEATS.items() if option in advice.change), "")
    return say(
        phrases.LESS, change=title, jobs=wording.first_upper(jobs), gain=less, within=within,
        observed=observed, more=_more(advice), caveat=caveat,
    )  # fmt: skip


def _more(advice: Advice) -> Sentence:
    """Return whose waits grow most, and how many other classes wait longer."""
    if not advice.losers:
        return NOTHING
    first, *others = advice.losers
    if first.dimension == "width_class":
        jobs = _of_width(first.label, advice)
    elif words := WALLTIMES.get(first.label):
        jobs = f"jobs with time limits {words if words.startswith('over') else f'of {words}'}"
    else:
        jobs = "jobs without a time limit"
    loss = Slot(amounts.short_time(first.wait.value), f"loss after {advice.change}")
    made = say(phrases.MORE if first.certain else phrases.PERHAPS_MORE, jobs=jobs, loss=loss)
    if certain := sum(one.certain for one in others):
        classes = f"{certain} other class{'' if certain == 1 else 'es'}"
        made += say(phrases.OTHERS_MORE, classes=classes)
    return made


def _of_width(label: str, advice: Advice) -> str:
    width = wording.width_units(label, advice.resource)
    return f"jobs {width}" if width.startswith("over") else f"jobs of {width}"


def _questions(facts: PageFacts) -> Iterator[Sentence]:
    shares = {} if facts.part else facts.causes
    if shares.get("rule", 0.0) >= MUCH and facts.rules:
        rule = facts.rules[0]
        ended = rule.name in facts.ended
        changed = any(rule.name in change.title for change in facts.changes[:MOST_CHANGES])
        over = ended and rule.source != "inferred"  # as the site knows
        if not changed and not over and (ended or _held_while_free(facts) >= MUCH):
            yield _of_rule(rule, ended=ended)
    if shares.get("nodes", 0.0) >= MUCH:
        yield say(phrases.TO_SPREAD)
    if shares.get("none", 0.0) >= NO_REASON:
        resources = wording.resources(facts.machine.resource)
        if facts.where is not None and page_one.has_reason(facts):
            reason = wording.name(str(facts.where.value), page_one.LONG_NAME)
            yield say(phrases.ASK_REASON, reason=reason, resources=resources)
        else:
            yield say(phrases.TO_ASK, jobs=page_one.held(facts), resources=resources)


def _held_while_free(facts: PageFacts) -> float:
    """Return the share of all waiting in which the first rule held jobs while enough was free."""
    total = sum(rule.waiting_s for rule in facts.rules)
    return facts.causes["rule"] * facts.rules[0].free_s / total if total else 0.0


def _of_rule(rule: RuleTime, *, ended: bool) -> Sentence:
    """Ask about a rule; a limit of the whole machine that ended may be one of drained nodes."""
    if ended and rule.whole:
        return say(phrases.IN_SERVICE, amount=rule.whole)
    phrase = phrases.HAS_ENDED if ended else phrases.TO_DECIDE
    return say(phrase, rule=page_one.rule_link(rule.name))


SECTION: Final = ReportSection(
    "advice",
    Advised,
    read,
    in_part=lambda _: Advised(part=True),
    filters=(never, nothing, sentences),
)

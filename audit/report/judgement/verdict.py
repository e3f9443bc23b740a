"""The verdict: one word and one sentence, made of the answers to page one's questions."""

from dataclasses import dataclass
from enum import StrEnum

from audit.report.judgement.levels import Level
from audit.report.judgement.owners import compared
from audit.report.judgement.place import Place
from audit.report.judgement.questions import Question
from audit.report.judgement.waits import OVERTAKEN, ROOM
from audit.report.record.pool import SMALL_SAMPLE, PoolPart
from audit.report.text import wording


class Word(StrEnum):
    """What a report answers."""

    YES = "fair"
    MIXED = "mixed"
    NO = "unfair"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer, and why in one sentence."""

    word: Word
    sentence: str
    short: str = ""
    """The same for a subject line: the gravest reason, or the word."""


def verdict(place: Place, answers: tuple[Question, ...]) -> Verdict:
    """What the answers come to.

    No where overtaking or waits beside peers fail; mixed where anything warns. Where most of the
    waiting was no competition, or too little is known, nobody can tell.
    """
    overtaken, room, longer = answers
    if place.pool.attempts < SMALL_SAMPLE:
        why = "the log does not say when jobs arrived"
        if place.pool.attempts or not undated(place.pool):
            why = f"only {wording.plural(place.pool.attempts, 'job')} ended"
        return Verdict(Word.CANNOT_TELL, f"Cannot tell: {why}.", f"cannot tell, {why}")
    word = _word(overtaken.level, room.level, longer.level)
    clauses = _clauses(place, overtaken, room, longer)
    if not clauses:
        return Verdict(word, _PLAIN[word], word.value)
    said = ". ".join(wording.first_upper(clause) for clause in clauses[:2])
    return Verdict(word, f"{_FIRST[word]} {said}.", clauses[0])


def undated(pool: PoolPart) -> int:
    """How many attempts of a pool arrived nobody knows when."""
    return int(pool.figure("arrival_unknown").value or 0)


_FIRST = {
    Word.YES: "Fair.",
    Word.MIXED: "Mixed.",
    Word.NO: "Not fair.",
    Word.CANNOT_TELL: "Cannot tell.",
}
_PLAIN = {
    Word.YES: "Fair. Later arrivals cost little, and nobody waits longer than others with jobs "
    "alike beyond chance.",
    Word.MIXED: "Mixed.",
    Word.NO: "Not fair.",
    Word.CANNOT_TELL: "Cannot tell: there are too few users or days to tell anything from chance.",
}


def _word(overtaken: Level, room: Level, longer: Level) -> Word:
    if Level.FAIL in (overtaken, longer):
        return Word.NO
    if room is Level.FAIL or overtaken is Level.UNKNOWN is longer:
        return Word.CANNOT_TELL
    if Level.WARN in (overtaken, room, longer):
        return Word.MIXED
    return Word.CANNOT_TELL if Level.UNKNOWN in (overtaken, room) else Word.YES


def _clauses(place: Place, overtaken: Question, room: Question, longer: Question) -> list[str]:
    """What speaks against it, the gravest first."""
    told = [
        (overtaken.level, _overtaken_clause(place)),
        (longer.level, _longer_clause(place)),
        (room.level, _room_clause(place)),
    ]
    gravest_first = (Level.FAIL, Level.WARN)
    return [clause for at in gravest_first for stands, clause in told if stands is at]


def _overtaken_clause(place: Place) -> str:
    if hit := place.worst_width(OVERTAKEN):
        share = wording.rough(hit.width.figure(OVERTAKEN))
        return f"{place.jobs_of(hit.width)} lose {share} of their waiting to later arrivals"
    return f"later arrivals cost {wording.rough(place.pool.figure(OVERTAKEN))} of all waiting"


def _longer_clause(place: Place) -> str:
    of = compared(place.pool)
    if len(of.longer) == 1:
        times = wording.rough(of.longer[0].figure("peer_ratio"))
        name = wording.name(of.longer[0].label, 24)
        return f"{of.kind} {name} waits {times} times as long as others with jobs alike"
    number = f"{wording.count(len(of.longer))} of {wording.plural(of.peered, of.kind)}"
    return f"{number} wait longer than others with jobs alike"


def _room_clause(place: Place) -> str:
    share = wording.rough(place.pool.figure(ROOM))
    return f"{share} of all waiting passed while there was room for the job"

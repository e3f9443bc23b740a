"""Findings about who is passed over, and about attempts that are stuck."""

from collections.abc import Iterator
from typing import Final

from audit.report import wording
from audit.report.contents import Contents
from audit.report.finding import Kind, Subject
from audit.report.place import Place, subject_of, unfair
from audit.report.sections.passed_over.record import OrderTest


def passed_over(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the users and accounts that later jobs passed over."""
    waited = (place.pool.figure("wait_mean").value or 0.0) * place.pool.attempts
    for one in unfair(place.pool):
        excess, passed_s = one.figure("passed_excess"), one.figure("passed_s").value or 0.0
        yield Subject(
            one.kind,
            one.name,
            {"subject": subject_of(one.kind, one.name), "kind": one.kind},
            one.figure,
            effect=excess.value or 0.0,
            sure=excess.lower or 0.0,
            part=min(passed_s / waited, 1.0) if waited else 0.0,
            sql=place.sql(measure, one.kind),
        )


def stuck(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield all stuck attempts together; their count has no interval."""
    if (of := place.pool[OrderTest].stuck) is None:
        return
    number = of.waiting + of.gave_up
    subjects = []
    if of.waiting:
        subjects.append(f"{wording.plural(of.waiting, 'job')} still waiting")
    if of.gave_up:
        jobs = wording.count(of.gave_up) if subjects else wording.plural(of.gave_up, "job")
        subjects.append(f"{jobs} that gave up")
    words = {"subject": " and ".join(subjects)}
    part = number / (place.pool.attempts + number)
    yield Subject("pool", None, words, place.pool.figure, 1.0, 1.0, part, sql="SELECT * FROM stuck")


KINDS: Final = (
    Kind(
        passed_over,
        "passed_share",
        "passed over by later jobs",
        "passed",
        "{subject}: {passed_share} of later jobs that requested at least as much started first; "
        "{passed_expected} are expected.",
        "Compare the priorities of this {kind} with those of the jobs that started first.",
    ),
    Kind(
        stuck,
        "pending",
        "held, or cannot start",
        "passed",
        "{subject} waited longer than 95 % of similar jobs; one in twenty is expected to.",
        "fairaudit stuck lists each of them with its probable cause.",
    ),
)

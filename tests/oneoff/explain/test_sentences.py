"""The sentences of a wait: each says what the record holds, and no more."""

from dataclasses import replace

import polars as pl

from audit.metrics.attempts.account import LAPSE
from audit.model import CapacityStep, Limit, Standing
from audit.oneoff.explain import facts, sentences
from audit.oneoff.explain.story import Cost, Delay, Idling, LineCause, Story, TimelineLine
from audit.report.sections.causes.record import Reservations
from tests.oneoff.explain import scenes
from tests.oneoff.explain.scenes import ORIGIN, POOL

DELAY = Delay(ORIGIN + 120, 60, 60, (), "fcfs-easy", 0.9)


def story(**changed: object) -> Story:
    return replace(scenes.story("4"), **changed)  # type: ignore[arg-type]


def text(**changed: object) -> str:
    return " ".join(sentences.sentences(story(**changed)))


def test_the_largest_cause_leads() -> None:
    of = story().account
    causes = {**of.causes, "cause_earlier_s": 120.0, "cause_later_s": 40.0}
    made = story(account=replace(of, causes=causes))
    assert sentences.lead(made) == (
        "It waited 2 min 40 s; for 75.0 % of that time jobs of others that had arrived earlier "
        "used what it lacked."
    )
    unknown = story(account=replace(of, causes={}, timeline=()))
    assert "Its causes are unknown" in sentences.lead(unknown)
    assert sentences.lead(scenes.story("1")) == "It did not wait."


def test_a_rule_leads_with_its_name_and_what_would_have_fitted() -> None:
    # Both of ann's jobs request 3 of 4 or less: 2 are in use until 60, so that 3 does not fit.
    limited = POOL._replace(limits=(Limit(most=1, per="user"),))
    lead = sentences.lead(scenes.story("3", limited))
    assert "did not allow it to start (limit of 1 running job per user)." in lead
    assert lead.endswith("During the 1 min 30 s under rules, it could not have started anyway.")
    of = story().account
    causes = dict.fromkeys(of.causes, 0.0) | {"cause_rule_s": 90.0}
    for free_s, says in (
        (30.0, "Of the 1 min 30 s under rules, enough was free for 30 s; otherwise it could not"),
        (90.0, "During the 1 min 30 s under rules, enough was free."),
    ):
        made = story(account=replace(of, causes=causes, rule_free_s=free_s))
        assert says in sentences.lead(made)


def test_lines_say_when_how_long_and_why() -> None:
    assert sentences.timeline(story()) == [
        "Sun 09-09 01:47–01:48 (1 min 20 s): behind 2 running jobs of others that arrived earlier",
        "Sun 09-09 01:48–01:49 (1 min): behind 2 running jobs of others that arrived later",
        "Sun 09-09 01:49–01:49 (20 s): behind 1 running job of others that arrived earlier",
    ]
    closed = LineCause("rule", "closed hours Mon 02-10 for jobs over 4 h", 80_000, 0)
    free = LineCause("claimed", None, 15_000, 7)
    line = TimelineLine(ORIGIN, ORIGIN + 96_000, (closed, free, LineCause("own", None, 1_000, 1)))
    assert sentences.timeline(story(account=replace(story().account, timeline=(line,)))) == [
        "Sun 09-09 01:46–Mon 09-10 04:26 (26 h 40 min): closed hours Mon 02-10 for jobs over 4 h, "
        "for 22 h 13 min of it; for 4 h 10 min, enough was free, but 7 jobs ahead could "
        "use it"
    ]


def test_a_line_of_many_small_parts_gives_the_longest() -> None:
    parts = tuple(LineCause("rule", f"limit {k}", 1_100 - k, 0) for k in range(12))
    line = TimelineLine(ORIGIN, ORIGIN + sum(part.seconds for part in parts), parts)
    (said,) = sentences.timeline(story(account=replace(story().account, timeline=(line,))))
    assert said.endswith("(3 h 39 min): limit 0, for 18 min of it")


def test_a_delay_says_when_it_would_have_started_and_by_which_rule() -> None:
    said = text(delay=DELAY)
    assert (
        "Without later arrivals, it would have started 1 min earlier, on 2001-09-09 01:48." in said
    )
    assert "found by the rule fcfs-easy, which agrees with 90.0 % of the observed starts." in said
    held = text(delay=replace(DELAY, cautious_s=20))
    assert "if jobs that a later job of their user passed were held, 20 s earlier." in held
    assert "were held, no earlier." in text(delay=replace(DELAY, cautious_s=0))
    assert "did not delay it" in text(delay=replace(DELAY, miss_s=0, cautious_s=0))
    gained = replace(DELAY, fair=ORIGIN + 200, miss_s=0, cautious_s=0)
    assert "Later arrivals let it start 20 s earlier" in text(delay=gained)


def test_without_a_known_rule_the_delay_is_uncertain() -> None:
    said = text(delay=replace(DELAY, agreement=0.3, rule="kept order"))
    assert "no rule agrees with more than 30.0 % of the observed starts (65.0 % required)" in said
    assert "Delays of single jobs are uncertain" in said
    assert "no start could be compared" in text(delay=replace(DELAY, agreement=None))


def test_costs_are_given_by_user() -> None:
    said = text(delay=replace(DELAY, costs=(Cost("dot", 50), Cost("eve", 20))))
    assert "earlier by the time given: dot (50 s), eve (20 s)." in said


def test_why_there_is_no_delay_is_stated() -> None:
    said = text(delay=None, undelayed="the job ran in an advance reservation")
    assert (
        "Its delay by later arrivals is not known: the job ran in an advance reservation." in said
    )


def test_the_queue_is_named() -> None:
    subject = replace(story().subject, partition="long", qos="high")
    assert "in partition long, QOS high, arrived on" in text(subject=subject)


def test_a_planned_reduction_that_a_pending_job_would_cross_is_named() -> None:
    since, until = ORIGIN + 3_600, ORIGIN + 7_200
    steps = (
        CapacityStep(since, (("cpus", 1),), planned=True),
        CapacityStep(until, (("cpus", 4),), planned=True),
    )
    subject = replace(
        story().subject,
        standing=Standing.PENDING.value,
        walltime_s=4_000,
        pool=POOL._replace(steps=steps),
    )
    crossing = facts.crossing(subject, ORIGIN)
    assert crossing is not None
    assert (crossing.begin, crossing.end, crossing.capacity) == (since, until, 1)
    assert "from 2001-09-09 02:46 until 2001-09-09 03:46 the pool has 1 CPU." in text(
        subject=subject, crossing=crossing
    )
    assert facts.crossing(replace(subject, walltime_s=3_600), ORIGIN) is None
    unplanned = POOL._replace(steps=(steps[0]._replace(planned=False),))
    assert facts.crossing(replace(subject, pool=unplanned), ORIGIN) is None
    assert facts.crossing(replace(subject, standing="ended"), ORIGIN) is None


def test_similar_jobs_stand_beside() -> None:
    of = replace(story().account, similar_wait_s=3_600)
    assert "at about that time) waited at most 1 h." in text(account=of)


def test_the_recorded_reason_is_worded() -> None:
    subject = story().subject
    held = replace(subject, reason="QOSMaxJobsPerUserLimit")
    assert (
        "The last recorded reason is QOSMaxJobsPerUserLimit: a limit or rule of its account, QOS "
        "or partition applied."
    ) in text(subject=held)
    assert "It may be that of an earlier attempt." in text(subject=replace(held, attempt=2))
    assert "recorded reason" not in text(subject=replace(subject, reason="Priority"))
    unknown = text(subject=replace(subject, reason="Weather"))
    assert "Weather: it waited for a reason that fairaudit does not know." in unknown


def test_nodes_that_are_out_of_service_are_worded() -> None:
    away = TimelineLine(
        ORIGIN, ORIGIN + 60, (LineCause("unavailable", "drained and reserved", 60, 0),)
    )
    (line,) = sentences.timeline(story(account=replace(story().account, timeline=(away,))))
    assert line.endswith("nodes that it could use were drained and reserved")


def unexplained(first: bool = True, **more: object) -> Story:
    of = story().account
    causes = {**dict.fromkeys(of.causes, 0.0), "cause_unexplained_s": 160.0}
    account = replace(of, causes=causes, idling=Idling(ORIGIN + 60, first))
    return replace(story(account=account), **more)  # type: ignore[arg-type]


def test_an_unexplained_end_of_a_wait_is_described_from_its_begin() -> None:
    said = sentences.sentences(unexplained())
    assert said[0] == (
        "From 2001-09-09 01:47 on enough was free and nothing ahead of it was about to start; the "
        "log does not say why it waited."
    )
    lapsed = sentences.sentences(unexplained(first=False))
    assert lapsed[0].startswith("From 2001-09-09 01:47 on enough was free; the log does not say")
    # of a part of the workload nobody knows what was free
    assert "enough was free" not in " ".join(sentences.sentences(unexplained(part="a sample")))


def test_how_long_a_recorded_reason_applied_is_unknown() -> None:
    of = unexplained()
    limited = replace(of, subject=replace(of.subject, reason="JobArrayTaskLimit"))
    said = " ".join(sentences.sentences(limited))
    assert "as may run at once. How long it applied is not logged." in said
    held = "JobArrayTaskLimit, its last recorded reason, may have held it."
    assert sentences.lead(limited).endswith(f"enough was free, and {held}")
    assert held in said.partition("The last recorded reason")[0]
    assert "does not say why" not in sentences.lead(limited) + said
    explained = text(subject=replace(story().subject, reason="JobArrayTaskLimit"))
    assert "How long" not in explained


def test_a_lapse_is_no_name_of_a_cause() -> None:
    part = LineCause("unexplained", LAPSE, 160, 0)
    line = TimelineLine(ORIGIN, ORIGIN + 160, (part,))
    made = unexplained()
    made = replace(made, account=replace(made.account, timeline=(line,)))
    assert LAPSE not in sentences.lead(made)
    (said,) = sentences.timeline(made)
    assert said.endswith(
        "(2 min 40 s): enough was free, but it had not started before; the log does not say why"
    )


def test_reservations_are_reported_where_they_may_matter() -> None:
    none = replace(unexplained().account, reservations=Reservations(0, False, 5, 2))
    assert "This log shows no reservations" in text(account=none)
    assert "reservations" not in text()  # competition explains this wait


def test_what_the_end_of_a_wait_is() -> None:
    def ends(*causes: tuple[str, str | None]) -> Idling | None:
        rows = [(10 * k, 10 * k + 10, *cause) for k, cause in enumerate(causes)]
        return facts.idling(pl.DataFrame(rows, ("begin", "end", "cause", "by"), orient="row"))

    full, free = ("earlier", None), ("unexplained", None)
    lapsed, look = ("unexplained", LAPSE), ("cycle", None)
    assert ends(full, free, lapsed) == Idling(10, first=True)
    assert ends(free, full, lapsed, lapsed) == Idling(20, first=False)
    assert ends(full, free, look) == Idling(10, first=True)
    assert ends(full, look) is None
    assert ends(free, full) is None


def test_a_job_of_unknown_size_has_its_unit() -> None:
    subject = story().subject
    assert "requested 3 CPUs of 4 " in text(subject=subject)
    unknown = text(subject=replace(subject, size=None))
    assert "requested an unknown number of CPUs of 4 " in unknown

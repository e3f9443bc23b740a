"""What jobs waited for, and the foundations of the account of waits, in sentences."""

from dataclasses import replace

import pytest

from audit.report.contents import PoolPart
from audit.report.figures import Breakdown
from audit.report.sections.causes import section
from audit.report.sections.causes.record import Reservations
from audit.report.sections.causes.section import after_own_end
from audit.report.sections.fair_starts.record import FairStart, Fidelity
from audit.report.sections.registry import waits_most
from audit.report.sections.waits.record import Queue, Waits
from audit.scenario.releases.chains import OwnEnd
from tests.report.sample import figure, having, pool
from tests.report.sections.measured import measured


def test_the_partition_with_most_of_the_waiting_is_named_with_its_cause() -> None:
    figures = (figure("wait_mean", 3_200.0), figure("cause_earlier_share", 0.43))
    queue = Queue("gpu", "-", "a100", 0.79, figures)
    rest = Queue("batch", "-", "-", 0.21, figures)
    assert waits_most(having(measured(), Waits((queue, rest)))) == (
        "79 % of all waiting time is that of jobs in partition gpu, GPU type a100, which waited "
        "53 min on average: 43 % of it passed behind running jobs of others that had arrived "
        "earlier."
    )
    assert not waits_most(having(measured(), Waits((replace(queue, share=0.4), rest))))
    assert not waits_most(measured())


DAY_S = 86_400
KEPT = {"plan_depth": 20, "plan_strict": 0, "plan_broken": 1_820, "plan_stretches": 8_841}
LONG = {"begin_use": 0.9, "end_waiting_share": 0.01, "log_length": 300 * DAY_S}


def known(**figures: float | None) -> PoolPart:
    """Return a pool of which this is known about the log and the plan."""
    of = tuple(figure(name, value) for name, value in figures.items())
    fidelity = Fidelity("fcfs", "easy", of)
    made = pool()
    return having(made, replace(made[FairStart], fidelity=fidelity))


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (Reservations(0, False, 46_369, 6_106), "This log shows no reservations, so no waiting"),
        (
            Reservations(20, False, 1_820, 1),
            "This log shows reservations: the planned start of a job ahead kept jobs from starting "
            "1 time, and 1,820 starts delayed one.",
        ),
        (Reservations(0, True, 1, 300), "In this log, jobs hardly ever start while a job ahead"),
        (Reservations(0, True), "By the configured backfilling, no job starts while a job ahead"),
        (Reservations(0, False), "By the configured backfilling, no job has a reservation."),
        (Reservations(1, False), "By the configured backfilling, at most 1 job at one time"),
        (Reservations(None, False), "By the configured backfilling, every waiting job has a"),
    ],
)
def test_reservations_are_stated_with_their_evidence(of: Reservations, said: str) -> None:
    assert section.reservations(of).startswith(said)


def test_a_page_states_reservations_and_no_caution_without_a_reason() -> None:
    (said,) = section.of_pool(known(**KEPT, **LONG))
    assert "8,841 times" in said
    (said,) = section.of_pool(known(**{**KEPT, "plan_depth": 0}, **LONG))
    assert said.startswith("This log shows no reservations")
    (said,) = section.of_pool(known(plan_depth=None, plan_strict=0))
    assert said == "By the configured backfilling, every waiting job has a reservation."
    assert section.of_pool(pool()) == ()


def test_waiting_while_the_machine_was_full_is_a_range() -> None:
    of = known()
    ranged = replace(of, figures=(*of.figures, figure("full_share", 0.468, 0.043, 0.468)))
    (said,) = section.of_pool(ranged)
    assert said.startswith("For 4.3 % to 47 % of all waiting time the machine was full.")
    same = replace(of, figures=(*of.figures, figure("full_share", 0.468, 0.468, 0.468)))
    assert section.of_pool(same) == ()


@pytest.mark.parametrize(
    ("differs", "said"),
    [
        ({"begin_use": 0.49}, "Just before the log begins, its jobs used 49 % of their mean use."),
        ({"begin_use": 0.5}, ""),
        ({"begin_use": None}, ""),
        ({"end_waiting_share": 0.02}, "2 % of all waiting time is at the end of the log."),
        ({"end_waiting_share": 0.019}, ""),
        ({"log_length": 13.9 * DAY_S}, "The log is shorter than 14 days"),
        ({"log_length": 14 * DAY_S}, ""),
        ({"log_length": 3 * DAY_S, "end_waiting_share": None}, ""),  # not selected by end
    ],
)
def test_cautions_at_the_edges_of_a_log(differs: dict[str, float | None], said: str) -> None:
    found = section.of_pool(known(**{**LONG, **differs}))
    assert len(found) == bool(said)
    assert not said or found[0].startswith(said)


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (OwnEnd("16", 40), "started 40 s after job 16 of the same user ended: a dependency or a"),
        (OwnEnd("16", 0), "started when job 16 of the same user ended"),
        (OwnEnd("16", -3), "started when job 16"),
        (OwnEnd("1\u202e6", 40), r"after job 1\u202e6 of"),
    ],
)
def test_after_which_own_job_a_job_started(end: OwnEnd, told: str) -> None:
    assert told in after_own_end("17", end, "the same user")


def test_the_main_cause_has_the_largest_share() -> None:
    shares = {"cause_own_share": 0.2, "cause_later_share": 0.5, "cause_rule_share": None}
    figures = tuple(figure(key, share) for key, share in shares.items())
    assert section.main_cause(Breakdown("gpu", figures)) == "machine full: later jobs (50 %)"
    assert section.main_cause(Breakdown("gpu", (figure("cause_own_share", 0.0),))) == "–"

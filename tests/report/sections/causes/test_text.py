"""What jobs waited for, in sentences."""

from dataclasses import replace

from audit.report.sections.causes.text import waits_most
from audit.report.sections.waits.record import Queue, Waits
from tests.report.sample import figure, having
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

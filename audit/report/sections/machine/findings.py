"""Findings about idle capacity."""

from typing import Final

from audit.report.finding import Kind, whole

KINDS: Final = (
    Kind(
        whole,
        "loss_of_capacity",
        "idle while others queue",
        "machine",
        "{loss_of_capacity} of the capacity ({loss_of_capacity:within}) was idle while queued jobs "
        "requested at least as much.",
        "Check what the first jobs in the queue waited for at these times.",
        0.01,
    ),
)

"""Findings about preemption."""

from typing import Final

from audit.report.finding import Kind, whole

KINDS: Final = (
    Kind(
        whole,
        "lost_share",
        "work lost to preemption",
        "preemption",
        "Preempted and requeued jobs had used {lost_share} of all consumption "
        "({lost_share:within}), which is lost unless they wrote checkpoints.",
        "Let preemptible jobs write checkpoints, or exempt them from preemption when they have "
        "just started.",
        0.01,
    ),
)

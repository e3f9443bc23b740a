"""Why jobs are allocated, and charged for, more CPUs than they requested."""

from dataclasses import dataclass
from typing import Final

from audit.registry.measure import ONE, REQUESTED, SHARE, Heading, Measure, Quotient


@dataclass(frozen=True, slots=True)
class RequestedReason:
    """One reason; see ``metrics.fairshare.requested``."""

    key: str
    words: str
    """Completes "CPU time was allocated …"; no full stop."""
    action: str
    """A change that may help, as an imperative; a sentence."""

    @property
    def share(self) -> str:
        """The key of the measure of its share."""
        return f"beyond_{self.key}_share"


BEYONDS: Final = (
    RequestedReason(
        "memory",
        "for memory above the limit per CPU",
        "Request less memory per CPU, or as many CPUs as this memory is charged for.",
    ),
    RequestedReason(
        "whole",
        "as whole nodes",
        "Request all CPUs of a node, or use nodes that jobs share.",
    ),
    RequestedReason(
        "cores",
        "as whole cores with all their threads",
        "Request CPUs in multiples of the threads of a core.",
    ),
    RequestedReason(
        "unknown",
        "for a reason that the log does not show",
        "Check the minimum sizes of jobs in these partitions.",
    ),
)
"""The first that holds applies."""

MATERIAL: Final = 0.05
"""Share of CPU time beyond requests from which reports mention it."""

_DIMENSIONS: Final = ("all", "user", "account", "partition", "qos")
_WHEN: Final = "where some attempt was allocated more CPUs than it requested"

MEASURES: Final = (
    Measure(
        *("beyond_request_share", "CPU time allocated beyond requests", ONE, SHARE, _DIMENSIONS),
        "Σ max(CPUs allocated − CPUs requested, 0) · occupancy / Σ CPUs allocated · occupancy, of "
        "attempts for which the log gives both",
        table=Heading.MACHINE,
        when=_WHEN,
        figure=Quotient(REQUESTED, "beyond_work", "cpu_time"),
    ),
    Measure(
        *("beyond_charge_share", "Charges beyond what was requested", ONE, SHARE, _DIMENSIONS),
        "Σ charges that attempts would save if they were charged for their requested CPUs and "
        "memory / Σ charges, of the same attempts",
        table=Heading.MACHINE,
        when=_WHEN,
        figure=Quotient(REQUESTED, "beyond_charge", "charge"),
    ),
    *(
        Measure(
            *(one.share, f"CPU time allocated beyond requests {one.words}", ONE, SHARE),
            _DIMENSIONS,
            f"part of `beyond_request_share` that was allocated {one.words}",
            when=_WHEN,
            figure=Quotient(REQUESTED, f"beyond_{one.key}", "cpu_time"),
        )
        for one in BEYONDS
    ),
)

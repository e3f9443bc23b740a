"""Findings about unequal shares, and about amounts beyond requests."""

from collections.abc import Iterator
from typing import Final

from audit.registry.requested import BEYONDS, MATERIAL
from audit.report.contents import Contents
from audit.report.finding import Kind, Subject, whole, worst_width
from audit.report.place import SHORTFALL, Place


def beyond_requests(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the pool as a whole, with the main reason for allocating more than was requested."""
    pool = place.pool
    main = max(BEYONDS, key=lambda one: pool.figure(one.share).value or 0.0)
    for subject in whole(contents, place, measure):
        yield subject._replace(words={"reason": main.words, "remedy": main.action})


KINDS: Final = (
    Kind(
        whole,
        SHORTFALL,
        "unequal shares of the machine",
        "sharing",
        "{re_treated_unfairly_share:one in} jobs received less than an equal share; the shortfall "
        "is {re_unfairness_share} of all consumption ({re_unfairness_share:within}).",
        "Check which widths and users have the largest shortfall.",
    ),
    Kind(
        worst_width,
        SHORTFALL,
        "unequal shares of the machine",
        "sharing",
        "{subject} have the largest shortfall: {re_unfairness_share} of what they consumed "
        "({re_unfairness_share:within}).",
        "Give these jobs more of the machine, or their own hours.",
    ),
    Kind(
        beyond_requests,
        "beyond_request_share",
        "allocated beyond requests",
        "sharing",
        "{beyond_request_share} of all CPU time ({beyond_request_share:within}) was allocated "
        "beyond the CPUs that jobs requested, mostly {reason}.",
        "{remedy}",
        MATERIAL,
    ),
)

"""Findings about delays by later arrivals."""

from functools import partial
from typing import Final

from audit.report.finding import Kind, if_trusted, whole, worst_width
from audit.report.place import DELAY

KINDS: Final = (
    Kind(
        partial(if_trusted, subjects=whole),
        DELAY,
        "later arrivals",
        "fair",
        "{miss_delivered_share} of all waiting time is delay by later arrivals "
        "({miss_delivered_share:within}), under the rule that this log shows.",
        "Check which widths are delayed, and reserve for more jobs than the first in the queue.",
    ),
    Kind(
        partial(if_trusted, subjects=worst_width),
        DELAY,
        "later arrivals",
        "fair",
        "{subject}: {miss_delivered_share} of their waiting time is delay by later arrivals "
        "({miss_delivered_share:within}), under the site's known rule.",
        "Reserve for more jobs than the first in the queue, or give these jobs their own hours.",
    ),
)

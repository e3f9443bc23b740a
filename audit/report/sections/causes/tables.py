"""The rows of tables about causes of waiting."""

from operator import itemgetter

from audit.registry.causes import CAUSES, Cause
from audit.report import wording
from audit.report.figures import Figures
from audit.report.pool import PoolPart


def causes(pool: PoolPart) -> tuple[Cause, ...]:
    """Return the causes of waiting that tables of a pool show."""
    return tuple(one for one in CAUSES if not one.optional or pool.figure(one.share).value)


def main_cause(of: Figures) -> str:
    """Return the cause with the largest share of waiting, and this share in words."""
    shares = [(of.figure(cause.share).value or 0.0, cause.legend) for cause in CAUSES]
    share, legend = max(shares, key=itemgetter(0))
    return f"{legend} ({wording.rough_percent(share)})" if share else wording.UNKNOWN

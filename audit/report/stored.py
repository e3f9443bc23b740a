"""The error about stored results that cannot be shown: a database was damaged or changed by others.

Results are not checked one by one. What breaks while they are read or drawn is such an error.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from polars.exceptions import PolarsError

from audit import memory
from audit.errors import ReportError

_BREAKS: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, PolarsError)


@contextmanager
def reading(*what: str) -> Iterator[None]:
    """Raise what breaks in the block as ReportError, with the place in fairaudit's code.

    A value may be a name, so the message of the original error counts as text from outside.

    Args:
        what: the cluster and the period.
    """
    try:
        yield
    except _BREAKS as error:
        if memory.shortage(error) is not None:
            raise
        places = [
            f"{frame.f_globals['__name__']}:{line}"
            for frame, line in traceback.walk_tb(error.__traceback__)
        ]
        place = next(place for place in reversed(places) if place.startswith("audit."))
        why = " ".join(str(error).split())
        raise ReportError(
            f"{', '.join(what)}: results in the database cannot be shown: if it was damaged or "
            "changed, restore a backup, or audit the logs again into a new database; else this is "
            f"a defect of fairaudit ({type(error).__name__}, {place})",
            f": {why}",
        ) from error

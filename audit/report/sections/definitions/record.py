"""The records of the section *definitions*."""

from typing import NamedTuple


class Example(NamedTuple):
    """A definition applied to a few attempts."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    result: str


class Definition(NamedTuple):
    """The meaning of a figure."""

    key: str  # part of an anchor of the page
    term: str
    meaning: str
    formula: str
    source: str
    example: Example


class Elsewhere(NamedTuple):
    """The figures of other tools on the same pool and period; None: nothing to count."""

    wait_from_submission_s: float | None = None  # mean, of attempts that ended in the period
    wait_of_started_s: float | None = None  # mean, of attempts that started in it
    repeated: int = 0  # ended attempts that are not the last of their job
    held: float | None = None  # resource·s inside the period
    held_running: float | None = None  # the same without suspended time

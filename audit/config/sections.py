"""What every section of config.toml is, and how what is wrong in one is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Final, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

_UNITS: dict[str, int] = {
    **{f"{unit}B": 1000**power for power, unit in enumerate("KMGT", start=1)},
    **{f"{unit}iB": 1024**power for power, unit in enumerate("KMGT", start=1)},
}


class Section(BaseModel):
    """A section: frozen, of exact types, without keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def in_bytes(amount: str) -> int:
    """An amount of memory such as ``4GB`` or ``512MiB``, in bytes.

    Raises:
        ValueError: it is none.
    """
    number = amount.rstrip("KMGTiB")
    unit = _UNITS.get(amount.removeprefix(number))
    if unit is None or not (number.isascii() and number.isdigit()) or int(number) == 0:
        raise ValueError('must be an amount with its unit, such as "4GB"')
    return int(number) * unit


LEAST_MEMORY: Final = "64MB"
"""With less, DuckDB and the layout of a PDF cannot begin."""


def _memory_amount(text: str) -> str:
    if in_bytes(text) < in_bytes(LEAST_MEMORY):
        raise ValueError(f'must be at least "{LEAST_MEMORY}"')
    return text


MemoryAmount = Annotated[str, AfterValidator(_memory_amount)]
"""Text that ``in_bytes`` understands, from ``LEAST_MEMORY`` on."""


def one_of(names: Sequence[str]) -> Callable[[Any], Any]:
    """A validator that takes these names alone, and lists them in pydantic's own words."""

    def check(value: Any) -> Any:
        if value not in names:
            *others, last = (repr(str(name)) for name in names)
            raise ValueError(f"Input should be {', '.join(others)} or {last}")
        return value

    return check


class Fault(NamedTuple):
    """Something wrong within a section."""

    at: tuple[str | int, ...]
    """Key path within the section."""
    what: str
    given: object
    judged: frozenset[str] = frozenset()
    """The section's keys that it judges, where it judges several."""
    kind: str = "fault"


def faults_of(error: ValidationError) -> Iterator[Fault]:
    """What pydantic found."""
    for item in error.errors():
        yield Fault(item["loc"], item["msg"], item["input"], kind=item["type"])


def refusal(section: str, faults: Iterable[Fault]) -> ValidationError:
    """Faults as pydantic reports those of single values, so that all are listed together."""
    return ValidationError.from_exception_data(
        section,
        [
            InitErrorDetails(
                # the text is no template: names in it may have braces
                type=PydanticCustomError(fault.kind, "{what}", {"what": fault.what}),
                loc=fault.at,
                input=fault.given,
            )
            for fault in faults
        ],
    )

"""The base of all sections of config.toml, and how their faults are reported."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Final, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, field_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

BYTES: Final[dict[str, int]] = {
    f"{unit}{middle}B": base**power
    for power, unit in enumerate("KMGT", start=1)
    for middle, base in (("", 1000), ("i", 1024))
}
"""Units of memory, and their size in bytes."""

LARGEST: Final = 1 << 62
"""The greatest whole number, within int64; amounts of memory are in bytes."""


class ConfigSection(BaseModel):
    """A section: frozen, with exact types, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _fits(cls, value: object) -> object:
        """Refuse numbers beyond int64."""
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ValueError(f"must be at most {LARGEST}")
        return value


def checked(test: Callable[[str], object], wrong: str) -> AfterValidator:
    """Return a validator that refuses texts that fail ``test``, with the message ``wrong``."""

    def check(value: str) -> str:
        if not test(value):
            raise ValueError(wrong)
        return value

    return AfterValidator(check)


def in_bytes(amount: str) -> int:
    """Return an amount of memory such as ``4GB`` or ``512MiB`` in bytes, or raise ValueError."""
    number = amount.rstrip("KMGTiB")
    unit = BYTES.get(amount.removeprefix(number))
    if unit is None or not (number.isascii() and number.isdigit()) or int(number) == 0:
        raise ValueError('must be an amount with its unit, such as "4GB"')
    return int(number) * unit


LEAST_MEMORY: Final = "64MB"
"""The minimum that DuckDB and the layout of a PDF need to start."""
MemoryAmount = Annotated[
    str,
    checked(
        lambda text: in_bytes(text) >= in_bytes(LEAST_MEMORY), f'must be at least "{LEAST_MEMORY}"'
    ),
]
"""Text that ``in_bytes`` understands, at least ``LEAST_MEMORY``."""


def one_of(names: Sequence[str]) -> Callable[[Any], Any]:
    """Return a validator that accepts only these names, with pydantic's message for literals."""

    def check(value: Any) -> Any:
        if value not in names:
            *others, last = (repr(str(name)) for name in names)
            raise ValueError(f"Input should be {', '.join(others)} or {last}")
        return value

    return check


class ConfigFault(NamedTuple):
    """A fault in a section."""

    at: tuple[str | int, ...]
    """Key path within the section."""
    what: str
    given: object
    judged: frozenset[str] = frozenset()
    """The keys of the section that the fault depends on, if there are several."""
    kind: str = "fault"


def refusal(section: str, faults: Iterable[ConfigFault]) -> ValidationError:
    """Return faults as an error of pydantic, which lists them with those of single values."""
    return ValidationError.from_exception_data(
        section,
        [
            InitErrorDetails(
                # a placeholder, since names in the text may contain braces
                type=PydanticCustomError(fault.kind, "{what}", {"what": fault.what}),
                loc=fault.at,
                input=fault.given,
            )
            for fault in faults
        ],
    )

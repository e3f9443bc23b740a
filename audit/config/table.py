"""The mapping of a table with unknown columns to the fields of a record.

A mapping is data: a preset, a TOML file, or an inline table of config.toml. Its keys are fields of
``model.RECORDS``, and durations from which times follow. It has no expressions.
"""

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, create_model, model_validator

from audit.config.faults import tuples, validated
from audit.config.sections import BYTES, ConfigFault, ConfigSection, refusal
from audit.errors import ConfigError, UsageError
from audit.periods import zone as zone_named
from audit.words import Population

TEXTS: Final = (
    *("cluster", "job_id", "user", "account", "group", "partition", "qos", "state", "reason"),
    *("reservation", "constraints", "required_nodes", "node_list", "gpu_types"),
)
NUMBERS: Final = ("priority", "nice")
COUNTS: Final = ("cpus", "nodes", "gpus", "req_cpus", "tasks", "array_throttle")
MEMORY: Final = ("mem_bytes", "req_mem_bytes")
TIMES: Final = ("submit_time", "eligible_time", "start_time", "end_time")
DURATIONS: Final = ("walltime", "elapsed", "wait", "suspended")
"""Fields by the kind of their values."""
FIELDS: Final = (*TEXTS, *TIMES, *DURATIONS, *COUNTS, *MEMORY, *NUMBERS)

CLOCK: Final = "clock"  # a duration written as [days-]hours:minutes:seconds
ITEMS: Final = "items"  # a list, of which the items count
_SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86_400}
_BYTES: Final = {"B": 1, **BYTES}
FACTORS: Final[Mapping[str, float]] = {**_SECONDS, **_BYTES, "milli": 1e-3, ITEMS: 1}
"""Units that are multiplied, and their size in seconds, bytes or pieces."""

_UNITS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(TIMES, tuple(_SECONDS)[:3]),
    **dict.fromkeys(DURATIONS, (*_SECONDS, CLOCK)),
    **dict.fromkeys(MEMORY, tuple(_BYTES)),
    **dict.fromkeys(COUNTS, ("milli", ITEMS)),
}
_NEED_UNIT: Final = (*DURATIONS, *MEMORY)
_PER: Final[Mapping[str, tuple[str, ...]]] = {
    "node": ("cpus", "gpus", "req_cpus", *MEMORY),
    "cpu": MEMORY,
}

NULLS: Final = (
    *("", "NULL", "null", "None", "none", "nan", "NaN", "NaT", "N/A", "NA", "<NA>", "Unknown"),
    r"\N",
)
"""Texts that mean unknown in any table."""


class _Aliased(
    ConfigSection, validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
):
    """A section with keys that Python reserves, such as ``else``."""


class Mapped(_Aliased):
    """How the value of one field follows from a column."""

    column: str | None = Field(default=None, min_length=1)
    constant: str | int | float | None = None
    unit: str | None = None
    per: Literal["node", "cpu"] | None = None
    pattern: str | None = None
    values: dict[str, str] = Field(default_factory=dict)
    otherwise: str | None = Field(default=None, alias="else")
    nulls: tuple[str, ...] = ()
    round: Literal["up"] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.column is None) == (self.constant is None):
            raise ValueError("needs either a column or a constant, and not both")
        if self.pattern is not None:
            try:
                groups = re.compile(self.pattern).groups
            except re.error as error:
                raise ValueError(f"pattern: {error}") from None
            if groups != 1:
                raise ValueError(f"pattern: needs one group (…), and has {groups}")
        return self

    def fault(self, field: str) -> str | None:
        """Return what is wrong with it as the value of ``field``; None: nothing."""
        units = _UNITS.get(field, ())
        known = ", ".join(units) or "none"
        number = field not in TEXTS and isinstance(self.constant, str)
        wrong_kind = number or (field in TEXTS and isinstance(self.constant, int | float))
        tests = (
            (self.unit is None and field in _NEED_UNIT, f"needs a unit: {known}"),
            (
                self.unit is not None and self.unit not in units,
                f"the unit {self.unit!r} does not fit (possible: {known})",
            ),
            (
                self.per is not None and field not in _PER[self.per],
                f"per = {self.per!r} is only for {', '.join(_PER.get(self.per or '', ()))}",
            ),
            (
                self.round is not None and field not in (*COUNTS, *MEMORY),
                "round is only for amounts",
            ),
            (
                self.constant is not None and field in ("job_id", *TIMES),
                "needs a column: a constant would be the same in every row",
            ),
            (wrong_kind, f"the constant must be a {'number' if number else 'text'}"),
        )
        return next((said for holds, said in tests if holds), None)


def _short(given: object) -> object:
    return {"column": given} if isinstance(given, str) else given


_Field = Annotated[Mapped | None, BeforeValidator(_short)]


class StateRule(_Aliased):
    """A state that columns show; the first rule that holds decides."""

    state: str = Field(min_length=1)
    column: str | None = None
    among: tuple[str, ...] | str | None = Field(default=None, alias="is")
    present: str | None = None
    """A column that has a value."""
    absent: str | None = None
    """A column without a value."""
    last: bool | None = None
    """Whether it is the last record of its object (``records``)."""

    @model_validator(mode="after")
    def _tests(self) -> Self:
        if (self.column is None) != (self.among is None):
            raise ValueError("needs both column and is, or neither")
        if {self.column, self.present, self.absent, self.last} == {None}:
            raise ValueError("needs a test: column and is, present, absent or last")
        return self


class _Mapping(ConfigSection):
    """A mapping without its fields; see ``TableMapping``."""

    title: str = ""
    source: str = ""
    """Where its documentation or its data are."""
    zone: str | None = None
    population: Annotated[Population, Field(strict=False)] | None = None
    caution: str = ""
    """The limits of its figures, in a clause."""
    one: Literal["job", "execution", "run", "task"] = "job"
    origin: str | None = None
    """The instant from which its times are counted in seconds."""
    records: str | None = None
    """Path of the list of records within each object, for JSON."""
    state_when: tuple[StateRule, ...] = ()

    @property
    def as_json(self) -> str:
        """All of it as a text; see ``of_json``."""
        return self.model_dump_json(exclude_defaults=True, by_alias=True)

    @property
    def fields(self) -> dict[str, Mapped]:
        """The fields that are mapped."""
        given = {name: getattr(self, name) for name in FIELDS}
        return {name: of for name, of in given.items() if of is not None}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, each once."""
        of_fields = (of.column for of in self.fields.values())
        of_states = (
            name for rule in self.state_when for name in (rule.column, rule.present, rule.absent)
        )
        return tuple(dict.fromkeys(name for name in (*of_fields, *of_states) if name is not None))

    @property
    def adds(self) -> bool:
        """Whether it adds fields to those that the log's own dialect reads."""
        return "job_id" not in self.fields

    @property
    def origin_s(self) -> int:
        """The instant from which times are counted, in epoch seconds."""
        if self.origin is None:
            return 0
        moment = datetime.fromisoformat(self.origin)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone_named(self.zone or "UTC"))
        return int(moment.timestamp())

    @model_validator(mode="after")
    def _whole(self) -> Self:
        faults = [*self._faults()]
        if faults:
            raise refusal("TableMapping", faults)
        return self

    def _faults(self) -> Iterable[ConfigFault]:
        for name, of in self.fields.items():
            if wrong := of.fault(name):
                given = of.model_dump(exclude_defaults=True)
                yield ConfigFault((name,), wrong, given)
        try:
            zone_named(self.zone or "UTC")
        except UsageError as error:
            yield ConfigFault(("zone",), str(error), self.zone)
        else:
            try:
                _ = self.origin_s
            except (ValueError, OverflowError):
                what = "must be an instant such as 2023-01-01 or 2023-01-01T00:00:00Z"
                yield ConfigFault(("origin",), what, self.origin)
        known = {*self.fields}
        if self.adds and (not known or known & {*TIMES, "elapsed", "wait"}):
            yield ConfigFault(("job_id",), "is missing: it names the column of the job's id", None)
        if not self.adds and not known & {*TIMES} - {"eligible_time"}:
            yield ConfigFault(("submit_time",), "is missing: no time is mapped", None)


if TYPE_CHECKING:

    class TableMapping(_Mapping):
        """Which columns of a table are the fields of a record, and what a row is."""
else:
    TableMapping = create_model(
        "TableMapping",
        __base__=_Mapping,
        __module__=__name__,
        **dict.fromkeys(FIELDS, (_Field, None)),
    )


def _given(value: object) -> object:
    """Return an inline table as a mapping; a name is a preset, or a file that is read later."""
    if isinstance(value, dict):
        return TableMapping.model_validate(value)
    if isinstance(value, str) and not _is_file(value):
        try:
            named(value)
        except UsageError as error:
            raise ValueError(str(error)) from None
    return value


TableOption = Annotated[str | TableMapping | None, BeforeValidator(_given)]
"""A mapping, or the name of a preset or of a file; see ``resolved``."""

MAPPED: Final = "table"
"""Beginning of the fingerprint of a mapping."""

FOLDER: Final = Path(__file__).resolve().parent / "tables"


@cache
def presets() -> Mapping[str, TableMapping]:
    """Return the mappings that ship with fairaudit, by name."""
    return {path.stem: read(path) for path in sorted(FOLDER.glob("*.toml"))}


def in_toml(preset: str) -> str:
    """Return the text of a preset."""
    return (FOLDER / f"{preset}.toml").read_text(encoding="utf-8")


def read(path: Path) -> TableMapping:
    """Return the mapping in a TOML file; ConfigError lists all that is wrong by key path."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file with the mapping of a table (--table)") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    return validated(TableMapping, content, str(path))


def _is_file(name: str) -> bool:
    return "/" in name or name.endswith(".toml")


def is_new(name: str) -> bool:
    """Return whether a name is that of a file that does not exist yet."""
    return name not in presets() and _is_file(name) and not Path(name).exists()


def named(name: str, folder: Path = Path()) -> TableMapping:
    """Return the preset ``name``, or the mapping in the file of that name; else UsageError."""
    if name in presets():
        return presets()[name]
    if _is_file(name):
        return read(folder / name)
    near = difflib.get_close_matches(name, presets(), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    known = ", ".join(presets())
    raise UsageError(
        f"there is no table {name!r}; {hint}known: {known}; or name a file (./table.toml)"
    )


def resolved(given: str | TableMapping | None, folder: Path = Path()) -> TableMapping | None:
    """Return a mapping that may be given by its name; errors as of ``named``."""
    return named(given, folder) if isinstance(given, str) else given


def of_options(table: str | None, maps: Sequence[str]) -> TableMapping | None:
    """Return the mapping of ``--table``, changed by ``--map FIELD=COLUMN[:unit]``.

    Raises UsageError for what is wrong with them.
    """
    if table is None and not maps:
        return None
    base = {} if table is None else named(table).model_dump(exclude_defaults=True)
    for text in maps:
        field, equals, column = text.partition("=")
        if field not in FIELDS or not (equals and column):
            near = difflib.get_close_matches(field, FIELDS, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"fields: {', '.join(FIELDS)}"
            raise UsageError(f"--map {text}: write it as FIELD=COLUMN or FIELD=COLUMN:unit; {hint}")
        name, colon, unit = column.rpartition(":")
        known = colon and unit in (*FACTORS, CLOCK)
        base[field] = {"column": name, "unit": unit} if known else {"column": column}
    return validated(TableMapping, base, "--map" if table is None else f"--table {table}")


def fingerprint(
    table: TableMapping | None, columns: Sequence[str] | None, separator: str | None
) -> str:
    """Return what identifies the columns that a user names; empty if there are none."""
    if table is None and columns is None:
        return ""
    said = json.dumps([columns, separator]) if table is None else table.as_json
    digest = hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{'columns' if table is None else MAPPED}:{digest}"


@lru_cache(maxsize=8)
def of_json(text: str) -> TableMapping:
    """Return the mapping that ``as_json`` wrote."""
    return TableMapping.model_validate(tuples(json.loads(text)))

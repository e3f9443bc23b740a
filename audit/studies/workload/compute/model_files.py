"""Workload models as TOML files, to be read and changed by hand.

A file gives the same synthetic logs as its model: numbers are not rounded.
"""

import json
import tomllib
from dataclasses import fields
from datetime import date
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from audit.errors import UsageError
from audit.studies.workload.compute.classes import TECHNIQUES
from audit.studies.workload.compute.hyper_exponential import LEAST_S, Fit, HyperExponential
from audit.studies.workload.compute.model import Class, Model, Shares
from audit.studies.workload.compute.weekly_clock import PARTS
from audit.words import Resource

VERSION: Final = 1

_HEAD: Final = """\
# A workload: what is asked for, and when it arrives. Made by fairaudit from an accounting log;
# `fairaudit experiment synthetic` makes logs of it. Change what you like.
#
# Of each class, in one part of the week (peak: Monday to Friday, 8 to 17; weekend; off_peak: else):
#   attempts, hours        how many arrived, in how many hours of that part of the week
#   mean_size, mean_occupancy_s, used   for the reader; used: share of all size-seconds
#   gaps, occupancies      p of one exponential distribution of mean short_s, else long_s, in s;
#                          distance, p_value, exponential_distance, gain say how well they fit
#   sizes, walltimes       [value, share]; walltimes in s, of the attempts that have one
#   foresight              rank correlation of walltimes and occupancies
#   users                  [rank, share]; 0: one of the others
"""


def to_toml(model: Model) -> str:
    """Return a model as the text of its file."""
    lines = [_HEAD, f"version = {VERSION}", *_lines(model)]
    for one in model.classes:
        lines += ["", "[[classes]]", *_lines(one)]
    return "\n".join(lines) + "\n"


def _lines(of: Model | Class) -> list[str]:
    names = [field.name for field in fields(of) if field.name != "classes"]
    keys = ("class" if name == "label" else name for name in names)
    return [f"{key} = {_text(getattr(of, name))}" for key, name in zip(keys, names, strict=True)]


def _text(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, Fit):
        law = dict(zip(("p", "short_s", "long_s"), value.distribution, strict=True))
        parts = law | {name: part for name, part in value._asdict().items() if part is not None}
        del parts["distribution"]
        return f"{{ {', '.join(f'{key} = {part!r}' for key, part in parts.items())} }}"
    # JSON is TOML for texts, numbers and lists, except for the delete character.
    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007F")


def from_toml(text: str, where: str) -> Model:
    """Return the model of the text of the file that errors call ``where``.

    Raises:
        UsageError: it is not a model; the message says where and why.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: is no TOML: {error}") from error
    version = table.get("version")
    if isinstance(version, int) and version != VERSION:
        raise UsageError(
            f"{where}: version {version} of a workload model; this fairaudit reads {VERSION}: "
            "make it again with `fairaudit experiment workload`"
        )
    try:
        model = _Model.model_validate_json(json.dumps(table, default=str)).made()
    except ValidationError as error:
        raise UsageError(f"{where}: {_first(error)}") from error
    for number, one in enumerate(model.classes, 1):
        place = f"{where}: class {number}"
        if one.users[-1][0] > model.users:
            raise UsageError(f"{place}, users: ranks go up to {model.users}, the number of users")
        for what, fit in (("gaps", one.gaps), ("occupancies", one.occupancies)):
            if fit.distribution.long_s < fit.distribution.short_s:
                raise UsageError(f"{place}, {what}: long_s is less than short_s")
        if one.with_walltime and not one.walltimes:
            raise UsageError(f"{place}, walltimes: is empty, but with_walltime is not 0")
        if (widest := one.sizes[-1][0]) > model.capacity:
            raise UsageError(
                f"{place}, sizes: {widest} is more than the capacity, {model.capacity}"
            )
    return model


def _first(error: ValidationError) -> str:
    """Return place and reason of the first fault."""
    fault = error.errors()[0]
    top, *below = fault["loc"]
    if top == "classes" and below:
        top = f"class {int(below.pop(0)) + 1}"
    place = ", ".join(map(str, (top, *below)))
    if fault["type"] == "missing":
        return f"{place}: is missing"
    return f"{place}: is {fault['input']!r}: {fault['msg']}"


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:
        raise ValueError("it must be in the IANA database, like Europe/Berlin or UTC") from error
    return name


def _complete(pairs: Shares) -> Shares:
    different = len({whole for whole, _ in pairs}) == len(pairs)
    if pairs and not (different and abs(sum(share for _, share in pairs) - 1) <= 1e-6):
        raise ValueError("values must differ, and shares add up to 1")
    return tuple(sorted(pairs))


_Share = Annotated[float, Field(ge=0, le=1)]
_Count = Annotated[int, Field(ge=1)]
_AnyShares = Annotated[
    tuple[tuple[Annotated[int, Field(ge=0)], _Share], ...], AfterValidator(_complete)
]
_Users = Annotated[_AnyShares, Field(min_length=1)]
_Sizes = Annotated[
    tuple[tuple[_Count, _Share], ...], Field(min_length=1), AfterValidator(_complete)
]


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Fit(_Table):
    p: _Share
    short_s: float = Field(ge=LEAST_S)
    long_s: float = Field(ge=LEAST_S)
    distance: _Share
    p_value: _Share | None = None
    exponential_distance: _Share
    gain: float = Field(ge=0)

    def made(self) -> Fit:
        law = HyperExponential(self.p, self.short_s, self.long_s)
        return Fit(law, self.distance, self.p_value, self.exponential_distance, self.gain)


class _Class(_Table):
    label: str = Field(alias="class")
    part: Literal[PARTS]  # type: ignore[valid-type]
    attempts: _Count
    hours: float = Field(gt=0)
    mean_size: float = Field(ge=0)
    mean_occupancy_s: float = Field(ge=0)
    used: _Share
    gaps: _Fit
    occupancies: _Fit
    sizes: _Sizes
    walltimes: _AnyShares
    with_walltime: _Share
    foresight: float = Field(ge=-1, le=1)
    users: _Users

    def made(self) -> Class:
        fits = {"gaps": self.gaps.made(), "occupancies": self.occupancies.made()}
        return Class(**{**dict(self), **fits})


class _Model(_Table):
    version: int
    cluster: str
    by: Literal[tuple(TECHNIQUES)]  # type: ignore[valid-type]
    resource: Literal[tuple(map(str, Resource))]  # type: ignore[valid-type]
    capacity: _Count
    zone: Annotated[str, AfterValidator(_zone)]
    first_day: date
    days: _Count
    users: _Count
    left_out: int = Field(ge=0)
    classes: Annotated[list[_Class], Field(min_length=1)]

    def made(self) -> Model:
        values: dict[str, Any] = dict(self)
        del values["version"]
        return Model(**{**values, "classes": tuple(one.made() for one in self.classes)})

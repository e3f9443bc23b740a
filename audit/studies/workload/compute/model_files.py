"""Workload models as TOML files, to be read and changed by hand; numbers are not rounded."""

import json
import tomllib
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from audit.errors import UsageError
from audit.periods import zone
from audit.studies.workload.compute.classes import PARTS, TECHNIQUES
from audit.studies.workload.compute.hyper_exponential import (
    LEAST_S,
    FittedDistribution,
    HyperExponential,
)
from audit.studies.workload.compute.model import Class, Model, Shares
from audit.words import Resource

VERSION: Final = 1

_HEAD: Final = """\
# A workload: requests and arrivals. Made by fairaudit from an accounting log;
# `fairaudit experiment synthetic` draws logs from it. You can change all values.
#
# For each class in a part of the week (peak: Monday to Friday, 8 to 17; weekend; off_peak: others):
#   attempts, hours        number of arrivals, and of hours of that part of the week
#   mean_size, mean_occupancy_s, used   for information; used: share of all size-seconds
#   gaps, occupancies      with probability p exponential with mean short_s, else with long_s (s);
#                          distance, p_value, exponential_distance, gain: goodness of fit
#   sizes, walltimes       [value, share]; walltimes in s, of the attempts that have one
#   foresight              rank correlation of walltimes and occupancies
#   users                  [rank, share]; rank 0: all other users
"""


def to_toml(model: Model) -> str:
    """Return a model as the text of its file."""
    lines = [_HEAD, f"version = {VERSION}"]
    lines += [f"{key} = {_text(getattr(model, key))}" for key in _Model.model_fields]
    for one in model.classes:
        values = {"class" if key == "label" else key: key for key in _Class.model_fields}
        lines += ["", "[[classes]]"]
        lines += [f"{key} = {_text(getattr(one, name))}" for key, name in values.items()]
    return "\n".join(lines) + "\n"


def from_toml(text: str, where: str) -> Model:
    """Return the model of the text of the file that errors call ``where``.

    Raises UsageError if it is not a model; the message says where and why.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: not valid TOML: {error}") from error
    if (version := table.get("version", VERSION)) != VERSION:
        raise UsageError(
            f"{where}: version {version} of a workload model; this fairaudit reads {VERSION}: make "
            "it again with `fairaudit experiment workload`"
        )
    try:
        # JSON, since its arrays and texts become tuples and days
        given = _File.model_validate_json(json.dumps(table, default=str))
    except ValidationError as error:
        faults = "; ".join(_fault(dict(item)) for item in error.errors())
        raise UsageError(f"{where}: {faults}") from error
    values = {key: getattr(given, key) for key in _Model.model_fields}
    classes = (
        Class(**{key: getattr(one, key) for key in _Class.model_fields}) for one in given.classes
    )
    return Model(**values, classes=tuple(classes))


def _fault(error: Mapping[str, Any]) -> str:
    """Return an error of pydantic with its place: ``class 2, gaps, p: …``."""
    place = error["loc"][:4]
    if len(place) > 1 and place[0] == "classes":
        place = (f"class {place[1] + 1}", *place[2:])
    shown = repr(error["input"])
    given = "" if len(shown) > 80 or error["type"] == "missing" else f" (it is {shown})"
    message = error["msg"].removeprefix("Value error, ")
    return f"{', '.join(map(str, place))}: {message}{given}".removeprefix(": ")


def _summing_to_1(shares: Shares) -> Shares:
    total = sum(share for _, share in shares)
    if len(dict(shares)) < len(shares) or (shares and abs(total - 1) > 1e-6):
        raise ValueError("needs pairs of different numbers and their shares, which add up to 1")
    return tuple(sorted(shares))


def _known_zone(name: str) -> str:
    try:
        return zone(name).key
    except UsageError as error:
        raise ValueError(str(error)) from error


_Part = Annotated[float, Field(ge=0, le=1)]
_Least0 = Annotated[int, Field(ge=0)]
_Least1 = Annotated[int, Field(ge=1)]
_Pairs0 = Annotated[tuple[tuple[_Least0, _Part], ...], AfterValidator(_summing_to_1)]
_Pairs1 = Annotated[tuple[tuple[_Least1, _Part], ...], AfterValidator(_summing_to_1)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Fit(_Strict):
    p: _Part
    short_s: float = Field(ge=LEAST_S)
    long_s: float
    distance: _Part
    p_value: _Part | None = None
    exponential_distance: _Part
    gain: float = Field(ge=0)

    @model_validator(mode="after")
    def _short_first(self) -> "_Fit":
        if self.long_s < self.short_s:
            raise ValueError(f"long_s ({self.long_s:g}) is below short_s ({self.short_s:g})")
        return self

    def made(self) -> FittedDistribution:
        law = HyperExponential(self.p, self.short_s, self.long_s)
        return FittedDistribution(
            law, self.distance, self.p_value, self.exponential_distance, self.gain
        )


_OfFit = Annotated[_Fit, AfterValidator(_Fit.made)]


class _Class(_Strict):
    """The fields of ``model.Class``, in the order of the file."""

    label: str = Field(alias="class")
    part: Literal[PARTS]  # type: ignore[valid-type]
    attempts: _Least1
    hours: float = Field(gt=0)
    mean_size: float = Field(ge=0)
    mean_occupancy_s: float = Field(ge=0)
    used: _Part
    gaps: _OfFit
    occupancies: _OfFit
    sizes: _Pairs1 = Field(min_length=1)
    walltimes: _Pairs0
    with_walltime: _Part
    foresight: float = Field(ge=-1, le=1)
    users: _Pairs0 = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> "_Class":
        if self.with_walltime and not self.walltimes:
            raise ValueError("walltimes is empty, but with_walltime is above 0")
        return self


class _Model(_Strict):
    """The fields of ``model.Model`` but its classes, in the order of the file."""

    cluster: str
    by: Literal[TECHNIQUES]  # type: ignore[valid-type]
    resource: Literal[tuple(map(str, Resource))]  # type: ignore[valid-type]
    capacity: _Least1
    zone: Annotated[str, AfterValidator(_known_zone)]
    first_day: date
    days: _Least1
    users: _Least1
    left_out: _Least0


class _File(_Model):
    version: int
    classes: tuple[_Class, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> "_File":
        for number, one in enumerate(self.classes, start=1):
            if one.users[-1][0] > self.users:
                raise ValueError(f"class {number}, users: ranks go up to {self.users} (users)")
            if (widest := one.sizes[-1][0]) > self.capacity:
                over = f"{widest} is more than the capacity, {self.capacity}"
                raise ValueError(f"class {number}, sizes: {over}")
        return self


def _text(value: object) -> str:
    if isinstance(value, FittedDistribution):
        law, distance, p_value, exponential_distance, gain = value
        given = (*law, distance, p_value, exponential_distance, gain)
        parts = zip(_Fit.model_fields, given, strict=True)
        written = (f"{key} = {_text(part)}" for key, part in parts if part is not None)
        return f"{{ {', '.join(written)} }}"
    if isinstance(value, tuple):
        return f"[{', '.join(_text(part) for part in value)}]"
    if isinstance(value, date):
        value = value.isoformat()
    if isinstance(value, str):
        # A JSON text is a TOML one, except for the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return repr(value)

"""Workload models as TOML files, to be read and changed by hand; numbers are not rounded."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from audit.errors import UsageError
from audit.studies.workload.compute.hyper_exponential import FittedDistribution
from audit.studies.workload.compute.model import LogModel

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


_MODEL: Final = TypeAdapter(LogModel)


def to_toml(model: LogModel) -> str:
    """Return a model as the text of its file."""
    *head, _ = fields(model)
    lines = [_HEAD, f"version = {VERSION}"]
    lines += [f"{key.name} = {_text(getattr(model, key.name))}" for key in head]
    for one in model.classes:
        values = {"class" if key.name == "label" else key.name: key.name for key in fields(one)}
        lines += ["", "[[classes]]"]
        lines += [f"{key} = {_text(getattr(one, name))}" for key, name in values.items()]
    return "\n".join(lines) + "\n"


def from_toml(text: str, where: str) -> LogModel:
    """Return the model of the text of the file that errors call ``where``.

    Raises UsageError if it is not a model; the message says where and why.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: not valid TOML: {error}") from error
    if "version" not in table:
        raise UsageError(f"{where}: version: Field required")
    if (version := table["version"]) != VERSION:
        raise UsageError(
            f"{where}: version {version} of a workload model; this fairaudit reads {VERSION}: make "
            "it again with `fairaudit experiment workload`"
        )
    try:
        # JSON, since its arrays and texts become tuples and days
        return _MODEL.validate_json(json.dumps(table, default=str))
    except ValidationError as error:
        faults = "; ".join(_fault(dict(item)) for item in error.errors())
        raise UsageError(f"{where}: {faults}") from error


def _fault(error: Mapping[str, Any]) -> str:
    """Return an error of pydantic with its place: ``class 2, gaps, p: …``."""
    place = error["loc"][:4]
    if len(place) > 1 and place[0] == "classes":
        place = (f"class {place[1] + 1}", *place[2:])
    shown = repr(error["input"])
    given = "" if len(shown) > 80 or error["type"] == "missing" else f" (it is {shown})"
    message = error["msg"].removeprefix("Value error, ")
    return f"{', '.join(map(str, place))}: {message}{given}".removeprefix(": ")


def _text(value: object) -> str:
    if isinstance(value, FittedDistribution):
        parts = ((key.name, getattr(value, key.name)) for key in fields(value))
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

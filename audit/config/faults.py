"""Faults of TOML files in words: their key path, what is wrong, and the nearest valid key."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from audit.errors import ConfigError
from audit.words import plural

Section = TypeVar("Section", bound=BaseModel)


def validated(root: type[Section], content: Mapping[str, Any], where: str) -> Section:
    """Return the section of a file; ConfigError lists all that is wrong by key path."""
    try:
        return root.model_validate(tuples(content))
    except ValidationError as error:
        lines = [f"  {in_words(dict(item), root)}" for item in error.errors()]
        # without its cause, which repeats the input, perhaps a password in the wrong place
        raise ConfigError(f"{where}: {plural(len(lines), 'fault')}:\n" + "\n".join(lines)) from None


def tuples(value: Any) -> Any:
    """Return arrays as tuples, which frozen sections hold."""
    if isinstance(value, dict):
        return {key: tuples(item) for key, item in value.items()}
    return tuple(tuples(item) for item in value) if isinstance(value, list) else value


def in_words(error: dict[str, Any], root: type[BaseModel]) -> str:
    """Return an error of pydantic as a line for the user; ``root`` is the section of the file."""
    path = [part for part in error["loc"] if part != "[key]"]
    key = _path(path)
    if error["type"] == "missing":
        return f"{key}: is missing"
    if error["type"] == "extra_forbidden":
        if path == ["mail", "password"]:
            return (
                f"{key}: a password must not be in this file; name the environment variable "
                "(mail.password_env) or the private file (mail.password_file) that holds it"
            )
        *parents, last = path
        known = _keys(parents, root)
        near = difflib.get_close_matches(str(last), known, n=1, cutoff=0.5)
        hint = f"did you mean {_path([*parents, *near])}?" if near else f"known: {', '.join(known)}"
        return f"{key}: no such key; {hint}"
    if error["type"] == "tuple_type":
        table = ".".join(part for part in path if isinstance(part, str))
        as_list = f"[[{table}]]" if isinstance(error["input"], dict) else "[ ] around its values"
        return f"{key}: must be a list; write {as_list}"
    message = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "model_type":
        last, keys = key.rpartition(".")[2], ", ".join(_keys(path, root))
        message = f"must be a table; write {last} = {{ … }} with its keys: {keys}"
    if not path:  # a fault of several sections, whose message names the keys
        return message
    shown = repr(error["input"])
    # a section or a value that is not a host may contain a password; an address to ping is a secret
    secret = path[:2] in (["mail", "host"], ["service", "ping"], ["service", "ping_by_cluster"])
    tell = len(shown) < 80 and not isinstance(error["input"], dict | None) and not secret
    return f"{key}: {message}" + (f" (it is {shown})" if tell else "")


def _path(parts: Sequence[Any]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".") or "the file"


def _keys(parents: Sequence[Any], root: type[BaseModel]) -> list[str]:
    section = root
    for parent in parents:
        if not isinstance(parent, int):
            section = _section(section.model_fields[parent].annotation) or section
    return [of.alias or name for name, of in section.model_fields.items()]


def _section(annotation: Any) -> type[BaseModel] | None:
    """Return the section in an annotation such as ``tuple[Pool, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_section, get_args(annotation))), None)

"""config.toml as text: one cluster's values among the comments of the shipped file.

The comments have one home, the shipped config.toml. It is read as its test reads it: blank lines
part its sections, and in each of them comments stand above their key, which may itself be commented
out where it has no default.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from pydantic import BaseModel

from audit import config, resources
from audit.config.toml import escaped, value

WIDTH: Final = 100
"""Lines are not longer, where that can be."""

_SECTION = re.compile(r"(\[+)([\w.]+)\]+")
_KEY = re.compile(r"(?:# )?(\w+) = .*")


def text(cluster: config.Cluster, notes: Mapping[str, str] | None = None) -> str:
    """The text of a config.toml with one cluster, which ``config.load`` reads as that.

    Args:
        cluster: what takes the place of the shipped file's own; its other examples are commented
            out.
        notes: what to say above a key besides, by key path (``clusters.pools[0].capacity``).
    """
    shipped = resources.path("config.toml").read_text(encoding="utf-8")
    paragraphs = [list(lines) for filled, lines in groupby(shipped.split("\n"), bool) if filled]
    parts = [_section(lines, cluster, notes or {}) for lines in paragraphs]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _section(lines: list[str], cluster: config.Cluster, notes: Mapping[str, str]) -> list[str]:
    """One paragraph of the shipped file, with what it says of its cluster replaced."""
    heads = [index for index, line in enumerate(lines) if _SECTION.fullmatch(line)]
    if not heads:
        return lines
    (head,) = heads
    match = _SECTION.fullmatch(lines[head])
    assert match is not None
    brackets, path = match.groups()
    top, *rest = path.split(".")
    if top != "clusters":
        return lines if brackets == "[" else _commented(lines)  # an example
    content: Any = cluster
    for name in rest:
        content = getattr(content, name)
    if isinstance(content, BaseModel):
        return [*lines[: head + 1], *_keys(lines[head + 1 :], content, path, notes)]
    if not content:
        return _commented(lines)
    filled = lines[:head]
    for index, entry in enumerate(content):
        filled += [""] if index else []
        keys = _keys(lines[head + 1 :], entry, f"{path}[{index}]", notes, explained=not index)
        filled += [lines[head], *keys]
    return filled


def _keys(
    lines: Sequence[str],
    section: BaseModel,
    path: str,
    notes: Mapping[str, str],
    *,
    explained: bool = True,
) -> Iterator[str]:
    """The lines of a section's keys; where they are not to be explained, those that say something.

    A key that the shipped file comments out stays so while it has its default.
    """
    fields = type(section).model_fields
    comment: list[str] = []
    rest = iter(lines)
    for line in rest:
        match = _KEY.fullmatch(line)
        if match is None or match[1] not in fields:
            comment.append(line)
            continue
        key = match[1]
        shown = [line, *_rest_of_example(line, rest)]
        if explained:
            yield from comment
        comment = []
        yield from _note(notes.get(f"{path}.{key}", ""))
        chosen = getattr(section, key)
        default = fields[key].get_default(call_default_factory=True)
        if chosen is None or (line.startswith("#") and chosen == default):
            if explained:
                yield from _commented(shown)
        else:
            yield from _entry(key, chosen)


def _rest_of_example(line: str, rest: Iterator[str]) -> Iterator[str]:
    """What follows the first line of a list that has several, as an example may."""
    if line.endswith("["):
        for following in rest:
            yield following
            if following in ("]", "# ]"):
                return


def _entry(key: str, chosen: Any) -> Iterator[str]:
    line = f"{key} = {value(chosen)}"
    if isinstance(chosen, tuple) and len(line) > WIDTH:
        yield f"{key} = ["
        for item in chosen:
            yield f"    {value(item)},"
        yield "]"
    else:
        yield line


def _note(note: str) -> list[str]:
    plain = "".join(letter if letter.isprintable() else escaped(letter) for letter in note)
    return textwrap.wrap(
        plain,
        WIDTH,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _commented(lines: Sequence[str]) -> list[str]:
    return [line if line.startswith("#") else f"# {line}" for line in lines]

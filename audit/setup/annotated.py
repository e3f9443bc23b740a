"""The text of a config.toml: one cluster's values with the comments of the shipped file.

The shipped config.toml is parsed by its form: blank lines separate its sections, comments are above
their key, and keys without a default are commented out.
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
"""Maximum length of a line, where possible."""

_SECTION = re.compile(r"(\[+)([\w.]+)\]+")
_KEY = re.compile(r"(?:# )?(\w+) = .*")


def text(cluster: config.Cluster, notes: Mapping[str, str] | None = None) -> str:
    """Return the text of a config.toml with this cluster; other examples are commented out.

    ``notes`` are further comments by key path (``clusters.pools[0].capacity``).
    """
    shipped = resources.path("config.toml").read_text(encoding="utf-8")
    paragraphs = [list(lines) for filled, lines in groupby(shipped.split("\n"), bool) if filled]
    parts = [_section(lines, cluster, notes or {}) for lines in paragraphs]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _section(lines: list[str], cluster: config.Cluster, notes: Mapping[str, str]) -> list[str]:
    """Return a paragraph of the shipped file with the values of the cluster."""
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
    above, title, below = lines[:head], lines[head], lines[head + 1 :]
    if isinstance(content, BaseModel):
        return [*above, title, *_keys(below, content, path, notes)]
    if not content:
        return _commented(lines)
    filled = above
    for index, entry in enumerate(content):
        keys = _keys(below, entry, f"{path}[{index}]", notes, explained=not index)
        filled += [*([""] if index else []), title, *keys]
    return filled


def _keys(
    lines: Sequence[str],
    section: BaseModel,
    path: str,
    notes: Mapping[str, str],
    *,
    explained: bool = True,
) -> Iterator[str]:
    """Yield the lines of a section; without explanations, only those with values.

    Keys that are commented out in the shipped file stay so while they have their default.
    """
    fields = type(section).model_fields
    comment: list[str] = []
    rest = iter(lines)
    for line in rest:
        match = _KEY.fullmatch(line)
        if match is None or match[1] not in fields:
            comment.append(line)
            continue
        key, shown = match[1], [line]
        while shown[0].endswith("[") and shown[-1] not in ("]", "# ]"):  # a list on several lines
            shown.append(next(rest))
        if explained:
            yield from comment
        comment = []
        yield from _note(notes.get(f"{path}.{key}", ""))
        chosen = getattr(section, key)
        default = fields[key].get_default(call_default_factory=True)
        if chosen is not None and not (line.startswith("#") and chosen == default):
            yield from _entry(key, chosen)
        elif explained:
            yield from _commented(shown)


def _entry(key: str, chosen: Any) -> list[str]:
    line = f"{key} = {value(chosen)}"
    if isinstance(chosen, tuple) and len(line) > WIDTH:
        return [f"{key} = [", *(f"    {value(item)}," for item in chosen), "]"]
    return [line]


def _note(note: str) -> list[str]:
    plain = "".join(letter if letter.isprintable() else escaped(letter) for letter in note)
    wrapper = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False)
    wrapper.initial_indent = wrapper.subsequent_indent = "# "
    return wrapper.wrap(plain)


def _commented(lines: Sequence[str]) -> list[str]:
    return [line if line.startswith("#") else f"# {line}" for line in lines]

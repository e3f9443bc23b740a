"""Sentences with slots: texts whose figures each have a key.

A key is figure and subject, such as ``typical wait of all``. Page one shows each key once.
"""

import string
from collections.abc import Iterator
from typing import Final, NamedTuple

from audit.report import wording

_FORMATTER: Final = string.Formatter()


class Slot(NamedTuple):
    """A text that fills a phrase."""

    text: str
    key: str = ""  # of a figure
    href: str = ""  # where the page links to
    code: bool = False  # whether it is a command or a name in a file


class Sentence(NamedTuple):
    """A text of page one, in parts."""

    parts: tuple[Slot, ...]

    @property
    def text(self) -> str:
        """The text without links; an interval does not break, so it has no-break spaces."""
        return "".join(part.text for part in self.parts)

    @property
    def plain(self) -> str:
        """The text for terminals and mails."""
        return self.text.replace("\u00a0", " ")

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __add__(self, other: "Sentence") -> "Sentence":  # type: ignore[override]
        return Sentence(self.parts + other.parts)


NOTHING: Final = Sentence(())


def say(phrase: str, **slots: "Slot | Sentence | str") -> Sentence:
    """Return a phrase whose fields are filled; a field without a slot raises KeyError."""
    return Sentence(tuple(_parts(phrase, slots)))


def _parts(phrase: str, slots: "dict[str, Slot | Sentence | str]") -> Iterator[Slot]:
    for literal, field, _, _ in _FORMATTER.parse(phrase):
        if literal:
            yield Slot(literal)
        if field is None:
            continue
        filled = slots[field]
        if isinstance(filled, str):
            yield Slot(filled)
        elif isinstance(filled, Slot):
            yield filled
        else:
            yield from filled.parts


def figure(text: str, key: str) -> Sentence:
    """Return a figure on its own."""
    return Sentence((Slot(text, key),))


def upper(sentence: Sentence) -> Sentence:
    """Return a sentence that begins with an upper-case letter."""
    first, *rest = sentence.parts
    return Sentence((first._replace(text=wording.first_upper(first.text)), *rest))


def joined(*sentences: Sentence) -> Sentence:
    """Return sentences separated by spaces, without empty ones."""
    parts: list[Slot] = []
    for one in filter(None, sentences):
        parts += [Slot(" ")] if parts else []
        parts += one.parts
    return Sentence(tuple(parts))

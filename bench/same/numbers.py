"""The numbers that a person reads in a page, in reading order."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Final

NUMBER: Final = re.compile(r"(?<![\w.])[+−-]?\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
_UNSEEN: Final = frozenset({"script", "style", "template", "title", "desc"})
_LEFT_OUT: Final = frozenset({"query", "provenance"})
"""Classes of elements with names, SQL, hashes and the version, but no figure."""
_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "caption", "figcaption"})

Section = tuple[str, str]
"""The words a section begins with, which tell where it is, and its numbers."""


def numbers(text: str) -> list[str]:
    """The numbers in a text; digits that are a part of a name are none."""
    return NUMBER.findall(text)


def sections(page: str) -> list[Section]:
    """The numbers of an HTML page by section; one begins at each heading or caption."""
    reader = _Reader()
    reader.feed(page)
    return [(title, " ".join(found)) for title, found in reader.sections if found]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sections: list[tuple[str, list[str]]] = [("", [])]
        self._titled = True
        self._skipped: list[str] = []
        """The left-out element and those of the same name within it."""

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        classes = set((dict(attrs).get("class") or "").split())
        if self._skipped:
            self._skipped += [tag] if tag == self._skipped[0] else []
        elif tag in _UNSEEN or classes & _LEFT_OUT:
            self._skipped = [tag]
        elif tag in _HEADINGS:
            self._titled = False

    def handle_endtag(self, tag: str) -> None:
        if self._skipped and tag == self._skipped[0]:
            self._skipped.pop()

    def handle_data(self, data: str) -> None:
        if self._skipped or not data.strip():
            return
        if not self._titled:
            self.sections.append((" ".join(data.split()), []))
            self._titled = True
        self.sections[-1][1].extend(numbers(data))

"""The commands of docs/installation.md, as .ci/test-installation runs them.

``python -m tests.page_commands NAME`` prints the commands of a section, or of the block after
``<!-- alternative: NAME -->``.
"""

import re
import sys
from typing import Final, NamedTuple

from tests.places import ROOT

PAGE: Final = ROOT / "docs" / "installation.md"
_BLOCK: Final = re.compile(r"(?m)(?:^(?: {4}.*)?\n)*^ {4}.*\n")
_ALTERNATIVE: Final = re.compile(r"<!-- alternative: (\w+) -->\s*\Z")


class Block(NamedTuple):
    """Consecutive commands of a page."""

    section: str
    alternative: str | None  # its name, if the page offers the commands instead of others
    commands: str


def blocks(text: str) -> list[Block]:
    """Return the indented blocks of a page in order."""
    found = []
    for block in _BLOCK.finditer(text):
        before = text[: block.start()]
        section = re.findall(r"(?m)^#+ (.*)$", before)[-1]
        other = _ALTERNATIVE.search(before)
        commands = re.sub(r"(?m)^ {4}", "", block[0]).strip() + "\n"
        found.append(Block(section, other and other[1], commands))
    return found


def sections(text: str) -> dict[str, str]:
    """Return the commands by name: of each section, and of each alternative."""
    found: dict[str, str] = {}
    for block in blocks(text):
        name = block.alternative or block.section
        found[name] = found.get(name, "") + block.commands
    return found


if __name__ == "__main__":
    sys.stdout.write(sections(PAGE.read_text(encoding="utf-8"))[sys.argv[1]])

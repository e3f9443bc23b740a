"""Pages of single users and accounts: which are made, written, and removed."""

import dataclasses
import difflib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from audit import json_answers
from audit.config import Config, places
from audit.errors import ReportError, UsageError
from audit.files import replace
from audit.model import OBSERVED
from audit.progress import printable
from audit.report.contents import Contents, Who
from audit.report.owner import build, page
from audit.report.owner.card import card
from audit.report.place import named
from audit.report.render import identity
from audit.store import queries
from audit.store.database import Connection

_CARD = ".json"
"""Suffix of the card beside a page."""


def with_pages(contents: Contents, config: Config, also: Sequence[Who]) -> Contents:
    """Return a report with links to the pages of ``also`` and of entities that it names.

    The pages are beside it.
    """
    chosen = config.report.owner_pages == "named" and not contents.brief
    pages = tuple(dict.fromkeys((*also, *(named(contents) if chosen else ()))))
    options = dataclasses.replace(contents.options, pages=pages)
    return dataclasses.replace(contents, options=options)


def write(
    con: Connection,
    config: Config,
    contents: Contents,
    owners: Sequence[Who],
    folder: Path,
    *,
    linked: bool,
) -> tuple[Path, ...]:
    """Write a page for each of ``owners`` into a folder, and return the files.

    Users also get a card if the configuration says so. ``linked`` pages link to the report in that
    folder. Raises OSError if a file cannot be written.
    """
    shared, files = config.output.shared_with_group, []
    for made in build.build(con, contents, owners):
        files.append(folder / made.who.file)
        html = page.render_html(made, linked=linked).encode()
        replace.write(files[-1], html, alone=True, with_group=shared)
        if config.report.owner_cards and made.who.kind == "user":
            files.append(files[-1].with_suffix(_CARD))
            json = json_answers.written(card(made)).encode()
            replace.write(files[-1], json, alone=True, with_group=shared)
    return tuple(files)


def remove_others(folder: Path, kept: Sequence[Path]) -> None:
    """Remove pages and their cards from a report's folder, except ``kept``; no other files."""
    for page_ in found(folder):
        for file in {page_, page_.with_suffix(_CARD)} - set(kept):
            file.unlink(missing_ok=True)


def found(folder: Path) -> dict[Path, Who]:
    """Return the pages in the folder of a report, and their users and accounts; no other files."""
    pages = {}
    for file in sorted(file for pattern in places.OWNER_PAGES for file in folder.glob(pattern)):
        with suppress(ReportError, OSError):
            claim = identity.read(file.read_bytes())
            if claim.owner is not None:
                pages[file] = claim.owner
    return pages


class EntityNames:
    """The users and accounts in a log; ``of`` has those of each attempt."""

    def __init__(self, of: Iterable[tuple[str | None, str | None]]) -> None:
        pairs = frozenset(of)
        self._of = {
            "user": {user for user, _ in pairs if user is not None},
            "account": {account for _, account in pairs if account is not None},
        }

    def __contains__(self, who: Who) -> bool:
        """Return whether the log has this user or account."""
        return who.name in self._of[who.kind]

    def nearest(self, who: Who) -> str | None:
        """Return the most similar name in the log, if any is similar."""
        near = difflib.get_close_matches(who.name, sorted(self._of[who.kind]), n=1)
        return near[0] if near else None

    def require(self, owners: Sequence[Who]) -> None:
        """Raise UsageError if the log lacks one of these."""
        for who in owners:
            if who not in self:
                known = f"the log names {len(self._of[who.kind]):,} {who.kind}s, but not this one"
                raise UsageError(f"--{who.kind} {printable(who.name)}: {known}")


def names(con: Connection, cluster: str) -> EntityNames:
    """Return the users and accounts of a cluster in a database."""
    return EntityNames(queries.rows(con, "owner/names", cluster=cluster, schedule=OBSERVED))

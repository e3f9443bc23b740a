"""The pages of single users and accounts: whose are made, written, and removed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from audit.config import Config
from audit.errors import ReportError, UsageError
from audit.files import privacy
from audit.files.replace import drafting
from audit.model import OBSERVED
from audit.progress import printable
from audit.report.judgement.owners import named
from audit.report.owner import build
from audit.report.record.page import OWNER_PAGES, Contents, Who
from audit.report.render import identity
from audit.report.render import owner as page
from audit.store import queries
from audit.store.database import Connection


def with_pages(contents: Contents, config: Config, asked: Sequence[Who]) -> Contents:
    """A report that leads to the pages that lie beside it.

    Args:
        contents: the report.
        config: ``report.owner_pages`` says whether those whom it names have one.
        asked: those who have one in any case.
    """
    chosen = config.report.owner_pages == "named" and not contents.brief
    pages = tuple(dict.fromkeys((*asked, *(named(contents) if chosen else ()))))
    return replace(contents, options=replace(contents.options, pages=pages))


def write(
    con: Connection,
    config: Config,
    contents: Contents,
    owners: Sequence[Who],
    folder: Path,
    *,
    linked: bool,
) -> tuple[Path, ...]:
    """Writes a page for each of ``owners`` into a folder, for what was there.

    Args:
        con: a store with the period's figures.
        config: the configuration in force.
        contents: the report on the period.
        owners: whose pages.
        folder: where they go.
        linked: whether the report lies there too.

    Raises:
        OSError: a file cannot be written.
    """
    files = []
    for made in build.build(con, contents, owners):
        file = folder / made.who.file
        with drafting(file, alone=True) as draft:
            draft.write_bytes(page.render_html(made, linked=linked).encode())
            privacy.share(draft, with_group=config.output.shared_with_group)
        files.append(file)
    return tuple(files)


def remove_others(folder: Path, kept: Sequence[Path]) -> None:
    """Removes pages that are not of the report beside them; of other files none.

    Args:
        folder: that of a report.
        kept: the pages that are.

    Raises:
        OSError: a file cannot be removed.
    """
    for file in found(folder).keys() - {*kept}:
        file.unlink(missing_ok=True)


def found(folder: Path) -> dict[Path, Who]:
    """The pages of users and accounts in the folder of a report, and whose; no other files."""
    pages = {}
    for file in sorted(file for pattern in OWNER_PAGES for file in folder.glob(pattern)):
        with suppress(ReportError, OSError):
            claim = identity.read(file.read_bytes())
            if claim.owner is not None:
                pages[file] = claim.owner
    return pages


class Names:
    """The users and accounts that a log names."""

    def __init__(self, of: Iterable[tuple[str | None, str | None]]) -> None:
        """Of user and account of each attempt, or of those that differ."""
        pairs = frozenset(of)
        self._of = {
            "user": {user for user, _ in pairs if user is not None},
            "account": {account for _, account in pairs if account is not None},
        }

    def __contains__(self, who: Who) -> bool:
        """Whether the log names somebody so."""
        return who.name in self._of[who.kind]

    def nearest(self, who: Who) -> str | None:
        """The name that is most like one that the log does not have; None: none is."""
        near = difflib.get_close_matches(who.name, sorted(self._of[who.kind]), n=1)
        return near[0] if near else None

    def require(self, owners: Sequence[Who]) -> None:
        """Refuses those whom it does not name.

        Raises:
            UsageError: there is one.
        """
        for who in owners:
            if who not in self:
                raise UsageError(
                    f"--{who.kind} {printable(who.name)}: the log names "
                    f"{len(self._of[who.kind]):,} {who.kind}s, none of them so"
                )


def names(con: Connection, cluster: str) -> Names:
    """Those of a database."""
    return Names(queries.rows(con, "owner_names", cluster=cluster, schedule=OBSERVED))

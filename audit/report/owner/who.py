"""Whose page it is: known to all who speak of pages, whatever these hold."""

from typing import Final, NamedTuple

from audit.config import places

FILES: Final = ("user-*.html", "account-*.html")
"""What pages are called."""


class Who(NamedTuple):
    """A user or an account."""

    kind: str  # user | account
    name: str

    @property
    def file(self) -> str:
        """What the page's file is called, whatever the name is: ``user-3.html``."""
        return f"{places.file_name(f'{self.kind}-{self.name}')}.html"

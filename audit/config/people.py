"""Who belongs to which group and account, and whether names are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field

from audit.config.pools import Pool
from audit.config.sections import Fault, Section
from audit.config.usage import Usage

PREFIXES: Final = {"user": "u", "account": "a", "group": "g", "reservation": "r"}
"""Columns that may hold pseudonyms, and the letter that those of each begin with."""
DIGITS: Final = 12

Column = Literal["user", "account", "group", "reservation"]


class People(Section):
    """Who belongs where, and whether names are kept."""

    file: str | None = Field(default=None, min_length=1)
    replace: bool = False
    key_file: str | None = Field(default=None, min_length=1)
    pseudonyms: tuple[Column, ...] = Field(default=("user", "account", "group"), min_length=1)

    @property
    def hidden(self) -> tuple[Column, ...]:
        """Columns in which names give way to pseudonyms, in an order of their own."""
        return () if self.key_file is None else tuple(sorted(set(self.pseudonyms)))


def faults(people: People, usage: Usage, pools: tuple[Pool, ...]) -> Iterator[Fault]:
    """Names in a cluster's configuration that no record will have, as records have pseudonyms."""
    if not people.hidden:
        return
    if usage.associations is not None and {"user", "account"} & set(people.hidden):
        yield Fault(
            ("usage", "associations"),
            "holds names, and records have pseudonyms (people.key_file): use usage.shares",
            usage.associations,
        )
    for where, column, name in _named(usage, pools):
        if column in people.hidden and not is_pseudonym(column, name):
            yield Fault(
                where,
                f"is a name, and records have pseudonyms (people.key_file): 'fairaudit pseudonym "
                f"--{column} NAME' tells it",
                name,
            )


def is_pseudonym(column: str, name: str) -> bool:
    """Whether a name looks like a pseudonym of its column."""
    return re.fullmatch(rf"{PREFIXES[column]}-[0-9a-f]{{{DIGITS}}}", name) is not None


def _named(
    usage: Usage, pools: tuple[Pool, ...]
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Where, of which column, and what: each name of a user or an account."""
    for user in usage.users:
        yield ("usage", "users", user), "user", user
    for account in usage.accounts:
        yield ("usage", "accounts", account), "account", account
    for number, share in enumerate(usage.shares):
        where = ("usage", "shares", number)
        if share.account != "root":
            yield (*where, "account"), "account", share.account
        if share.parent not in (None, "root"):
            yield (*where, "parent"), "account", str(share.parent)
        if share.user is not None:
            yield (*where, "user"), "user", share.user
    for k, pool in enumerate(pools):
        for key, scopes in (("limits", pool.limits), ("windows", pool.windows)):
            for number, scope in enumerate(scopes):
                for column in ("user", "account"):
                    for name in getattr(scope, column) or ():
                        yield ("pools", k, key, number, column), column, name

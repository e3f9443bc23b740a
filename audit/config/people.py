"""Section [clusters.people]: groups and accounts of users, and pseudonyms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field

from audit.config.pools import Pool
from audit.config.sections import Fault, Section
from audit.config.usage import Usage

PREFIXES: Final = {"user": "u", "account": "a", "group": "g", "reservation": "r"}
"""Columns that can have pseudonyms, and the letter that these begin with."""
DIGITS: Final = 12

Column = Literal["user", "account", "group", "reservation"]


class People(Section):
    """Groups and accounts of users, and pseudonyms."""

    file: str | None = Field(default=None, min_length=1)
    replace: bool = False
    key_file: str | None = Field(default=None, min_length=1)
    pseudonyms: tuple[Column, ...] = Field(default=("user", "account", "group"), min_length=1)

    @property
    def hidden(self) -> tuple[Column, ...]:
        """The columns with pseudonyms, sorted."""
        return () if self.key_file is None else tuple(sorted(set(self.pseudonyms)))


def faults(people: People, usage: Usage, pools: tuple[Pool, ...]) -> Iterator[Fault]:
    """Yield the names in a cluster's configuration where records have pseudonyms."""
    if usage.associations is not None and {"user", "account"} & set(people.hidden):
        yield Fault(
            ("usage", "associations"),
            "contains names, but records have pseudonyms (people.key_file): use usage.shares",
            usage.associations,
        )
    for where, column, name in _named(usage, pools):
        if column in people.hidden and not is_pseudonym(column, name):
            yield Fault(
                where,
                "is a name, but records have pseudonyms (people.key_file): 'fairaudit pseudonym "
                f"--{column} NAME' prints it",
                name,
            )


def is_pseudonym(column: str, name: str) -> bool:
    """Whether a name has the form of a pseudonym of its column."""
    return re.fullmatch(rf"{PREFIXES[column]}-[0-9a-f]{{{DIGITS}}}", name) is not None


def _named(
    usage: Usage, pools: tuple[Pool, ...]
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield the key path, the column and the name of each user and account."""
    for key, column in (("users", "user"), ("accounts", "account")):
        for name in getattr(usage, key):
            yield ("usage", key, name), column, name
    for number, share in enumerate(usage.shares):
        for key, column in (("account", "account"), ("parent", "account"), ("user", "user")):
            name = getattr(share, key)
            if name is not None and (name != "root" or column == "user"):
                yield ("usage", "shares", number, key), column, name
    for k, pool in enumerate(pools):
        for key, scopes in (("limits", pool.limits), ("windows", pool.windows)):
            for number, scope in enumerate(scopes):
                for column in ("user", "account"):
                    for name in getattr(scope, column) or ():
                        yield ("pools", k, key, number, column), column, name

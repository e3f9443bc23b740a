"""Where a cluster's logs come from."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import Field, model_validator

from audit.config.sections import Section

PLACEHOLDERS = ("{from}", "{to}", "{from_epoch}", "{to_epoch}")
"""What in a source's command stands for the edges of the window of time that is asked for."""


class Source(Section):
    """Where a cluster's logs come from."""

    files: str | None = None
    command: tuple[str, ...] | None = None
    timeout_s: int = Field(default=600, ge=1)
    since: date | None = None
    window_days: int = Field(default=1, ge=1)
    overlap_days: int = Field(default=7, ge=0)
    environment: tuple[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], ...] = ()
    silent_days: float | None = Field(default=None, gt=0)
    dialect: str | None = None
    columns: tuple[str, ...] | None = None
    separator: str | None = Field(default=None, min_length=1)

    @property
    def in_windows(self) -> bool:
        """Whether its command is asked for one window of time after another."""
        return bool(self._placeholders)

    @property
    def _placeholders(self) -> set[str]:
        return {name for name in PLACEHOLDERS if any(name in word for word in self.command or ())}

    @model_validator(mode="after")
    def _one_kind(self) -> Source:
        if (self.files is None) == (self.command is None):
            raise ValueError("a source has either files or a command")
        if self.command is not None and not self.command:
            raise ValueError("a command has at least a program")
        faults = []
        edges = {name.strip("{}").split("_")[0] for name in self._placeholders}
        if len(edges) == 1:
            (edge,) = edges
            faults.append(
                f"a command with {{{edge}}} needs {{{'to' if edge == 'from' else 'from'}}}"
            )
        if edges and self.since is None:
            faults.append("since is missing: the first day that {from} and {to} shall ask for")
        if self.since is not None and not edges:
            faults.append("since is for a command with {from} and {to} among its words")
        if faults:
            raise ValueError("; ".join(faults))
        return self

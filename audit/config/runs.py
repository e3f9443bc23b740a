"""What a run takes in, when it runs, and what it keeps."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from audit.config.sections import Section


class Ingest(Section):
    """Taking logs in."""

    refused_limit: float = Field(default=0.05, ge=0.0, le=1.0)


def _times(value: str) -> str:
    """Five fields as in a crontab; the timetable (audit/nightly/timetable.py) reads them."""
    fields = value.split()
    if len(fields) != 5 or not all(re.fullmatch(r"[A-Za-z0-9*,/-]+", field) for field in fields):
        raise ValueError(
            'must be minute, hour, day, month and day of the week, such as "30 4 * * *"'
        )
    if re.search(r"(?<!/)\d", fields[4]):
        raise ValueError("days of the week are named here: mon, tue, wed, thu, fri, sat, sun")
    return value


class Service(Section):
    """When ``fairaudit service`` runs."""

    times: str = "30 4 * * *"
    by_cluster: dict[str, str] = Field(default={})
    overdue_s: int = Field(default=7200, ge=60)

    @field_validator("times")
    @classmethod
    def _five_fields(cls, value: str) -> str:
        return _times(value)

    @field_validator("by_cluster")
    @classmethod
    def _all_five_fields(cls, value: dict[str, str]) -> dict[str, str]:
        return {name: _times(text) for name, text in value.items()}


class Retention(Section):
    """What is kept; 0 keeps all."""

    reports: int = Field(default=0, ge=0)
    reports_days: int = Field(default=0, ge=0)
    runs_days: int = Field(default=400, ge=0)
    refused_days: int = Field(default=0, ge=0)
    compact: bool = True

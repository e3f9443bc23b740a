"""The database, what analysts may ask of it, what a report shows, and where all of it lies."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from audit.config.sections import MemoryAmount, Section
from audit.words import ARCHIVE


class Store(Section):
    """The database."""

    memory_limit: MemoryAmount = "512MB"


class Sql(Section):
    """Limits of ``fairaudit sql``."""

    timeout_s: int = Field(default=60, ge=1)
    memory_limit: MemoryAmount = "2GB"
    rows: int = Field(default=1000, ge=1)


class Report(Section):
    """What the report shows."""

    rows: int = Field(default=10, ge=1, le=100)
    examples: int = Field(default=3, ge=0, le=20)
    owner_pages: Literal["named", "asked"] = "named"
    pdf: bool = True
    pdf_timeout_s: int = Field(default=120, ge=1)
    pdf_memory_limit: MemoryAmount = "2GB"


class Output(Section):
    """Where ``fairaudit run`` keeps and puts things; relative to the configuration's folder."""

    state: str = "fairaudit-state"
    reports: str = "fairaudit-reports"
    database: str = "fairaudit.duckdb"
    archive: str = ARCHIVE
    shared_with_group: bool = False

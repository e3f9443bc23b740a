"""Whole audits with page one, and those of public logs: made once for all tests that read them."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from audit.config import Config
from audit.model import Period
from audit.oneoff.audit import AuditOptions, AuditResult, audit
from audit.pipeline.opening import LogRequest, Session
from audit.report.build import build
from audit.report.first_page.page import FirstPage
from audit.store.database import rows
from tests import stores
from tests.shared import once

Audited = tuple[AuditResult, FirstPage]

BRIEF: Final = {
    "simulation": {"budget_s": 1, "advice_budget_s": 0},
    "uncertainty": {"resamples": 1_000},
}


def page_of(outcome: AuditResult) -> FirstPage:
    with stores.published(outcome.database) as con:
        asked = "SELECT period, from_time, to_time FROM run WHERE stage = 'compute'"
        ((name, begin, end),) = rows(con, asked)
        return build(con, outcome.cluster, Period(name, begin, end)).first[0]


def audited(
    request: LogRequest, out: Path, *, fit: bool = False, pdf: bool = False, **options: Any
) -> Audited:
    settings = Config.model_validate(BRIEF)
    made = audit(Session(request, settings, fit=fit), AuditOptions(out=out, pdf=pdf, **options))
    return made, page_of(made)


def public(factory: pytest.TempPathFactory, log: Path, *, fit: bool = False) -> Audited:
    """The audit of a public log: its result and page one."""

    def make(out: Path) -> None:
        session = Session(LogRequest(logs=[log]), Config.model_validate(BRIEF), fit=fit)
        outcome = audit(session, AuditOptions(out=out, pdf=False))
        (out / "outcome").write_bytes(pickle.dumps(outcome))

    out = once(factory, f"audit-of-{log.name}-{fit}", make)
    outcome: AuditResult = pickle.loads((out / "outcome").read_bytes())
    html, database = out / outcome.html.name, out / outcome.database.name
    outcome = replace(outcome, html=html, database=database)
    return outcome, page_of(outcome)

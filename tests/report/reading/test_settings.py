"""What was in force when a period was computed reaches the report on it."""

import json

import polars as pl
import pytest

from audit.config import Metrics
from audit.model import Period
from audit.report.build import build
from audit.report.contents import Settings
from audit.report.reading.settings import settings_of
from audit.report.render import page as render
from audit.store import database
from audit.store.database import Connection

PERIOD = Period("2026-10", 1790805600, 1793487600)


def add_run(con: Connection, config: object) -> None:
    run = {
        "run_id": "run-1",
        "cluster": "demo",
        "period": PERIOD.name,
        "state": "done",
        "stage": "compute",
        "version": "0.1.0",
        "config": json.dumps(config),
        "config_hash": "c",
        "input_hash": "d",
    }
    database.insert(con, "run", pl.DataFrame([run]))


def test_settings_are_those_of_the_run(con: Connection) -> None:
    usage = {"method": "windows", "penalty": "max"}
    chosen = {"metrics": {"tau_s": 30}, "uncertainty": {"resamples": 200}}
    add_run(con, {"config": chosen, "cluster": {"usage": usage}})
    assert settings_of(con, "demo", PERIOD) == Settings(Metrics(tau_s=30), 200, usage, known=True)


@pytest.mark.parametrize("config", [None, {}, [], {"config": {"metrics": {"tau_s": "x"}}}])
def test_what_the_database_does_not_say_is_the_default(con: Connection, config: object) -> None:
    if config is not None:
        add_run(con, config)
    assert settings_of(con, "demo", PERIOD) == Settings()


def test_the_page_states_them(con: Connection) -> None:
    cluster = {"cluster": "demo", "zone": "Europe/Berlin", "notes": "[]"}
    database.insert(con, "clusters", pl.DataFrame([cluster]))
    metrics = {"tau_s": 30, "resource_equality_weights": "jobs"}
    add_run(con, {"config": {"metrics": metrics, "uncertainty": {"resamples": 200}}})
    page = render.render_html(build(con, "demo", PERIOD))
    assert "runs shorter than 30 s count as 30 s" in page
    assert "used / number of active attempts" in page
    assert "bootstrap intervals from 200 resamples" in page

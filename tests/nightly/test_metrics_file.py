"""Prometheus' text file: its format, its figures, hostile names, and a place that refuses it."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from audit.config.places import Site
from audit.nightly import metrics_file
from audit.nightly.run import run
from audit.registry.causes import CAUSES
from audit.store import database
from tests import stores
from tests.nightly.nights import after_a_night
from tests.nightly.test_run import DAY, NOW, published

LABEL = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
SERIES = re.compile(rf"([a-z_]+)(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.e+-]+)")


def series(text: str) -> dict[tuple[str, str], float]:
    """The values of a file by name and labels; each line must be of the format."""
    found = {}
    described: set[str] = set()
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if line.startswith("# "):
            described.add(line.split(" ")[2])
            continue
        match = SERIES.fullmatch(line)
        assert match is not None, line
        assert re.sub("_(bucket|sum|count)$", "", match[1]) in described
        found[match[1], match[2] or ""] = float(match[3])
    return found


def test_each_run_writes_the_figures_of_the_latest_report(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = after_a_night(tmp_path_factory, tmp_path)
    service = settings.service.model_copy(update={"metrics_file": "fair.prom"})
    run(Site(settings.model_copy(update={"service": service}), tmp_path), NOW + DAY)
    file = tmp_path / "fair.prom"
    assert file.stat().st_mode & 0o777 == 0o644
    found = series(file.read_text())
    assert found["fairaudit_last_run_timestamp_seconds", ""] == NOW + DAY
    assert found["fairaudit_last_run_failures", ""] == 0
    shares = {key: value for key, value in found.items() if key[0] == "fairaudit_wait_share"}
    stored = dict(published(tmp_path, "SELECT metric, value FROM summary WHERE dimension = 'all'"))
    assert stored["cause_rule_free_share"] is not None  # a part of rule, and no cause
    assert shares == {
        ("fairaudit_wait_share", f'cluster="c",pool="all",cause="{cause.key}"'): value
        for cause in CAUSES
        if (value := stored[cause.share]) is not None
    }
    assert sum(shares.values()) == pytest.approx(1)
    waits = {key[1]: value for key, value in found.items() if key[0] == "fairaudit_wait_seconds"}
    [(median, p90)] = published(
        tmp_path, "SELECT quantile_disc(wait_s, .5), quantile_disc(wait_s, .9) FROM job_fairness"
    )
    assert [value for key, value in waits.items() if 'quantile="0.5"' in key] == [median]
    assert [value for key, value in waits.items() if 'quantile="0.9"' in key] == [p90]
    assert {key.split("=")[0] for _, labels in found for key in re.findall(LABEL, labels)} == {
        *("cluster", "pool", "partition", "qos", "gpu_type"),
        *("quantile", "cause", "verdict", "le"),
    }


def test_no_user_and_no_account_is_named(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    after_a_night(tmp_path_factory, tmp_path)
    with closing(database.open_store(tmp_path / "fairaudit-state" / "store.duckdb")) as con:
        named = database.rows(
            con,
            "SELECT table_name, column_name FROM duckdb_columns() WHERE data_type = 'VARCHAR' "
            "AND column_name IN ('user', 'account', 'group', 'entity', 'parent') "
            "AND table_name IN (SELECT table_name FROM duckdb_tables())",
        )
        assert ("job_result", "user") in named
        for table, column in named:
            database.execute(con, f"UPDATE {table} SET \"{column}\" = 'secret'")
        text = metrics_file.text(con, NOW, 0)
    assert "fairaudit_wait_share" in text
    assert "secret" not in text


def test_names_cannot_leave_their_labels(tmp_path: Path) -> None:
    evil = 'a"} 1\nfairaudit_wait_seconds{x="\x1b\r\\'
    with closing(stores.new(tmp_path / "store.duckdb")) as con:
        database.execute(
            con,
            "INSERT INTO run VALUES ('', $1, 'a', 0, 9, 'report', '', 0, 0, '', '', '{}', '', '')",
            [evil],
        )
        text = metrics_file.text(con, 1, 0)
    found = series(text)
    assert text.replace("\n", "").isprintable()
    escaped = 'a\\"} 1\\\\nfairaudit_wait_seconds{x=\\"\\\\x1b\\\\r\\\\'
    assert found["fairaudit_period_end_timestamp_seconds", f'cluster="{escaped}"'] == 9
    assert [key[0] for key in found if "wait" in key[0]] == []


def test_a_file_that_cannot_be_replaced_is_a_failure_of_the_run(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = after_a_night(tmp_path_factory, tmp_path)
    service = settings.service.model_copy(update={"metrics_file": "none/fair.prom"})
    night = run(Site(settings.model_copy(update={"service": service}), tmp_path), NOW + DAY)
    assert [str(one) for one in night.failures] == [
        f"{tmp_path}/none/fair.prom: cannot be replaced: No such file or directory "
        "(service.metrics_file)"
    ]

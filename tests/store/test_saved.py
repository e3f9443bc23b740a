"""Saved queries: declarations match, and each returns rows."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from audit.errors import StoreError, UsageError
from audit.store import database, saved, selection, snapshots
from audit.store.database import Connection
from audit.store.grammar import Grammar
from tests.published import full
from tests.shared import once
from tests.stores import insert_history

NEEDED = {"user": "1"}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    con = snapshots.open_snapshot(once(tmp_path_factory, "full", full) / "fairaudit.duckdb")
    yield con
    con.close()


@cache
def grammar() -> Grammar:
    return Grammar()


def values_of(con: Connection, query: saved.Saved, given: dict[str, str]) -> dict[str, object]:
    needed = {
        parameter.name: NEEDED[parameter.name]
        for parameter in query.parameters
        if parameter.default is None
    }
    return saved.arguments(con, query, {**needed, **given})


def answer(con: Connection, name: str, **given: str) -> pl.DataFrame:
    query = saved.named(name)
    values = values_of(con, query, given)
    ((called,),) = database.rows(con, "SELECT current_database()")
    asked = selection.select(con, grammar(), selection.readable(con, called), query.sql, values)
    frame = selection.frame(con, asked, [f"c{n}" for n in range(len(asked.columns))], None)
    frame.columns = [column.name for column in asked.columns]
    return frame


@pytest.mark.parametrize("name", saved.every())
def test_declarations_match_and_every_query_returns_rows(published: Connection, name: str) -> None:
    query = saved.named(name)
    assert re.fullmatch(r"[A-Z].+\.", query.doc)
    declared = {parameter.name for parameter in query.parameters}
    assert database.named_parameters(published, query.sql) == declared
    found = answer(published, name)
    assert not found.is_empty()
    as_written = database.fetch(published, query.sql, values_of(published, query, {}))
    assert found.rows() == as_written.rows()  # DuckDB wrote the text that ran anew
    for parameter in query.parameters:  # each of them restricts what is found
        if parameter.default == "NULL":
            assert answer(published, name, **{parameter.name: "nobody's"}).is_empty()
        elif parameter.name == "top":
            assert answer(published, name, top="1").height <= max(1, found.height - 1)


def test_results_are_as_documented(published: Connection) -> None:
    misses = answer(published, "worst_treated")["miss_delivered_s"].drop_nulls().to_list()
    assert misses == sorted(misses, reverse=True)
    stuck = answer(published, "stuck", only="gave_up")
    assert stuck.select("job_id", "waited_s", "cause").rows() == [("9003", 50_000, "unavailable")]
    assert set(answer(published, "over_target")["entity"]) == {"1", "3"}
    gaps = answer(published, "coverage_gaps")
    assert set(gaps["state"]) == {"empty", "partial"}
    assert (gaps.filter(state="empty")["records"] == 0).all()
    refused = answer(published, "refused_by_reason")
    assert refused["first_text"].to_list() == ["this is no record"]
    hours = answer(published, "waits_by_hour", top="1")
    assert hours["hour"].n_unique() == hours.height
    classes = answer(published, "width_classes")
    assert classes["width_class"].to_list() == ["1", "2", "3-4"]
    assert (classes["missed_delivered"] <= classes["attempts"]).all()
    assert set(answer(published, "restated", metric="attempts")["new_value"]) >= {44.0}


def test_without_a_share_an_entity_is_not_over_target(store: Connection) -> None:
    """With fairshare=parent the view shows the share of the account."""
    rows = pl.DataFrame(
        {"entity": ["ann", "bob"], "share": [0.5, 0.5], "share_of_all": [0.1, None]},
    ).with_columns(
        usage_fraction=pl.lit(0.8), entity_kind=pl.lit("user"), as_of=pl.lit(86_400),
        cluster=pl.lit("c"), period=pl.lit("p"), method=pl.lit("slurm"), run_id=pl.lit("r"),
    )  # fmt: skip
    insert_history(store, rows)
    assert answer(store, "over_target")["entity"].to_list() == ["ann"]


def test_the_movers_of_a_user_are_its_siblings_and_those_of_its_accounts(store: Connection) -> None:
    """A tree: root has phys (ann, ben) and chem (cleo); two days, on which others used more."""
    places = [
        *(("account", "phys", None), ("account", "chem", None)),
        *(("user", "ann", "phys"), ("user", "ben", "phys"), ("user", "cleo", "chem")),
    ]
    hours = {"phys": (3, 4), "chem": (1, 5), "ann": (2, 1), "ben": (1, 3), "cleo": (1, 5)}
    rows = [
        {
            "entity_kind": kind,
            "entity": entity,
            "parent": parent,
            "as_of": 86_400 * (day + 1),
            "usage": 3600.0 * hours[entity][day],
            "usage_fraction": 0.5,
            "priority": 0.5 - day / 4,
            "cluster": "c",
            "period": "p",
            "method": "slurm",
            "run_id": "r",
        }
        for day in (0, 1)
        for kind, entity, parent in places
    ]
    insert_history(store, pl.DataFrame(rows))
    wanted = ["level", "account", "entity", "usage_before_hours", "usage_change_hours"]
    assert answer(store, "fairshare_movers", user="ann").select(wanted).rows() == [
        (1, "phys", "ben", 1.0, 2.0),
        (1, "phys", "ann", 2.0, -1.0),
        (2, None, "chem", 1.0, 4.0),
        (2, None, "phys", 3.0, 1.0),
    ]
    over = answer(store, "fairshare_of_user", user="ann")
    assert over["usage_change_hours"].to_list() == [None, -1.0]
    assert over["priority_change"].to_list() == [None, -0.25]
    late = answer(store, "fairshare_of_user", user="ann", since="1970-01-03")
    assert late["usage_change_hours"].to_list() == [-1.0]


def test_parameters_must_have_their_type(published: Connection) -> None:
    odd = "1' OR '1' = '1"
    assert answer(published, "jobs_of_user", user=odd).is_empty()
    query = saved.named("worst_treated")
    for given, said in (
        ({"top": "many"}, "parameter top of worst_treated: 'many' is not a BIGINT"),
        ({"tpo": "1"}, "no parameter 'tpo'; it has period, cluster, top"),
    ):
        with pytest.raises(UsageError, match=said):
            saved.arguments(published, query, given)
    with pytest.raises(UsageError, match="needs --param user=… \\(name of the user\\)"):
        saved.arguments(published, saved.named("jobs_of_user"), {})
    with pytest.raises(UsageError, match="did you mean 'worst_treated'"):
        saved.named("worst_treatd")


def test_a_wrong_declaration_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = tmp_path / "bad.sql"
    bad.write_text("-- It.\n-- $a\nSELECT $a\n")
    monkeypatch.setattr("audit.resources.files", lambda _folder, _suffix: [bad])
    saved.every.cache_clear()
    with pytest.raises(StoreError, match=r"bad\.sql:2: a parameter is declared as"):
        saved.every()
    saved.every.cache_clear()


def test_comments_say_where_a_value_is_missing(published: Connection) -> None:
    """Measures of attempts without start or end have this in the comment of their view."""
    columns = database.rows(
        published,
        "SELECT table_name, column_name, comment FROM duckdb_columns() "
        "WHERE comment IS NOT NULL AND NOT contains(comment, 'NULL') AND table_name IN "
        "(SELECT view_name FROM duckdb_views() WHERE NOT contains(comment, 'are NULL unless'))",
    )
    assert len(columns) > 100
    silent = [
        (view, column)
        for view, column, _ in columns
        if database.rows(published, f'SELECT 1 FROM {view} WHERE "{column}" IS NULL LIMIT 1')
    ]
    assert silent == []

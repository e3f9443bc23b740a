"""Numbered scripts that bring a store's tables up to this version, and the views on top."""

from __future__ import annotations

from audit import resources
from audit.errors import StoreError
from audit.store.database import Connection, execute, fetch, statements, transaction


def migrate(con: Connection) -> None:
    """Applies every script of ``sql/schema`` that the store has not seen, then renews the views.

    Each script runs in one transaction together with the record that it ran. Views hold no data:
    they are made anew each time, with their comments.

    Raises:
        StoreError: the store was made by a newer fairaudit, or a script fails (it is named).
    """
    execute(con, "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name VARCHAR)")
    done = set(fetch(con, "SELECT number FROM migrations").get_column("number").to_list())
    known: set[int] = set()
    for file in resources.files("sql/schema", ".sql"):
        number = int(file.stem.split("_")[0])
        known.add(number)
        if number not in done:
            with transaction(con):
                _run_script(con, file.name, file.read_text(encoding="utf-8"))
                execute(con, "INSERT INTO migrations VALUES (?, ?)", [number, file.name])
    if unknown := sorted(done - known):
        raise StoreError(
            f"this database has migration {unknown[-1]}, which this fairaudit does not know: "
            "it was made by a newer version; upgrade fairaudit"
        )
    with transaction(con):
        for file in resources.files("sql/views", ".sql"):
            _run_script(con, file.name, file.read_text(encoding="utf-8"))


def _run_script(con: Connection, name: str, script: str) -> None:
    for statement in statements(con, script):
        try:
            execute(con, statement)
        except StoreError as error:
            raise StoreError(f"sql {name}: {error}\n{statement.strip()}") from error

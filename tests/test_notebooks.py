"""The notebooks of docs/notebooks run on the database of the demo, and show what it has."""

import json
from pathlib import Path
from typing import Any

import pytest

from audit.__main__ import main
from audit.store import database
from bench.logs import demo_log
from tests import stores
from tests.places import ROOT
from tests.shared import once

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
CHARTS = {"waits-by-account": 1, "policy-change": 2, "one-user": 2}


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def test_notebooks_are_stored_without_results() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(CHARTS)
    for path in NOTEBOOKS:
        code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
        assert cells(path)[0]["source"][0].startswith("# ")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of an audit of a short demo log."""

    def make(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["demo_log", str(folder / "demo.swf"), "--jobs", "4000"])
            assert demo_log.main() == 0
            patch.chdir(folder)
            patch.setattr("sys.argv", ["fairaudit", "audit", "demo.swf", "--no-pdf"])
            with pytest.raises(SystemExit) as ended:
                main()
            assert ended.value.code in {0, None}

    return once(tmp_path_factory, "demo", make) / "fairaudit-out" / "audit.duckdb"


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_on_the_database_of_the_demo(
    path: Path, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient = pytest.importorskip("nbclient", reason="run `make extras`")
    import nbformat

    monkeypatch.setenv("FAIRAUDIT_DATABASE", str(demo))
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=300).execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == CHARTS[path.stem]
    texts = "\n".join(output.get("data", {}).get("text/plain", "") for output in outputs)
    with stores.published(demo) as con:
        if path.stem == "one-user":
            query = (
                "SELECT \"user\" FROM job_fairness WHERE schedule = 'observed' "
                'GROUP BY "user" ORDER BY sum(wait_s) DESC, "user" LIMIT 1'
            )
            [(user,)] = database.rows(con, query)
            assert repr(user) in texts
        elif path.stem == "policy-change":
            [(changes,)] = database.rows(con, "SELECT count(gain_s) FROM advice")
            assert f"shape: ({changes}, 10)" in texts
        else:
            [(accounts,)] = database.rows(con, "SELECT count(DISTINCT account) FROM job_fairness")
            assert f"shape: ({accounts}, 5)" in texts

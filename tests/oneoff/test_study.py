"""Studies that are interrupted and continued make the same as one run."""

import os
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from audit.config import Config, Uncertainty
from audit.errors import LockedError, UsageError
from audit.files import lock
from audit.metrics.draws import Draws
from audit.metrics.uncertainty import Resamples
from audit.oneoff import study as studies
from audit.oneoff.study import StudyPlan, StudyTarget
from audit.pipeline.opening import ClusterLog, LogRequest, Session
from audit.progress import OnProgress, silent
from audit.report.study.cells import StudyCell
from audit.store import database
from audit.studies import plans
from audit.workers.executors import Threads
from tests import stores
from tests.logs import line, log, write
from tests.studies import commands


def cell(key: str, did: list[str] | None = None) -> StudyCell:
    def compute() -> pl.DataFrame:
        if did is not None:
            did.append(key)
        return pl.DataFrame({"key": [key, None], "x": [0.1 * len(key), float("nan")]})

    return StudyCell(key, compute)


def test_frames_come_in_the_order_of_their_cells_whoever_computes_them(tmp_path: Path) -> None:
    cells = [cell("x" * k) for k in range(1, 9)]
    counts: list[int] = []
    made = studies.run_cells(
        cells, tmp_path / "a", "i", Threads(3), lambda what, done, of: counts.append(done)
    )
    assert [frame["key"][0] for frame in made] == [one.key for one in cells]
    assert counts == list(range(9))
    alone = studies.run_cells(cells, tmp_path / "b", "i")
    assert all(one.equals(other) for one, other in zip(made, alone, strict=True))
    assert not list(tmp_path.glob("*/*/.*"))


def test_finished_cells_are_taken_over_and_others_computed(tmp_path: Path) -> None:
    did: list[str] = []
    first = studies.run_cells([cell("a", did), cell("b", did)], tmp_path / "c", "i")
    again = studies.run_cells([cell("b", did), cell("c", did), cell("a", did)], tmp_path / "c", "i")
    assert did == ["a", "b", "c"]
    assert again[0].equals(first[1])
    assert again[2].equals(first[0])
    assert again[0].schema == first[1].schema
    studies.run_cells([cell("a", did)], tmp_path / "c", "another")
    studies.run_cells([cell("a", did)], tmp_path / "c", "i")
    assert did == ["a", "b", "c", "a", "a"]
    assert [folder.name for folder in (tmp_path / "c").iterdir()] == ["i"]


def test_a_damaged_cell_is_computed_anew(tmp_path: Path) -> None:
    did: list[str] = []
    first = studies.run_cells([cell("a", did)], tmp_path, "i")
    [kept] = (tmp_path / "i").iterdir()
    kept.write_bytes(kept.read_bytes()[:40])
    assert studies.run_cells([cell("a", did)], tmp_path, "i")[0].equals(first[0])
    assert did == ["a", "a"]


def test_two_cells_of_one_key_are_a_defect(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="same key"):
        studies.run_cells([cell("a"), cell("a")], tmp_path, "i")


def test_an_error_in_a_cell_ends_it_and_keeps_the_others(tmp_path: Path) -> None:
    def fail() -> pl.DataFrame:
        raise UsageError("no load")

    did: list[str] = []
    with pytest.raises(UsageError, match="no load"):
        studies.run_cells([cell("a", did), StudyCell("b", fail)], tmp_path, "i")
    studies.run_cells([cell("a", did)], tmp_path, "i")
    assert did == ["a"]


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_between_cells(tmp_path: Path, number: signal.Signals) -> None:
    did: list[str] = []
    stopping = threading.Event()

    def on_progress(what: str, done: int, of: int) -> None:
        if what == studies.STOPPING:
            stopping.set()

    def interrupted() -> pl.DataFrame:
        os.kill(os.getpid(), number)
        assert stopping.wait(30)  # reported while the cell is still computed
        return cell("b", did).compute()

    before = signal.getsignal(number)
    cells = [cell("a", did), StudyCell("b", interrupted), cell("c", did), cell("d", did)]
    with pytest.raises(KeyboardInterrupt):
        studies.run_cells(cells, tmp_path, "i", on_progress=on_progress)
    assert did == ["a", "b"]
    assert signal.getsignal(number) == before
    studies.run_cells([cell(key, did) for key in "abcd"], tmp_path, "i")
    assert did == ["a", "b", "c", "d"]


def test_it_runs_outside_the_main_thread_too(tmp_path: Path) -> None:
    made: list[pl.DataFrame] = []
    thread = threading.Thread(
        target=lambda: made.extend(studies.run_cells([cell("a")], tmp_path, "i"))
    )
    thread.start()
    thread.join()
    assert len(made) == 1


def test_the_identity_is_of_all_that_cells_depend_on() -> None:
    assert studies.identity("a", "b") == studies.identity("a", "b")
    assert len({studies.identity(*parts) for parts in (("a", "b"), ("ab",), ("b", "a"))}) == 3


# --- whole studies -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def job(k: int) -> str:
        size = {"run": 60 + 37 * k % 200, "allocated": 1 + k % 4}
        return line(k, submit=40 * k, wait=k % 7, walltime=400, user=k % 5, **size)

    path = tmp_path_factory.mktemp("logs") / "small.swf"
    return write(path, log(map(job, range(1, 61)), MaxProcs=4))


PLAN = plans.grid(loads=plans.loads("0.9"))
CHOSEN = Config(uncertainty=Uncertainty(resamples=100))


def conduct(
    swf: Path,
    out: Path,
    on_progress: OnProgress = silent,
    database: Path | None = None,
) -> None:
    target = StudyTarget(out, database, threads=1)
    studies.conduct(
        Session(LogRequest(logs=[swf]), CHOSEN, on_progress=on_progress), "grid", target, PLAN
    )


def content(out: Path) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes() for file in out.iterdir() if file.suffix in (".html", ".csv")
    }


def rows(path: Path) -> pl.DataFrame:
    return stores.fetch(path, "SELECT * FROM studies")


@pytest.fixture(scope="module")
def whole(swf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    conduct(swf, out)
    return out


@pytest.mark.thorough
def test_resumed_equals_uninterrupted(swf: Path, whole: Path, tmp_path: Path) -> None:
    def stop(what: str, done: int, of: int) -> None:
        if what == "computing" and done == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        conduct(swf, tmp_path, stop)
    assert content(tmp_path) == {}
    begun: list[int] = []
    conduct(
        swf, tmp_path, lambda what, done, of: begun.append(done) if what == "computing" else None
    )
    assert begun[0] >= 4
    assert begun[-1] == 11
    assert content(tmp_path) == content(whole)
    assert set(content(whole)) >= {"grid.html", "grid-verdicts.csv", "grid-figures.csv"}
    assert rows(tmp_path / "grid.duckdb").equals(rows(whole / "grid.duckdb"))


@pytest.mark.thorough
def test_the_database_holds_what_the_page_says(whole: Path) -> None:
    found = rows(whole / "grid.duckdb")
    assert found.select("study", "log", "pool").unique().rows() == [("grid", "small", "all")]
    table = pl.read_csv(whole / "grid-figures.csv")
    figures = found.filter(~pl.col("metric").str.starts_with("spearman"))
    assert figures["value"].to_list() == table["value"].to_list()


@pytest.mark.thorough
def test_results_go_beside_others_in_a_database_and_replace_their_own(
    swf: Path, whole: Path, tmp_path: Path
) -> None:
    base = tmp_path / "base.duckdb"
    shutil.copyfile(whole / "grid.duckdb", base)
    con = database.open_store(base)
    database.execute(con, "UPDATE study_result SET study = 'users' WHERE metric = 'wait_mean'")
    con.close()
    before = rows(base)
    conduct(swf, tmp_path / "out", database=base)
    after = rows(base)
    own = rows(whole / "grid.duckdb")
    assert after.filter(pl.col("study") == "grid").height == own.height
    assert after.filter(pl.col("study") == "users").equals(
        before.filter(pl.col("study") == "users")
    )
    assert not (tmp_path / "out" / "grid.duckdb").exists()


def test_one_run_at_a_time_in_a_folder(swf: Path, tmp_path: Path) -> None:
    with lock.held(tmp_path / "grid.html"), pytest.raises(LockedError, match="computing"):
        conduct(swf, tmp_path)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (plans.grid("gpu"), "--pool gpu: no such pool; there is: all"),
        (plans.grid(attempts=1), "no load: 1 attempt, and a load needs at least two arrivals"),
    ],
)
def test_impossible_studies_are_refused_at_once(
    swf: Path, tmp_path: Path, plan: Callable[[ClusterLog, Draws], StudyPlan], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        studies.conduct(
            Session(LogRequest(logs=[swf]), Config()), "grid", StudyTarget(tmp_path), plan
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "0", "0.8,x", "-1", "11", "1/0"])
def test_a_load_is_a_share_of_the_capacity(text: str) -> None:
    with pytest.raises(UsageError, match=r"--loads: '.*' is not a load; give shares"):
        plans.loads(text)


@pytest.mark.thorough
def test_the_command(
    swf: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[uncertainty]\nresamples = 100\n")
    out = tmp_path / "out"
    given = ["experiment", "grid", str(swf), "--loads", "0.9", "--out", str(out)]
    assert commands.run(*given, "--config", config) == 0
    said = capsys.readouterr()
    result, page, *_, database = said.out.splitlines()
    assert "Of the 7 conclusions of [S], 2 do not hold" in result
    assert (page, database) == (str(out / "grid.html"), str(out / "grid.duckdb"))
    assert "capacity of pool 'all'" in said.err
    assert content(out) == content(whole)
    assert commands.run(*given, "--widest", "100") == 2
    assert "--widest 100: give a power of two" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["experiment", "grid"], "100 of 5"),
        (["experiment", "users"], "100 resamples of users"),
        (["experiment", "sensitivity"], "100 resamples of users (of days"),
        (["experiment", "workload"], "100 resamples of days"),
        (["whatif"], "100 paired resamples of users"),
    ],
)
def test_every_study_draws_the_configured_number_of_resamples(
    command: list[str], text: str, swf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []

    def draw(units: int, seed: int, number: int) -> Resamples:
        drawn.append(number)
        return Resamples(units, seed, number)

    monkeypatch.setattr("audit.metrics.draws.Resamples", draw)
    config = tmp_path / "config.toml"
    config.write_text("[uncertainty]\nresamples = 100\n")
    more = {"grid": ["--loads", "0.9"], "whatif": ["--order", "sjf"]}.get(command[-1], [])
    assert commands.run(*command, swf, *more, "--out", tmp_path, "--config", config) == 0
    assert text in (tmp_path / f"{command[-1]}.html").read_text("utf-8")
    assert set(drawn) == {100}

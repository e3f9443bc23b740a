"""A run that finds nothing new: it looks at little, and misses nothing that is to be done."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from audit import config
from audit.config.places import Site
from audit.errors import UsageError
from audit.nightly.run import run
from audit.nightly.stages import Night, require_own_outputs
from audit.store import database, queries
from tests.cli.command import HEAVY, loaded
from tests.logs import write
from tests.nightly.nights import after_a_night
from tests.nightly.test_run import FIGURES, NOW, month, published, site
from tests.shared import once

ASSOCIATIONS = """Cluster|Account|User|Partition|Share|ParentName|GrpTRESMins
c|root|||1||
c|a|||1|root|
c|a|{user}||1||
"""
CONFIG = """
uncertainty.resamples = 100
report.pdf = false
[mail]
via = "outbox"
outbox = "mail"
sender = "fairaudit@site.example"
domains = ["site.example"]
[[recipients]]
addresses = ["ada@site.example"]
attach = []
charts = false
[[clusters]]
name = "c"
zone = "Europe/Berlin"
[[clusters.sources]]
files = "logs/*.swf"
"""


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Which queries that read a lot were run since the last call."""
    asked: list[str] = []
    for runner in ("run", "run_for"):
        run_query = getattr(queries, runner)

        def noted(
            con: database.Connection,
            name: str,
            /,
            *columns: Sequence[str],
            run_query: Callable[..., object] = run_query,
            **arguments: object,
        ) -> object:
            asked.append(name)
            return run_query(con, name, *columns, **arguments)

        monkeypatch.setattr(queries, runner, noted)

    def since() -> list[str]:
        found = [name for name in asked if name in ("attempts", "unreported")]
        asked.clear()
        return found

    return since


def test_where_nothing_is_new_no_attempt_is_read(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, busy: Callable[[], list[str]]
) -> None:
    settings = after_a_night(tmp_path_factory, tmp_path)
    busy()
    assert run(Site(settings, tmp_path), NOW + 99) == Night()
    assert busy() == []
    assert run(Site(settings, tmp_path), NOW, "2026-01") == Night()  # asked for a period, it looks
    assert busy() == ["attempts"]


def _a_computed_period_gone(folder: Path) -> None:
    with database.open_store(folder / "fairaudit-state" / "store.duckdb") as con:
        con.execute("DELETE FROM run WHERE period = '2026-01'")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a computed period gone": _a_computed_period_gone,
    "history gone": lambda folder: (folder / "fairaudit-state" / "history.sqlite").unlink(),
    "store gone": lambda folder: (folder / "fairaudit-state" / "store.duckdb").unlink(),
    "another share": lambda at: write(at / "assoc.txt", ASSOCIATIONS.format(user="ada")),
    "no shares": lambda folder: (folder / "assoc.txt").unlink(),
}


def _with_shares(folder: Path) -> config.Config:
    return site(folder, usage={"associations": "assoc.txt"})


def _night_with_shares(folder: Path) -> None:
    write(folder / "assoc.txt", ASSOCIATIONS.format(user="bob"))
    settings = _with_shares(folder)
    write(folder / "logs" / "1.swf", month(0))
    assert run(Site(settings, folder), NOW, stages=FIGURES).computed == ["c 2026-01"]


@pytest.mark.thorough
@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_is_looked_at(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    busy: Callable[[], list[str]],
    change: str,
) -> None:
    night = once(tmp_path_factory, "night-with-shares", _night_with_shares)
    shutil.copytree(night, tmp_path, dirs_exist_ok=True)
    where = Site(_with_shares(tmp_path), tmp_path)
    run(where, NOW, stages=FIGURES)
    busy()
    CHANGES[change](tmp_path)
    again = run(where, NOW, stages=FIGURES)
    assert busy() == ([] if change == "no shares" else ["attempts"])
    assert bool(again.computed) == (change not in ("history gone", "no shares"))
    assert bool(again.failures) == (change == "no shares")


def test_a_changed_setting_is_looked_at(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, busy: Callable[[], list[str]]
) -> None:
    first = after_a_night(tmp_path_factory, tmp_path)
    busy()
    changed = first.model_copy(update={"metrics": config.Metrics(tau_s=60)})
    assert run(Site(changed, tmp_path), NOW, stages=FIGURES).computed == ["c 2026-01"]
    assert busy() == ["attempts"]


def test_other_bounds_of_the_verdict_make_the_reports_anew(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = after_a_night(tmp_path_factory, tmp_path)
    (page,) = (tmp_path / "fairaudit-reports").glob("*/*/report.html")
    before = page.read_bytes()
    strict = first.model_copy(update={"verdict": config.VerdictConfig(few_jobs=1000)})
    again = run(Site(strict, tmp_path), NOW + 1)
    assert (again.computed, len(again.reports)) == ([], 1)
    assert again.published
    assert page.read_bytes() != before
    assert run(Site(strict, tmp_path), NOW + 2) == Night()


def test_an_empty_log_is_published_as_set_aside(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = after_a_night(tmp_path_factory, tmp_path)
    empty = write(tmp_path / "logs" / "2.swf", "")
    aside = "SELECT code FROM set_aside_logs"
    for left in ([("empty",)], []):
        assert run(Site(settings, tmp_path), NOW, stages=FIGURES).published
        assert published(tmp_path, aside) == left
        empty.unlink(missing_ok=True)


def test_verdicts_of_periods_that_are_gone_go(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    after_a_night(tmp_path_factory, tmp_path)
    run(Site(site(tmp_path, period="week"), tmp_path), NOW, stages=FIGURES)
    assert published(tmp_path, "SELECT period FROM verdicts WHERE period = '2026-01'") == []


@pytest.mark.thorough
def test_a_run_that_finds_nothing_new_loads_no_frames_and_draws_nothing(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write(tmp_path / "config.toml", CONFIG)
    write(tmp_path / "logs" / "1.swf", month(0))
    os.utime(tmp_path / "logs" / "1.swf", (NOW - 86_400, NOW - 86_400))
    command = ["run", "--config", str(tmp_path / "config.toml")]
    first = loaded(command, HEAVY)
    assert {"polars", "jinja2"} <= set(first)
    assert len(list((tmp_path / "mail").iterdir())) == 1
    assert "polars" in loaded(command, HEAVY)  # looks once whether the mail was the last
    assert loaded(command, HEAVY) == ["duckdb", "pydantic"]
    assert len(list((tmp_path / "mail").iterdir())) == 1


@pytest.mark.thorough
def test_a_new_recipient_gets_what_is_due(tmp_path: Path) -> None:
    def settings(*addresses: str) -> config.Config:
        write(tmp_path / "config.toml", CONFIG.replace('"ada@site.example"', ", ".join(addresses)))
        return config.load(tmp_path / "config.toml")

    (tmp_path / "logs").mkdir()
    write(tmp_path / "logs" / "1.swf", month(0))
    assert len(run(Site(settings('"ada@site.example"'), tmp_path), NOW).sent) == 1
    assert run(Site(settings('"ada@site.example"'), tmp_path), NOW) == Night()
    assert run(Site(settings('"ada@site.example"'), tmp_path), NOW) == Night()
    both = settings('"ada@site.example"', '"bob@site.example"')
    assert run(Site(both, tmp_path), NOW).sent == ["c/2026-01 to bob@site.example"]


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ({"state": "file"}, r"file: cannot be used: it is not a folder \(output.state\)"),
        ({"reports": "file"}, r"file: cannot be used: it is not a folder \(output.reports\)"),
        (
            {"state": "state", "database": "state/../state/store.duckdb"},
            r"is the store itself: name another file \(output.database\)",
        ),
    ],
)
def test_a_run_begins_with_folders_for_its_output(
    tmp_path: Path, output: dict[str, str], says: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=says):
        require_own_outputs(Site(config.Config.model_validate({"output": output}), tmp_path))

"""``fairaudit fit-policy``, from a log to its page, its tables and a config.toml."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from audit import config
from audit.errors import UsageError
from audit.model import Limit, Window
from audit.oneoff import study as studies
from audit.oneoff.fit_policy import plan as fit
from audit.oneoff.fit_policy.plan import KEY
from audit.pipeline.opening import LogRequest, Session, open_log
from audit.scenario.plateaus.judging import PlateauFault
from tests.logs import line, log, write
from tests.oneoff.fit_policy.made import CAPACITY, pool, swf

OFFICE = tuple(day * 24 + hour for day in range(5) for hour in range(8, 17))
RULES: dict[str, Any] = {
    "limits": (Limit(most=3, per="user"),),
    "windows": (Window(hours=OFFICE, walltime_above_s=4 * 3600),),
}


def conducted(source: Path, out: Path, **options: object) -> tuple[Path, ...]:
    plan = fit.plan(**options)  # type: ignore[arg-type]
    target = studies.StudyTarget(out=out, threads=1)
    return studies.conduct(Session(LogRequest(logs=[source])), KEY, target, plan)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fit")
    return write(folder / "site.swf", swf(pool(**RULES)))


@pytest.fixture(scope="module")
def files(source: Path) -> tuple[Path, ...]:
    return conducted(source, source.parent / "out", write=source.parent / "found.toml")


def test_the_page_its_tables_and_the_database(files: tuple[Path, ...]) -> None:
    tables = {
        name: pl.read_csv(files[0].with_name(f"fit-policy-{name}.csv"))
        for name in (
            *("agreement", "limits", "own-limits", "chains", "failed-limits"),
            *("windows", "failed-windows"),
        )
    }
    written = {f"fit-policy-{name}.csv" for name in tables}
    assert {file.name for file in files} == written | {"fit-policy.html", "fit-policy.duckdb"}
    best = tables["agreement"].row(0, named=True)
    assert (best["candidate"], best["agreement"]) == ("fcfs-easy", 1)
    assert best["common"] == best["observed"] > 500
    assert tables["agreement"]["agreement"].is_sorted(descending=True, nulls_last=True)
    limits = tables["limits"]
    assert limits["limit"].to_list() == ["Limit of 3 running jobs per user"]
    assert limits["exceed"].to_list() == [0]
    assert limits["stops"][0] > 20
    failed = tables["failed-limits"]["fails"]
    assert failed.is_in([fault.value for fault in PlateauFault]).all()
    [window] = tables["windows"].to_dicts()
    assert window["window"] == "Closed hours Mon–Fri 08–17 (UTC) for jobs over 4 h"
    assert (window["breaks"], window["withheld"] > 20) == (0, True)
    assert window["bound"] < 0.1 * window["by_chance"]
    page = files[0].read_text()
    assert "The policy is fcfs-easy, which agrees with 100" in page
    assert "Limit of 3 running jobs per user" in page
    assert "Mon–Fri 08–17" in page


def test_what_is_written_is_the_site_and_runs_as_it_is(
    source: Path, files: tuple[Path, ...]
) -> None:
    written = source.parent / "found.toml"
    opened = open_log(LogRequest(logs=[source]), config.load(written))
    [found] = opened.setting.pools
    assert found.limits == RULES["limits"]
    assert found.capacity == CAPACITY
    [window] = found.windows
    assert window.hours == OFFICE
    assert found.zone == "UTC"
    text = written.read_text()
    assert 'limits = [\n    { most = 3, per = "user" },\n]' in text
    assert 'order = "fcfs"\nbackfill = "easy"\n' in text


def test_the_same_log_gives_the_same_bytes(source: Path, files: tuple[Path, ...]) -> None:
    again = conducted(source, source.parent / "again", write=source.parent / "again.toml")
    for file, other in zip(files, again, strict=True):
        if file.suffix != ".duckdb":
            assert file.read_bytes() == other.read_bytes(), file.name
    first, second = ((source.parent / name).read_text() for name in ("found.toml", "again.toml"))
    assert first == second


def test_a_policy_is_written_only_where_it_agrees(tmp_path: Path) -> None:
    """Jobs start in the order of their names, which no candidate knows."""
    jobs = [
        line(k, submit=k, wait=100 * (7 * k % 40) + 4_000, run=100, allocated=4, walltime=100)
        for k in range(1, 40)
    ]
    source = write(tmp_path / "odd.swf", log(jobs, MaxProcs=4))
    page, *_ = conducted(source, tmp_path / "out", write=tmp_path / "found.toml")
    assert "No policy is known: the best candidate, " in page.read_text()
    text = (tmp_path / "found.toml").read_text()
    assert "order" not in text.split("[[clusters.pools]]")[1]
    assert "backfill" not in text.split("[[clusters.pools]]")[1]
    config.load(tmp_path / "found.toml")


def test_a_configured_policy_is_written_whatever_the_log_shows(tmp_path: Path) -> None:
    jobs = [line(1, submit=0, run=100), line(2, submit=5, wait=200, run=100)]
    source = write(tmp_path / "few.swf", log(jobs, MaxProcs=4))
    file = tmp_path / "config.toml"
    file.write_text('[[clusters]]\nname = "mine"\n[[clusters.pools]]\nname = "p"\norder = "sjf"\n')
    plan = fit.plan(write=tmp_path / "found.toml")
    target = studies.StudyTarget(out=tmp_path / "out", threads=1)
    studies.conduct(Session(LogRequest(logs=[source]), config.load(file)), KEY, target, plan)
    assert 'order = "sjf"' in (tmp_path / "found.toml").read_text()


def test_what_is_written_of_several_pools_names_their_partitions(tmp_path: Path) -> None:
    """Without them, the file could not be loaded."""
    jobs = [line(k, submit=k, wait=k, run=100, queue=1 + k % 2) for k in range(1, 9)]
    source = write(tmp_path / "few.swf", log(jobs, MaxProcs=4))
    file = tmp_path / "config.toml"
    file.write_text(
        '[[clusters]]\nname = "mine"\n[[clusters.pools]]\nname = "one"\npartitions = ["1"]\n'
        '[[clusters.pools]]\nname = "rest"\n'
    )
    for only, listed in ((None, {"one": ("1",), "rest": ("2",)}), ("one", {"one": ("1",)})):
        found = tmp_path / f"{only}.toml"
        target = studies.StudyTarget(out=tmp_path / "out", threads=1)
        session = Session(LogRequest(logs=[source]), config.load(file))
        studies.conduct(session, KEY, target, fit.plan(only, write=found))
        (cluster,) = config.load(found).clusters
        assert {pool.name: pool.partitions for pool in cluster.pools} == listed


def test_a_configuration_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("")
    with pytest.raises(UsageError, match="already exists"):
        fit.plan(write=tmp_path / "mine.toml")(None, None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a folder that exists"):
        fit.plan(write=tmp_path / "no" / "mine.toml")(None, None)  # type: ignore[arg-type]


def test_a_log_of_a_few_jobs_is_no_trouble(tmp_path: Path) -> None:
    source = write(tmp_path / "few.swf", log([line(1), line(2, submit=5)], MaxProcs=4))
    page, *_ = conducted(source, tmp_path / "out")
    assert "No start of the log can be compared with a policy." in page.read_text()
    assert "Windows were not searched: the log has less than 21 days." in page.read_text()

"""``fairaudit fit-policy``, from a log to its page, its tables and a config.toml."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from audit import config
from audit.config import Config
from audit.errors import UsageError
from audit.model import Limit, Step, Window
from audit.oneoff import study as studies
from audit.oneoff.fit_policy import plan as fit
from audit.pipeline.opening import Request, open_log
from audit.scenario.plateaus.judging import PlateauFault
from tests.logs import line, log, write
from tests.oneoff.fit_policy.made import CAPACITY, DAY, EPOCH, as_swf, by_priority, pool, swf

OFFICE = tuple(day * 24 + hour for day in range(5) for hour in range(8, 17))
RULES: dict[str, Any] = {
    "limits": (Limit(most=3, per="user"),),
    "windows": (Window(hours=OFFICE, walltime_above_s=4 * 3600),),
}


def conducted(source: Path, out: Path, **options: object) -> tuple[Path, ...]:
    request = (Request(logs=[source]), studies.Target(out=out, threads=1))
    plan = fit.plan(budget_s=30, **options)  # type: ignore[arg-type]
    return studies.conduct(fit.KEY, *request, Config(), plan)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fit")
    return write(folder / "site.swf", swf(pool(**RULES)))


@pytest.fixture(scope="module")
def files(source: Path) -> tuple[Path, ...]:
    return conducted(source, source.parent / "out", write=source.parent / "found.toml")


def test_the_page_its_tables_and_the_database(files: tuple[Path, ...]) -> None:
    names = {file.name for file in files}
    assert {
        *("fit-policy.html", "fit-policy-elements.csv", "fit-policy-compared.csv"),
        *("fit-policy-unexplained.csv", "fit-policy-tried.csv", "fit-policy.duckdb"),
        *("fit-policy-in-week.csv", "fit-policy-limits.csv", "fit-policy-own-limits.csv"),
        *("fit-policy-chains.csv", "fit-policy-failed-limits.csv"),
    } == names
    elements = pl.read_csv(files[0].with_name("fit-policy-elements.csv"))
    assert elements["kind"].to_list() == ["Window"]
    limits = pl.read_csv(files[0].with_name("fit-policy-limits.csv"))
    assert limits["limit"].to_list() == ["Limit of 3 running jobs per user"]
    assert limits["exceed"].to_list() == [0]
    assert limits["stops"][0] > 20
    failed = pl.read_csv(files[0].with_name("fit-policy-failed-limits.csv"))
    assert failed["fails"].is_in([fault.value for fault in PlateauFault]).all()
    assert (elements["gain_lower"] > 0).all()
    compared = pl.read_csv(files[0].with_name("fit-policy-compared.csv"))
    before, after = compared["unexplained"].to_list()
    assert before > 0.4  # with the limit in force
    assert after < 0.02
    assert compared["agreement"][1] > 0.95
    assert compared["forward_waited"][1] > compared["forward_waited"][0]
    tried = pl.read_csv(files[0].with_name("fit-policy-tried.csv"))
    assert tried["kept"].sum() == elements.height
    week = pl.read_csv(files[0].with_name("fit-policy-in-week.csv"))
    assert week.height == 8
    for name, agreement in zip(("assumed", "fitted"), compared["agreement"], strict=True):
        weighed = np.average(week[name].to_numpy(), weights=week["attempts"].to_numpy())
        assert weighed == pytest.approx(agreement, abs=0.001)
    page = files[0].read_text()
    assert "Limit of 3 running jobs per user" in page
    assert "Mon–Fri 08–17" in page


def test_what_is_written_is_the_site_and_runs_as_it_is(
    source: Path, files: tuple[Path, ...]
) -> None:
    written = source.parent / "found.toml"
    opened = open_log(Request(logs=[source]), config.load(written))
    [found] = opened.setting.pools
    assert found.limits == RULES["limits"]
    assert found.capacity == CAPACITY
    [window] = found.windows
    assert window.hours == OFFICE
    assert found.zone == "UTC"
    assert 'limits = [\n    { most = 3, per = "user" },\n]' in written.read_text()


def test_the_same_log_gives_the_same_bytes(source: Path, files: tuple[Path, ...]) -> None:
    again = conducted(source, source.parent / "again", write=source.parent / "again.toml")
    for file, other in zip(files, again, strict=True):
        if file.suffix != ".duckdb":
            assert file.read_bytes() == other.read_bytes(), file.name
    first, second = ((source.parent / name).read_text() for name in ("found.toml", "again.toml"))
    assert first == second


def test_where_nothing_is_nothing_is_found_and_the_page_says_so(tmp_path: Path) -> None:
    source = write(tmp_path / "plain.swf", swf(pool()))
    page, *_ = conducted(source, tmp_path / "out", write=tmp_path / "found.toml")
    assert "Nothing was found that explains the starts better than fcfs-easy." in page.read_text()
    text = (tmp_path / "found.toml").read_text()
    assert "limits" not in text
    config.load(tmp_path / "found.toml")


def test_jobs_that_go_before_others_are_noted(tmp_path: Path) -> None:
    source = write(tmp_path / "first.swf", as_swf(by_priority(0, partition="b")))
    page, *_ = conducted(source, tmp_path / "out", write=tmp_path / "found.toml")
    assert "Jobs in partition 2 go before others" in page.read_text()
    text = (tmp_path / "found.toml").read_text()
    assert '# Not a rule of the pool: these jobs go before others, by partition\n# "2"\n' in text
    config.load(tmp_path / "found.toml")


def test_drained_days_are_written_as_steps(tmp_path: Path) -> None:
    drained = tuple(
        step
        for first in (5, 33, 45)
        for step in (
            Step(EPOCH + first * DAY, (("cpus", 32),)),
            Step(EPOCH + (first + 7) * DAY, (("cpus", CAPACITY),)),
        )
    )
    source = write(tmp_path / "drained.swf", swf(pool(steps=drained)))
    conducted(source, tmp_path / "out", write=tmp_path / "found.toml")
    [found] = open_log(Request(logs=[source]), config.load(tmp_path / "found.toml")).setting.pools
    assert {amount for step in found.steps for _, amount in step.amounts} == {32, CAPACITY}


def test_a_configuration_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("")
    with pytest.raises(UsageError, match="already exists"):
        fit.plan(write=tmp_path / "mine.toml")(None, None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a folder that exists"):
        fit.plan(write=tmp_path / "no" / "mine.toml")(None, None)  # type: ignore[arg-type]


def test_a_log_of_a_few_jobs_is_no_trouble(tmp_path: Path) -> None:
    source = write(tmp_path / "few.swf", log([line(1), line(2, submit=5)], MaxProcs=4))
    page, *_ = conducted(source, tmp_path / "out")
    assert "too few of its jobs waited, to infer how the site schedules" in page.read_text()

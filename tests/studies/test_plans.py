"""Studies from the command line on: workload, synthetic logs, sensitivity."""

import re
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from audit.config import Config
from audit.errors import UsageError
from audit.oneoff import study as studies
from audit.pipeline import opening
from audit.pipeline.opening import Session
from audit.report.study import page as study
from audit.store import database, snapshots
from audit.studies import plans
from audit.studies.workload import page as workload_study
from audit.studies.workload.compute import model_files
from tests.logs import busy, line, log, write
from tests.report import chromium
from tests.studies.commands import run, table

TECHNIQUES = ("size", "group", "clusters")


@cache
def text(seed: int = 1) -> str:
    """A log of a fortnight: sessions of a busy narrow user, and wide jobs of another group."""
    rng = np.random.Generator(np.random.PCG64(seed))
    submit = np.sort(rng.integers(0, 14 * 86_400, 30))
    jobs = [(int(at) + 60 * k, 1, 1, 7) for at in submit for k in range(8)]
    jobs += [(int(at), 16, 2, 8) for at in rng.integers(0, 14 * 86_400, 60)]
    return log(
        (
            line(number, submit=at, run=600 * size, walltime=20_000, allocated=size, user=user,
                 group=group)
            for number, (at, size, user, group) in enumerate(sorted(jobs), start=1)
        ),
        MaxProcs=64,
        TimeZoneString="Europe/Berlin",
        UnixStartTime=1_772_406_000,  # Monday, 2 March 2026
    )  # fmt: skip


def made(folder: Path, **options: object) -> tuple[Path, ...]:
    source = write(folder / "my.swf", text())
    target = studies.StudyTarget(out=folder / "out", **options)  # type: ignore[arg-type]
    session = Session(opening.LogRequest(logs=[source]))
    return studies.conduct(session, "workload", target, plans.workload())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    return made(tmp_path_factory.mktemp("workload"), threads=2)


@pytest.mark.thorough
def test_the_page_its_tables_the_database_and_the_models(files: tuple[Path, ...]) -> None:
    names = [file.name for file in files]
    assert names[0] == "workload.html"
    assert names[-4:] == [*(f"workload-{by}.toml" for by in TECHNIQUES), "workload.duckdb"]
    assert {"workload-verdicts.csv", "workload-likeness.csv", "workload-fits.csv"} < set(names)
    for by in TECHNIQUES:
        file = files[0].with_name(f"workload-{by}.toml")
        model = model_files.from_toml(file.read_text(), file.name)
        assert (model.by, model.attempts, model.capacity) == (by, 300, 64)
        assert (model.first_day.isoformat(), model.zone) == ("2026-03-02", "Europe/Berlin")
        assert workload_study.file_name(model) == file.name
        assert workload_study.file_name(model, "2-") == f"workload-2-{by}.toml"
    groups = pl.read_csv(files[0].with_name("workload-group.csv"))
    assert groups["attempts"].to_list() == [240, 60]
    assert groups["mean_size"].to_list() == [1, 16]
    assert groups["mean_occupancy_s"].to_list() == [600, 9600]
    sizes = pl.read_csv(files[0].with_name("workload-size.csv"))
    assert sizes["class"].to_list() == ["1", "9–16"]
    con = snapshots.open_snapshot(files[-1])
    found = database.fetch(
        con,
        "SELECT setting, metric, dimension_value, value, unit FROM studies "
        "WHERE study = 'workload' AND log = 'my' AND metric IN ('attempts', 'mean_size')",
    )
    con.close()
    whole = found.filter(metric="attempts", dimension_value="log")
    assert sorted(whole["setting"]) == sorted(f"classes by {by}" for by in TECHNIQUES)
    assert set(whole["value"]) == {300}
    assert set(found.filter(metric="mean_size")["unit"]) == {"cpus"}


@pytest.mark.thorough
def test_a_rerun_gives_the_same_bytes(files: tuple[Path, ...], tmp_path: Path) -> None:
    """On another number of threads too."""
    texts = {file.name: file.read_bytes() for file in files if file.suffix != ".duckdb"}
    again = made(tmp_path, threads=1)
    assert {f.name: f.read_bytes() for f in again if f.suffix != ".duckdb"} == texts


@pytest.mark.thorough
def test_the_page_says_who_arrives_when(files: tuple[Path, ...]) -> None:
    page = files[0].read_text()
    assert "300 attempts in 6 classes by size" in page
    assert "By Unix group." in page
    for key in ("classes_size", "classes_group", "classes_clusters", "gaps", "week"):
        assert f'data-chart="{key}"' in page
    of_log = [float(said) for said in re.findall(r'data-tip="\w\w\w \d+ h: log ([\d.]+),', page)]
    assert len(of_log) == 168
    assert sum(of_log) * 2 == pytest.approx(300, abs=20)  # two weeks


def test_no_ended_attempt_is_no_workload(tmp_path: Path) -> None:
    source = write(tmp_path / "my.swf", log([line(1, run=-1, status=5)], MaxProcs=4))
    session = Session(opening.LogRequest(logs=[source]))
    with pytest.raises(UsageError, match="no attempt of the log has ended"):
        studies.conduct(
            session, "workload", studies.StudyTarget(out=tmp_path / "out"), plans.workload()
        )


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["swf", "psv"])
def test_a_synthetic_log_is_read_as_any_other(
    suffix: str, files: tuple[Path, ...], tmp_path: Path
) -> None:
    out = tmp_path / f"made.{suffix}"
    drawn = ("--jobs", 200, "--machine", 2, "--seed", 3)
    assert run("experiment", "synthetic", files[-3], out, *drawn) == 0
    first = out.read_bytes()
    plans.make_log(files[-3], out, seed=3, jobs=200, machine=2.0)
    assert out.read_bytes() == first
    read = opening.open_log(
        opening.LogRequest(logs=[out], zone="Europe/Berlin"), Config()
    ).described
    assert read.height == 200
    assert set(read["size"]) == {1, 16}
    assert read["wait_s"].min() == 0
    assert (read["walltime_s"] >= read["occupancy_s"]).all()


@pytest.mark.parametrize("option", ["--machine", "--intensity"])
@pytest.mark.parametrize("factor", ["nan", "inf", "0"])
def test_a_factor_of_a_synthetic_log_that_is_out_of_range_is_refused(
    option: str, factor: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("experiment", "synthetic", tmp_path / "m.toml", tmp_path / "o", option, factor) == 2
    assert f"Invalid value for '{option}'" in capsys.readouterr().err


@pytest.mark.thorough
def test_what_cannot_be_written_or_read_is_stated(files: tuple[Path, ...], tmp_path: Path) -> None:
    model = files[-3]

    def refused(said: str, source: Path, out: Path) -> None:
        with pytest.raises(UsageError, match=said):
            plans.make_log(source, out)

    refused("ends in .swf", model, tmp_path / "made.csv")
    refused("a folder that exists", model, tmp_path / "none" / "made.swf")
    refused("cannot be read", tmp_path / "none.toml", tmp_path / "made.swf")
    same = write(tmp_path / "model.txt", model.read_text())
    refused("is the model itself", same, same)
    assert [file.name for file in tmp_path.iterdir()] == ["model.txt"]


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[object] = []

    def plan(only: str | None, clusters: int | None) -> str:
        asked.extend([only, clusters])
        return "the plan"

    def conduct(
        session: Session, key: str, target: studies.StudyTarget, plan: str, **_: object
    ) -> list[Path]:
        request = session.request
        asked.extend([key, plan, request.logs, request.pool_size, request.zone, target.threads])
        return [target.out / "workload.html"]

    monkeypatch.setattr(plans, "workload", plan)
    monkeypatch.setattr(studies, "conduct", conduct)
    flags = [*("--out", "there", "--clusters", "2", "--pool-size", "9"), *("--zone", "UTC")]
    monkeypatch.chdir(tmp_path)
    assert run("experiment", "workload", "my.swf", *flags, "--threads", 3) == 0
    assert asked == [None, 2, "workload", "the plan", [Path("my.swf")], 9, "UTC", 3]
    assert capsys.readouterr().out == "there/workload.html\n"


@pytest.mark.thorough
@pytest.mark.chromium
@chromium.needed
def test_a_browser_draws_it_without_complaint(files: tuple[Path, ...]) -> None:
    chromium.check_study(files[0].absolute(), 5)


def test_a_real_log(real_logs: Path, tmp_path: Path) -> None:
    source = real_logs / "swf" / "KTH-SP2-1996-2.1-cln.swf.gz"
    out = tmp_path / "out"
    session, target = Session(opening.LogRequest(logs=[source])), studies.StudyTarget(out=out)
    studies.conduct(session, "workload", target, plans.workload(clusters=4))
    likeness = pl.read_csv(out / "workload-likeness.csv")
    traits = {row["trait"]: row for row in likeness.iter_rows(named=True)}
    assert traits["Attempts"]["log"] == 28_475
    for trait in ("Attempts", "Mean size", "Mean runtime, s", "Offered load"):
        for by in TECHNIQUES:
            assert traits[trait][f"{by}_mean"] == pytest.approx(traits[trait]["log"], rel=0.05)
    verdicts = pl.read_csv(out / "workload-verdicts.csv")
    better = verdicts.filter(pl.col("claim").str.contains("rather than exponential"))
    assert better["holds"].to_list() == ["yes"] * 3
    assert study.ROWS == 40


@pytest.mark.thorough
def test_sensitivity_writes_a_page_tables_and_a_database(tmp_path: Path) -> None:
    source, out = write(tmp_path / "busy.swf", busy(60)), tmp_path / "out"
    assert run("experiment", "sensitivity", source, "--out", out) == 0
    page = (out / "sensitivity.html").read_text(encoding="utf-8")
    assert "The effect of fairshare&#39;s settings" in page
    verdicts = table(out / "sensitivity-verdicts.csv")
    assert len(verdicts) == 16
    assert {row["holds"] for row in verdicts} <= {"yes", "no", "undecided"}
    groups = table(out / "sensitivity-groups.csv")
    assert sum(float(row["area_share"]) for row in groups) == pytest.approx(1)
    for run_ in (1, 2, 3):
        assert sum(float(row[f"target_run_{run_}"]) for row in groups) == pytest.approx(1)
    assert len(table(out / "sensitivity-two-at-once.csv")) == 162
    with duckdb.connect(str(out / "sensitivity.duckdb"), read_only=True) as con:
        (settings,) = con.execute(
            "SELECT count(DISTINCT setting) FROM studies WHERE study = 'sensitivity'"
        ).fetchone() or (0,)
    assert settings == 175


def test_sensitivity_needs_two_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = write(tmp_path / "one.swf", busy(1))
    assert run("experiment", "sensitivity", alone, "--out", tmp_path / "out") == 2
    assert "fewer than two groups have any usage" in capsys.readouterr().err

"""The scripts of bench/ that others build on: the demo log's file and the big made-up log."""

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import polars as pl
import pytest

from audit.formats import swf
from audit.formats.dialects import detect
from audit.formats.lines import Block
from audit.studies.workload.compute import model_files
from bench.logs.big_swf import big_swf
from bench.logs.demo_jobs import start_of_log
from bench.logs.demo_schedule import demo_log
from tests.places import ROOT

LOGS = ROOT / "bench" / "logs"


class Run(Protocol):
    """Calls a script; gives its exit code, and what it says on stderr."""

    def __call__(self, script: str, *arguments: str | Path) -> tuple[int, str]: ...


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run within this process, because a new one takes two seconds to start."""

    def call(script: str, *arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(LOGS / script), run_name="__main__")
        code = ended.value.code
        return (code if isinstance(code, int) else 0), capfd.readouterr().err

    return call


def records(content: bytes) -> pl.DataFrame:
    assert detect(content, "log").name == "swf"
    parsed = swf.parse(Block(content, 0, 1), swf.header(content))
    assert parsed.refusals.is_empty()
    return parsed.records


def test_the_demo_log_comes_back_as_it_was_drawn(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "demo.swf"
    code, said = run("demo_log.py", out, "--seed", "5", "--jobs", "400")
    assert code == 0, said
    assert list(tmp_path.iterdir()) == [out]
    content = out.read_bytes()
    header = swf.header(content)
    assert header.problems == ()
    assert header.zone == "Europe/Berlin"
    assert header.capacity == {"cpus": 512}
    assert header.entries["UnixStartTime"] == str(start_of_log())
    drawn = demo_log(5, 400).with_columns(
        pl.col("partition").replace({"1": "short", "2": "day", "3": "long"})
    )
    assert records(content).select(drawn.columns).equals(drawn)
    assert not demo_log(6, 400).equals(demo_log(5, 400))


def test_the_same_arguments_write_the_same_bytes(run: Run, tmp_path: Path) -> None:
    """In a new process, and in this one."""
    command = [sys.executable, "-m", "bench.logs.demo_log", str(tmp_path / "a"), "--jobs", "200"]
    subprocess.run(command, check=True, cwd=ROOT)
    assert run("demo_log.py", tmp_path / "b", "--jobs", "200")[0] == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_wrong_use_ends_with_2_and_leaves_nothing(run: Run, tmp_path: Path) -> None:
    code, said = run("demo_log.py", tmp_path / "demo.swf", "--jobs", "5")
    assert code == 2
    assert "jobs 5" in said
    code, said = run("demo_log.py", tmp_path / "absent" / "demo.swf", "--jobs", "200")
    assert code == 2
    assert "No such file" in said
    assert list(tmp_path.iterdir()) == []


def test_the_big_log_is_swf_from_end_to_end() -> None:
    rows = records(big_swf(5_000))
    assert rows.height == 5000
    model = model_files.from_toml((LOGS / "workload.toml").read_text(), "workload.toml")
    wide = sum(of.attempts * of.mean_size for of in model.classes) / model.attempts
    assert rows["cpus"].mean() == pytest.approx(wide, rel=0.1)
    never = rows.filter(pl.col("start_time").is_null())
    assert 0.005 < never.height / rows.height < 0.1

"""Workers in jobs of Slurm: what is requested, and what sbatch and scancel may answer."""

import os
import subprocess
from pathlib import Path

import pytest

from audit.config import Compute, Slurm
from audit.errors import WorkersError
from audit.workers.clusters import pilots, script

ASKED = Slurm.model_validate(
    {
        "jobs": 3,
        "cores": 2,
        "memory": "1GB",
        "walltime": "00:10:00",
        "partition": "batch",
        "directives": ("--qos=low",),
        "prologue": ("module load python",),
    }
)


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose programs are found first."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def options(folder: Path) -> Compute:
    return Compute(engine="dask", slurm=ASKED, folder=str(folder))


def test_what_each_task_requests_and_does(tmp_path: Path) -> None:
    """A worker ends, and its task with it; a signal returns the task to the queue."""
    text = script(ASKED, ["sh", "-c", "echo $0 $1 >> done; sleep 1"], tmp_path / "it's logs")
    wanted = [line.removeprefix("#SBATCH --") for line in text.splitlines() if "#SBATCH" in line]
    assert wanted == [
        *("job-name=fairaudit", "array=1-3", "requeue", "signal=B:USR1@60", "ntasks=1"),
        *("cpus-per-task=2", "mem=954M", "time=00:10:00", "partition=batch"),
        *(f"output={tmp_path}/it's logs/%A_%a", "qos=low"),
    ]
    program(tmp_path, "scontrol", "echo scontrol $@ >> done")
    program(tmp_path, "module", "echo module $@ >> done")
    (tmp_path / "worker.sh").write_text(text)
    task = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2", "SLURM_RESTART_COUNT": "1"}
    with subprocess.Popen(
        ["bash", "worker.sh"],
        cwd=tmp_path,
        env={**task, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    ) as running:
        while not (tmp_path / "done").exists() or "--name" not in (tmp_path / "done").read_text():
            assert running.poll() is None
        running.send_signal(10)  # USR1
        assert running.wait(20) == 0
    lines = (tmp_path / "done").read_text().splitlines()
    assert lines == ["module load python", "--name 7_2.1", "scontrol requeue 7_2"]


def test_the_array_is_cancelled_also_after_an_error(tmp_path: Path, programs: Path) -> None:
    program(programs, "sbatch", "echo '17;site'")
    program(programs, "scancel", f"echo $@ > {tmp_path}/cancelled")
    with pytest.raises(RuntimeError), pilots(options(tmp_path), "tls://a:1", [], tmp_path):
        raise RuntimeError
    assert (tmp_path / "cancelled").read_text() == "17\n"


def test_what_sbatch_says_is_reported(tmp_path: Path, programs: Path) -> None:
    program(programs, "sbatch", "echo 'error: no such account' >&2; exit 1")
    said = "sbatch refused the jobs: error: no such account"
    with (
        pytest.raises(WorkersError, match=said),
        pilots(options(tmp_path), "tls://a:1", [], tmp_path),
    ):
        pytest.fail("nothing was submitted")


def test_workers_that_cannot_be_cancelled_are_named(tmp_path: Path, programs: Path) -> None:
    program(programs, "sbatch", "echo 17")
    program(programs, "scancel", "exit 1")
    with (
        pytest.raises(WorkersError, match=r"cannot be cancelled .*: scancel 17"),
        pilots(options(tmp_path), "tls://a:1", [], tmp_path),
    ):
        pass

"""Workers in the jobs of a Slurm that runs: the same figures, also when a job is cancelled."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from audit.config import Compute, Slurm
from audit.errors import WorkersError
from audit.model import Policy
from audit.scenario.driver import Effort
from audit.scenario.fair_start import fair_starts
from audit.workers.chosen import executor
from tests import processes
from tests.logs import line, log, write
from tests.places import ROOT
from tests.slurm import lab
from tests.slurm.lab import Cluster, Lab, until
from tests.workers.crowded import crowded

pytestmark = pytest.mark.slurm

SETTINGS = {
    "PartitionName=batch": "Nodes=ALL Default=YES MaxTime=1-0 DefMemPerCPU=1000",
    "PartitionName=closed": "Nodes=ALL State=INACTIVE",
}


@pytest.fixture(scope="module")
def site() -> Iterator[Cluster]:
    """Two nodes; what asks for them finds them by its environment."""
    if reason := lab.missing():
        pytest.fail(f"no Slurm can be started: {reason}")
    with (
        tempfile.TemporaryDirectory(prefix="lab", dir="/tmp") as name,
        pytest.MonkeyPatch.context() as patch,
    ):
        folder = Path(name)
        folder.chmod(0o755)
        with Lab(folder) as started:
            started.load("Cluster - 'site':Fairshare=1:QOS='normal':DefaultQOS='normal'")
            cluster = started.cluster("site", 2, SETTINGS)
            for key, value in started.environment(cluster.conf).items():
                if key != "PATH":
                    patch.setenv(key, value)
            yield cluster


def asked(folder: Path, **more: object) -> Compute:
    folder.mkdir(exist_ok=True)
    jobs = {"partition": "batch", "jobs": 2, "memory": "1GB", "walltime": "00:10:00", **more}
    slurm = Slurm.model_validate(jobs)
    return Compute(engine="dask", slurm=slurm, folder=str(folder), alone_s=0, patience_s=60)


def queued(site: Cluster) -> list[str]:
    return site.run("squeue", "--noheader", "--format=%i").split()


def test_a_job_that_is_cancelled_changes_nothing(site: Cluster, tmp_path: Path) -> None:
    work = crowded(3_000)
    said: list[str] = []
    with executor(asked(tmp_path / "shared", cores=2), say=said.append) as one:
        here = fair_starts(work, Policy())
        cancelled: list[str] = []

        def cancel(done: int, of: int) -> None:
            if not cancelled:
                cancelled.append(queued(site)[0])
                site.run("scancel", *cancelled)

        there = fair_starts(work, Policy(), effort=Effort(one, cancel))
        assert cancelled
        assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))
    assert said[0].endswith("Dask on Slurm (compute.slurm)")
    assert list((tmp_path / "shared").iterdir()) == []
    until("all jobs are gone", lambda: not queued(site))


def test_a_task_that_nears_its_limit_begins_again(site: Cluster, tmp_path: Path) -> None:
    """Slurm sends the signal, which `scancel` sends here, before the walltime is over."""
    work = crowded(3_000)
    with executor(asked(tmp_path / "shared", jobs=1)) as one:
        here = fair_starts(work, Policy())
        tasks: list[str] = []

        def restarted() -> bool:
            return "Restarts=1" in site.run("scontrol", "show", "job", tasks[0])

        def near(done: int, of: int) -> None:
            if not tasks:
                tasks.extend(queued(site))
                site.run("scancel", "--batch", "--signal=USR1", *tasks)
                until("the task began again", restarted)

        there = fair_starts(work, Policy(), effort=Effort(one, near))
        assert len(tasks) == 1
        assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))
    until("all jobs are gone", lambda: not queued(site))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"directives": ("--hold",)}, r"no worker for 3 s .*; check with squeue why"),
        ({"partition": "closed"}, r"sbatch refused the jobs: .*partition not available"),
        ({"account": "nobodys"}, r"sbatch refused the jobs: .*[Ii]nvalid account"),
    ],
    ids=["held", "partition", "account"],
)
def test_jobs_that_never_start_are_given_up_and_cancelled(
    site: Cluster, tmp_path: Path, more: dict[str, object], said: str
) -> None:
    never = asked(tmp_path / "shared", **more).model_copy(update={"patience_s": 3})
    with executor(never) as one, pytest.raises(WorkersError, match=said):
        fair_starts(crowded(10), Policy(), effort=Effort(one))
    assert list((tmp_path / "shared").iterdir()) == []
    until("all jobs are gone", lambda: not queued(site))


def test_a_study_on_slurm_is_that_of_this_process(site: Cluster, tmp_path: Path) -> None:
    lines = [
        line(k, submit=40 * k, wait=k % 7, run=60 + 37 * k % 200, allocated=1 + k % 4, user=k % 5)
        for k in range(1, 301)
    ]
    write(tmp_path / "log.swf", log(lines, MaxProcs=4))
    shared = asked(tmp_path / "shared")
    (tmp_path / "slurm.toml").write_text(
        f"[compute]\nengine = 'dask'\nfolder = '{shared.folder}'\nalone_s = 0\npatience_s = 60\n"
        "slurm = { jobs = 2, memory = '1GB', walltime = '00:10:00', partition = 'batch' }\n"
    )
    (tmp_path / "local.toml").write_text("")
    made = {}
    for name in ("local", "slurm"):
        done = processes.python(
            *("-m", "audit", "experiment", "grid", tmp_path / "log.swf"),
            *("--loads", "0.8", "--config", tmp_path / f"{name}.toml", "--zone", "UTC"),
            *("--out", tmp_path / name),
            cwd=ROOT,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert ("Dask on Slurm" in done.stderr) == (name == "slurm")
        pages = sorted((tmp_path / name).glob("grid*[!b]"))
        made[name] = {file.name: file.read_bytes() for file in pages}
    assert made["local"] == made["slurm"]
    assert len(made["local"]) > 1
    until("all jobs are gone", lambda: not queued(site))

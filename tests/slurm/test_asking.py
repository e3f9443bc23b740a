"""``fairaudit init --slurm`` against a Slurm that runs: the first hour of a new site."""

import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from tests.places import ROOT
from tests.slurm.lab import Cluster, started, until

pytestmark = pytest.mark.slurm

ZONE: Final = "America/St_Johns"
ASSOCIATIONS: Final = """\
Cluster - 'site':Fairshare=1:QOS='normal'
Parent - 'root'
Account - 'physics':Description='physics':Organization='science':Fairshare=40
Account - 'chemistry':Description='chemistry':Organization='science':Fairshare=60
Parent - 'physics'
User - 'games':DefaultAccount='physics':Fairshare=10:MaxJobs=3
User - 'mail':DefaultAccount='physics':Fairshare=20
Parent - 'chemistry'
User - 'news':DefaultAccount='chemistry':Fairshare=5
"""
NODES: Final = {
    "c1": "CPUs=8 CoresPerSocket=8 RealMemory=32000",
    "c2": "CPUs=8 CoresPerSocket=8 RealMemory=32000",
    "g1": "CPUs=16 CoresPerSocket=16 RealMemory=64000 Gres=gpu:4",
}
SETTINGS: Final = {
    "PartitionName=batch": "Nodes=c[1-2] Default=YES MaxTime=1-0 DefaultTime=5",
    "PartitionName=gpu": "Nodes=g1 MaxTime=12:00:00 DefaultTime=5",
}


def test_the_first_hour(tmp_path: Path) -> None:
    with started() as lab:
        lab.load(*ASSOCIATIONS.splitlines())
        cluster = lab.cluster("site", NODES, SETTINGS)
        _work(cluster)
        _first_hour(cluster, tmp_path)


def _work(cluster: Cluster) -> None:
    """Run jobs of three users; sacct does not list the last one, which may not start yet."""
    for _ in range(3):
        cluster.submit("games", "-c8", run="sleep 2")
        cluster.submit("mail", "-c4", run="sleep 1")
        cluster.submit("news", "-pgpu", "-c4", "--gpus=2", run="sleep 2")
    cluster.submit("news", "-pgpu", "--begin=now+1hour")
    until("only the job of the future waits", lambda: len(_open(cluster)) == 1, 120)


def _open(cluster: Cluster) -> list[str]:
    return cluster.run("squeue", "--noheader").splitlines()


def _first_hour(cluster: Cluster, site: Path) -> None:
    def fairaudit(*words: str) -> subprocess.CompletedProcess[str]:
        return run(sys.executable, "-m", "audit", *words)

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=site,
            env={**os.environ, **cluster.lab.environment(cluster.conf), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )

    begun = fairaudit("init", "--slurm", "--yes", "--zone", ZONE)
    assert begun.returncode == 0, begun.stderr
    for shown in ("scontrol show config", "scontrol show node -o", "sacctmgr -P show assoc"):
        assert f"  {shown}" in begun.stderr
    assert "columns are missing" not in begun.stderr
    found, look, schedule = begun.stdout.splitlines()
    assert found.startswith("Found: ")
    assert look.startswith("Look at: ")
    assert schedule.startswith("Schedule: ")
    assert (site / "fairaudit-out" / "report.html").is_file()

    made = tomllib.loads((site / "config.toml").read_text("utf-8"))
    (one,) = made["clusters"]
    assert one["name"] == "site"
    assert one["zone"] == ZONE
    assert [source["command"][0] for source in one["sources"]] == ["sacct"]
    pools = {pool["name"]: pool["capacity"] for pool in one["pools"]}
    assert pools["batch"]["cpus"] == 16
    assert (pools["gpu"]["cpus"], pools["gpu"]["gpus"]) == (16, 4)

    checked = fairaudit("doctor", "--config", "config.toml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    night = run(*shlex.split(schedule.rpartition(": ")[2]))
    assert night.returncode == 0, night.stderr
    listed = fairaudit(
        "sql",
        "--format",
        "csv",
        'SELECT "user", count(*) FROM job_fairness '
        "WHERE schedule = 'observed' GROUP BY ALL ORDER BY ALL",
    )
    assert listed.stdout.split() == ["user,count_star()", "games,3", "mail,3", "news,3"]

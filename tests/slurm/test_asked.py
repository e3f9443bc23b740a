"""Fairshare asked both ways against a Slurm that runs: needed shares, and what a job costs."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from audit import config
from audit.oneoff.sshare.explain import FairShareQuestion, explain
from tests.slurm.lab import Cluster, started, until
from tests.slurm.test_live import STATES, Sample, described

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

SITE: Final = (
    "Cluster - 'asked':Fairshare=1:QOS='normal':DefaultQOS='normal'",
    "Parent - 'root'",
    "Account - 'physics':Description='physics':Organization='science':Fairshare=40",
    "Parent - 'physics'",
    "User - 'games':DefaultAccount='physics':Fairshare=10",
    "User - 'mail':DefaultAccount='physics':Fairshare=19",
    "User - 'news':DefaultAccount='physics':Fairshare=5",
)
"""Shares with which no number of shares makes users equal: whether they then tie depends on the
precision with which slurmctld divides."""
CONF: Final = {
    "PriorityDecayHalfLife": "0",
    "PriorityUsageResetPeriod": "YEARLY",
    "PartitionName=batch": "Nodes=ALL Default=YES MaxTime=1-0 DefaultTime=5",
}
USER: Final = "games"
LASTS: Final = 15
"""Run time of the job that is asked for, s."""


def test_answers_are_what_sshare_prints_after_the_change(tmp_path: Path) -> None:
    with started() as lab:
        lab.load(*SITE)
        cluster = lab.cluster("asked", 2, CONF)
        _compare(cluster, tmp_path)


def _compare(cluster: Cluster, folder: Path) -> None:
    cluster.submit("games", "-c7", run="sleep 9")
    cluster.submit("mail", "-c3", run="sleep 4")
    cluster.submit("news", "-c1", run="sleep 2")
    _settled(cluster)
    before, target = _fairshare(cluster, USER), _fairshare(cluster, "mail")
    assert before < target
    told = _asked(cluster, folder, want=target)
    (line,) = (line for line in told if line.strip().startswith(f"user {USER} of physics: "))
    found = re.search(r"RawShares ([\d,]+) or more", line)
    assert found is not None
    shares = int(found[1].replace(",", ""))
    for given in (shares, shares - 1, shares):
        _share(cluster, given)
        enough = given == shares
        _recalculated(cluster, lambda now: (now >= target - 1e-6) == enough)  # noqa: B023

    asked = {}
    for lasts in range(LASTS, LASTS + 8):  # a busy machine ends a job late
        told = _asked(cluster, folder, job=f"cpus=16,walltime={lasts}s")
        (line,) = (line for line in told if line.startswith("FairShare at "))
        with_job, without = (float(number) for number in re.findall(r"\d\.\d{6}", line))
        assert without == pytest.approx(_fairshare(cluster, USER), abs=1e-6)
        assert with_job < without
        asked[lasts] = with_job
    cluster.submit(USER, "-c16", run=f"sleep {LASTS}")
    _settled(cluster)
    words = ("--allusers", "--allocations", "--noheader", "--format=ElapsedRaw", f"--user={USER}")
    *_, lasted = cluster.run("sacct", *words, "--starttime=now-1day", "--endtime=now").split()
    expected = pytest.approx(asked[int(lasted)], abs=1e-6)
    _recalculated(cluster, lambda now: now == expected)


def _settled(cluster: Cluster) -> None:
    """Wait until all jobs have ended, and usage was recalculated after that.

    The log tells when a recalculation begins: once another one does, it is done.
    """
    until("all jobs have ended", lambda: not cluster.active(), 90)
    for _ in range(2):
        cluster.wait_for_tick(time.time())


def _share(cluster: Cluster, share: int) -> None:
    where = ("where", "cluster=asked", "account=physics")
    modify = ("sacctmgr", "--immediate", "modify", "user", USER, *where)
    cluster.run(*modify, "set", f"fairshare={share}")
    until("slurmctld knows the share", lambda: _shown(cluster, USER, "RawShares") == share, 60)


def _recalculated(cluster: Cluster, true: Callable[[float], bool]) -> None:
    """Wait until it is true of the user's FairShare, which follows at slurmctld's next tick."""
    what = f"the FairShare of {USER} is as answered"
    until(what, lambda: true(_fairshare(cluster, USER)), 2 * cluster.tick_s)


def _fairshare(cluster: Cluster, user: str) -> float:
    return _shown(cluster, user, "FairShare")


def _shown(cluster: Cluster, user: str, column: str) -> float:
    words = ("--all", "--parsable2", "--noheader", f"--format=User,{column}")
    rows = (line.split("|") for line in cluster.run("sshare", *words).splitlines())
    (found,) = (number for name, number in rows if name == user)
    return float(found)


def _asked(cluster: Cluster, folder: Path, **more: object) -> list[str]:
    sample = Sample.quiet(cluster)
    files = described(cluster, folder / f"at-{sample.at}")
    words = f"--allusers --allocations --duplicates --parsable2 --format=ALL --state={STATES}"
    text = cluster.run("sacct", *words.split(), "--starttime=now-1day", "--endtime=now")
    log = folder / f"sacct-{sample.at}"
    log.write_text(text)
    question = FairShareQuestion(USER, since=str(sample.tick - 600), **more)  # type: ignore[arg-type]
    return explain(sample.request(log, files), question, config.Config())[0]

"""Against a Slurm that runs: a command source finds every job, and sshare prints what we do."""

import json
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

import pytest

from audit import config
from audit.oneoff.sshare.inputs import SshareRequest
from audit.oneoff.sshare.recompute import psv, recompute
from audit.store import database, snapshots
from tests import processes
from tests.slurm.lab import Cluster, Lab, started, until

pytestmark = pytest.mark.slurm

ZONE: Final = "America/St_Johns"
"""Zone of the clusters: half an hour off most others, and not this machine's."""

STATES: Final = "BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,RS,RV,S,TO"
TEXT: Final = ("--parsable2", "--format=ALL")
MIB: Final = 1 << 20
QUIET_S: Final = 2

QUALITIES: Final = (
    ("modify", "qos", "normal", "set", "priority=100"),
    ("add", "qos", "high", "priority=1000", "usagefactor=2.0"),
    ("add", "qos", "low", "priority=0", "usagefactor=0.5"),
    ("add", "qos", "urgent", "priority=5000", "preempt=low"),
)
ASSOCIATIONS: Final = """\
Cluster - '{name}':Fairshare=1:QOS='normal,high,low,urgent':DefaultQOS='normal'
Parent - 'root'
Account - 'physics':Description='physics':Organization='science':Fairshare=40
Account - 'chemistry':Description='chemistry':Organization='science':Fairshare=60
Parent - 'physics'
Account - 'theory':Description='theory':Organization='science':Fairshare=3
Account - 'experiment':Description='experiment':Organization='science':Fairshare=1
Parent - 'theory'
User - 'games':DefaultAccount='theory':Fairshare=10
User - 'mail':DefaultAccount='theory':Fairshare=20
Parent - 'experiment'
User - 'news':DefaultAccount='experiment':Fairshare=1:GrpTRES=cpu=16
Parent - 'chemistry'
User - 'list':DefaultAccount='chemistry':Fairshare=5
User - 'irc':DefaultAccount='chemistry':Fairshare=2147483647
User - 'games':DefaultAccount='theory':Fairshare=2
"""
"""As `sacctmgr dump` writes it; the last share but one is "parent"."""

NEAR: Final = {
    "PriorityDecayHalfLife": "0",
    "PriorityUsageResetPeriod": "YEARLY",
    "PartitionName=batch": (
        "Nodes=ALL Default=YES MaxTime=1-0 DefaultTime=5 DefMemPerCPU=1000 PriorityJobFactor=10 "
        "TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=8.0"
    ),
    "PartitionName=short": (
        "Nodes=ALL MaxTime=10 DefaultTime=2 DefMemPerCPU=1000 PriorityJobFactor=50 "
        "TRESBillingWeights=CPU=2.0,Mem=0.1G,GRES/gpu=5.0"
    ),
    "PartitionName=bare": "Nodes=ALL MaxTime=1-0 DefaultTime=5 DefMemPerCPU=1000",
}
FAR: Final = {
    "PriorityDecayHalfLife": "00:05:00",
    "PriorityUsageResetPeriod": "NONE",
    "PartitionName=batch": (
        "Nodes=ALL Default=YES MaxTime=1-0 DefaultTime=5 DefMemPerCPU=1000 "
        "TRESBillingWeights=CPU=0.7,Mem=0.3G,GRES/gpu=11.5"
    ),
}


def test_a_live_slurm(subtests: pytest.Subtests, tmp_path: Path) -> None:
    """One test, as the lab takes longer to make jobs than all comparisons."""
    with started() as lab:
        near, far = _begin(lab)
        _follow(lab, near, far, tmp_path, subtests)


def _begin(lab: Lab) -> tuple[Cluster, Cluster]:
    for words in QUALITIES:
        lab.run("sacctmgr", "--immediate", *words)
    for name in ("near", "far"):
        lab.load(*ASSOCIATIONS.format(name=name).splitlines())
    return lab.cluster("near", 3, NEAR), lab.cluster("far", 2, FAR)


def _follow(lab: Lab, near: Cluster, far: Cluster, folder: Path, subtests: pytest.Subtests) -> None:
    site = Site(lab, folder / "site")
    with Sampling(far) as sampling:
        decaying = steady_work(far)
        mixed = mixed_work(near)
        with subtests.test("jobs that are open"):
            site.run("ingest")
            found = {row["job_id"]: row for row in site.attempts("near", site.store)}
            for name, state in (("cancelled", "RUNNING"), ("waiting", "PENDING")):
                assert found[mixed[name]]["state"] == state
                assert found[mixed[name]]["end_time"] is None
        near.run("scancel", mixed["cancelled"])
        site.run()  # the next one finds records that have changed since
        until("all jobs have ended", lambda: not near.active() and not far.active(), 150)
        ended = time.time()

        with subtests.test("every job and attempt"):
            site.run()
            for cluster in (near, far):
                compare_attempts(site, cluster)
            for cluster, known in ((near, [*mixed.values()]), (far, decaying)):
                assert {re.split("[_+]", one.job)[0] for one in accounted(cluster)} >= {*known}
            assert {record.state for record in accounted(near)} >= {
                *("CANCELLED", "COMPLETED", "FAILED", "NODE_FAIL"),
                *("PREEMPTED", "REQUEUED", "TIMEOUT"),
            }
            assert "records" not in site.run()  # nothing is new
        with subtests.test("the same from its JSON"):
            other = Site(lab, folder / "json", ("--json",))
            other.run("ingest")
            for cluster in (near, far):
                compare_attempts(other, cluster, other.store)
                assert contents(other, cluster) == contents(site, cluster)

        for cluster in (near, far):
            cluster.wait_for_tick(ended)
    after = {cluster.name: Sample.quiet(cluster) for cluster in (near, far)}

    with subtests.test("sshare without decay"):
        compare_shares(near, folder / "near", [after["near"]])
    with subtests.test("sshare with decay, at many instants"):
        compare_shares(far, folder / "far", [*sampling.quiet(), after["far"]])
    with subtests.test("sshare from the database"):
        for sample in after.values():
            site.compare_shares(sample)

    # Settings change. Usage that `near` has goes on; `far` forgets its own, as what was billed by
    # other weights is not billed anew.
    reset = change_settings(near, far)
    fresh = [
        near.submit("mail", "-n3", run="sleep 2"),
        near.submit("irc", "-pshort", run="sleep 1"),
    ]
    # A half-life is taken up at the next tick; until then what ends still decays by the old one.
    beyond = far.last_tick() + far.tick_s - time.time() + 3
    lasting = [
        far.submit("games", "-c6", "--gpus=1", run=f"sleep {beyond:.0f}"),
        far.submit("list", "-c9", "--qos=high", run=f"sleep {beyond + 4:.0f}"),
        far.submit("news", "-c2", "--mem=30G", run=f"sleep {beyond + 2:.0f}"),
    ]
    for job in fresh:
        near.wait_for(job, "COMPLETED")
    ended = time.time()
    for job in lasting:
        far.wait_for(job, "COMPLETED", 90)
    near.wait_for_tick(ended)

    with subtests.test("sshare after a change: classic, other shares"):
        compare_shares(near, folder / "near-changed", [Sample.quiet(near)])
    with subtests.test("sshare after a change: half-life, weights, greatest of them, shares"):
        compare_shares(far, folder / "far-changed", [Sample.quiet(far)], since=reset)


# --- work


def mixed_work(cluster: Cluster) -> dict[str, str]:
    """Jobs of every kind, by name, and all that may happen to one; takes half a minute.

    When it returns, ``cancelled`` runs, to be cancelled, and ``waiting`` waits for it.
    """
    submit, run = cluster.submit, cluster.run
    jobs = {
        "short": submit("games", "-t2", run="sleep 2"),
        "steps": submit("games", "-n2", "-t2", run="srun -n2 sleep 1; srun -n1 --exact false"),
        "array": submit(
            "games", "-Achemistry", "--array=0-6%3", "-c2", "--mem=1500M", run="sleep 1"
        ),
        "gpu": submit("mail", "--gpus=1", "-c4", "--mem=8G", "-t2", run="sleep 4"),
        "gpus": submit("mail", "--gpus=4", "-c16", "--mem=32G", "-t2", run="sleep 5"),
        "wide": submit("mail", "-N2", "-n32", "--mem-per-cpu=500M", "-t3", run="sleep 3"),
        "fails": submit("news", "-t1", run="sleep 1; exit 3"),
        "signal": submit("news", "-t1", run="kill -SEGV $$"),
        "high": submit("list", "--qos=high", "-c8", "--mem=4G", "-t2", run="sleep 3"),
        "low": submit("list", "--qos=low", "-c8", "--mem=4G", "-t2", run="sleep 3"),
        "other": submit("irc", "-pshort", "-c3", "-t1", run="sleep 2"),
        "bare": submit("irc", "-pbare", "-c3", "-t1", run="sleep 2"),
        "timeout": submit("irc", "-wnear1", "-t1", run="sleep 300"),
        "held": submit("irc", "-H", "-t1", run="sleep 1"),
        "never": submit("irc", "-H", "-t1"),
        "begin": submit("irc", "--begin=now+40", "-t1", run="sleep 1"),
        "cancelled": submit("list", "-wnear1", "-c2", "-t9", run="sleep 500"),
        "unstarted": submit("list", "--nice=5000", "-N3", "--exclusive", "-t5", run="sleep 200"),
        "requeued": submit("mail", "-wnear1", "--requeue", "-c2", "-t5", run="sleep 15"),
        "suspended": submit("games", "-wnear1", "-c2", "-t5", run="sleep 20"),
        "named": submit("games", "-J", 'pi|pe, "q" é', "--comment=hello | wörld", run="sleep 1"),
        "exclusive": submit("irc", "--exclusive", "-t2", run="sleep 2"),
        "het": submit("list", "-c1", "-t2", ":", "-n2", "-c2", "-t2", run="sleep 2"),
        "lost": submit("mail", "-wnear3", "-t5", "--no-requeue", run="sleep 100"),
    }
    jobs["orphan"] = submit("news", "-t1", f"--dependency=afterok:{jobs['fails']}")
    for name in ("cancelled", "requeued", "suspended", "lost"):
        cluster.wait_for(jobs[name], "RUNNING")
    time.sleep(2)
    run("scancel", jobs["unstarted"], jobs["never"])
    run("scontrol", "suspend", jobs["suspended"])
    run("scontrol", "requeue", jobs["requeued"])
    run("scontrol", "release", jobs["held"])
    run("scontrol", "update", "NodeName=near3", "State=DOWN", "Reason=lab")
    cluster.wait_for(jobs["lost"], "NODE_FAIL")
    # it may have come back by itself, when its slurmd said so
    run("scontrol", "update", "NodeName=near3", "State=RESUME", check=False)
    run("scontrol", "resume", jobs["suspended"])
    until("all nodes are back", lambda: not set(cluster.states()) - {"idle", "alloc", "mix"})
    run("scancel", jobs["orphan"])
    run("salloc", "-Q", "-n1", "-t1", "true", user="games")
    # One gives way to another that is more urgent.
    whole = ("-wnear2", "--exclusive", "-t2")
    jobs["gives way"] = submit("list", "--qos=low", "--requeue", *whole, run="sleep 15")
    cluster.wait_for(jobs["gives way"], "RUNNING")
    jobs["urgent"] = submit("games", "--qos=urgent", "-wnear2", "-c2", "-t2", run="sleep 2")
    cluster.wait_for(jobs["urgent"], "COMPLETED")
    jobs["waiting"] = submit("irc", "-wnear1", "--exclusive", "-t1", run="sleep 1")
    known = lambda: jobs["waiting"] in {record.job for record in accounted(cluster)}  # noqa: E731
    until("accounting knows the last job", known)
    time.sleep(2)  # what becomes eligible in the second in which sacct is asked is not told
    return jobs


def steady_work(cluster: Cluster) -> list[str]:
    """Jobs that run through several recalculations."""
    return [
        cluster.submit("games", "-c4", "--mem=4G", run="sleep 20"),
        cluster.submit("games", "-Achemistry", "-c1", "--mem=9G", run="sleep 70"),
        cluster.submit("mail", "-c8", "--gpus=2", "--mem=8G", run="sleep 45"),
        cluster.submit("news", "-c2", "--mem=2G", run="sleep 95"),
        cluster.submit("list", "-c4", "--qos=high", "--mem=4G", run="sleep 30"),
        cluster.submit("irc", "-c1", "--qos=low", "--mem=1G", run="sleep 10"),
    ]


def change_settings(near: Cluster, far: Cluster) -> int:
    """As an administrator would; gives the instant up to which `far` forgot its usage (epoch s)."""
    near.configure(PriorityFlags="NO_FAIR_TREE")
    batch = FAR["PartitionName=batch"].replace("CPU=0.7", "CPU=3.25")
    far.configure(
        **{"PartitionName=batch": batch},
        PriorityDecayHalfLife="00:02:00",
        PriorityFlags="MAX_TRES",
    )
    modify = ("sacctmgr", "--immediate", "modify")
    for cluster in (near, far):
        where = ("where", f"cluster={cluster.name}")
        cluster.run(*modify, "account", "physics", *where, "set", "fairshare=70")
        cluster.run(*modify, "user", "mail", *where, "account=theory", "set", "fairshare=parent")
        cluster.run(*modify, "user", "irc", *where, "account=chemistry", "set", "fairshare=3")
    far.run(*modify, "account", "root", "where", "cluster=far", "set", "RawUsage=0")
    time.sleep(1)
    return int(time.time())


# --- fairaudit


def fairaudit(*words: object, folder: Path, conf: Path) -> str:
    """Return the output of the command, on both channels; in another zone."""
    done = processes.python(
        "-m",
        "audit",
        *words,
        cwd=folder,
        env={
            **os.environ,
            "TZ": "Asia/Tokyo",
            "SLURM_CONF": str(conf),
            "SLURM_TIME_FORMAT": "relative",
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout if words[0] == "sshare" else done.stdout + done.stderr


class Site:
    """fairaudit, configured to ask `sacct` of both clusters."""

    def __init__(self, lab: Lab, folder: Path, form: Sequence[str] = TEXT) -> None:
        folder.mkdir()
        printed = ", ".join(f'"{word}"' for word in form)
        self.lab, self.folder = lab, folder
        since = (datetime.now(UTC) - timedelta(days=3)).date()
        text = "[report]\npdf = false\n[uncertainty]\nresamples = 100\n"
        for cluster in lab.clusters:
            text += f"""
[[clusters]]
name = "{cluster.name}"
zone = "{ZONE}"
period = "day"
[clusters.usage]
associations = "{cluster.name}/assoc"
qos = "{cluster.name}/qos"
partitions = "{cluster.name}/partitions"
slurm_conf = "{cluster.name}/conf"
[[clusters.sources]]
command = [
    "sacct", "--clusters={cluster.name}", "--allusers", "--duplicates", "--allocations",
    {printed}, "--starttime={{from}}", "--endtime={{to}}", "--state={STATES}",
]
since = {since}
"""
            described(cluster, folder / cluster.name)
        self.config = folder / "config.toml"
        self.config.write_text(text)

        self.store = folder / "fairaudit-state" / "store.duckdb"
        self.published = folder / "fairaudit.duckdb"

    def run(self, stage: str = "run") -> str:
        """Run the night, or one stage of it; return its output."""
        conf = self.lab.folder / "slurm.conf"
        return fairaudit(stage, "--config", self.config, folder=self.folder, conf=conf)

    def attempts(self, cluster: str, of: Path | None = None) -> list[dict[str, Any]]:
        """The attempts of a cluster that a database has; the published one, unless told."""
        con = snapshots.open_snapshot(of or self.published)
        try:
            found = database.fetch(
                con,
                'SELECT job_id, attempt, "user", account, partition, qos, state, submit_time, '
                "eligible_time, start_time, end_time, suspended_s, walltime_s, cpus, nodes, gpus, "
                "mem_bytes FROM records WHERE cluster = $cluster AND NOT superseded",
                {"cluster": cluster},
            )
        finally:
            con.close()
        return found.rows(named=True)

    def compare_shares(self, sample: "Sample") -> None:
        """`fairaudit sshare`, from the published database, prints what sshare printed."""
        at = ("--as-of", sample.at, "--phase", sample.tick)
        words = ("sshare", "--config", self.config, "--cluster", sample.cluster, *at)
        said = fairaudit(*words, folder=self.folder, conf=Path("none"))
        assert said.splitlines() == sample.text.splitlines()


# --- what Slurm says


@dataclass(frozen=True)
class Record:
    """One attempt, as `sacct --json` has it."""

    job: str
    user: str
    account: str
    partition: str
    qos: str
    state: str
    submit: int
    eligible: int | None
    start: int | None
    end: int | None
    suspended: int
    walltime: int
    amounts: Mapping[str, int]


def accounted(cluster: Cluster) -> list[Record]:
    """All that accounting has of a cluster, asked for by job, in the order of submission."""
    jobs = ",".join(map(str, range(1, 200)))
    text = cluster.run("sacct", "--json", "--allusers", "--duplicates", "--jobs", jobs)
    return sorted(map(_record, json.loads(text)["jobs"]), key=lambda one: (one.submit, one.job))


def _record(job: Mapping[str, Any]) -> Record:
    times, array, het = job["time"], job["array"], job["het"]
    name = str(job["job_id"])
    if array["task_id"] is not None:
        name = f"{array['job_id']}_{array['task_id']}"
    if het["job_id"]:
        name = f"{het['job_id']}+{het['job_offset']}"
    amounts = {"cpu": 0, "node": 0, "mem": 0, "gres/gpu": 0}
    for one in job["tres"]["allocated"] or job["tres"]["requested"]:
        kind = one["type"] + (f"/{one['name']}" if one["name"] else "")
        if kind in amounts:
            amounts[kind] = one["count"]
    return Record(
        name,
        job["user"],
        job["account"],
        job["partition"],
        job["qos"],
        job["state"]["current"],
        times["submission"],
        times["eligible"] or None,
        times["start"] or None,
        times["end"] or None,
        times["suspended"],
        times["limit"] * 60,
        amounts,
    )


def contents(site: Site, cluster: Cluster) -> list[list[Any]]:
    """All that a store has of a cluster's attempts, in one order."""
    return sorted(map(list, map(dict.values, site.attempts(cluster.name, site.store))), key=repr)


def compare_attempts(site: Site, cluster: Cluster, of: Path | None = None) -> None:
    """Every attempt of the accounting is in the database, and no other; each as it was."""
    ours = {(row["job_id"], row["submit_time"]): row for row in site.attempts(cluster.name, of)}
    truth = accounted(cluster)
    assert sorted(ours) == sorted((record.job, record.submit) for record in truth)
    numbered: dict[str, int] = {}
    for record in truth:
        numbered[record.job] = numbered.get(record.job, 0) + 1
        row = ours[record.job, record.submit]
        assert row == {
            "job_id": record.job,
            "attempt": numbered[record.job],
            "user": record.user,
            "account": record.account,
            "partition": record.partition,
            "qos": record.qos,
            "state": record.state,
            "submit_time": record.submit,
            "eligible_time": record.eligible,
            "start_time": record.start,
            "end_time": record.end,
            "suspended_s": None if record.start is None else record.suspended,
            "walltime_s": record.walltime,
            "cpus": record.amounts["cpu"],
            "nodes": record.amounts["node"],
            "gpus": record.amounts["gres/gpu"],
            "mem_bytes": record.amounts["mem"] * MIB,
        }, record.job
    _compare_with_controller(cluster, ours)


def _compare_with_controller(
    cluster: Cluster, ours: Mapping[tuple[str, int], Mapping[str, Any]]
) -> None:
    """The same of slurmctld's own memory, which has the last attempt of each job."""
    compared = 0
    for line in cluster.run("scontrol", "--oneliner", "show", "job").splitlines():
        said = dict(re.findall(r"(\w+)=(\S+)", line))
        name = said["JobId"]
        if "ArrayTaskId" in said:
            name = f"{said['ArrayJobId']}_{said['ArrayTaskId']}"
        if "HetJobId" in said:
            name = f"{said['HetJobId']}+{said['HetJobOffset']}"
        row = ours[name, _epoch(said["SubmitTime"])]
        assert row["state"] == said["JobState"], line
        assert row["end_time"] == _epoch(said["EndTime"]), line
        if row["start_time"] is not None:
            assert row["start_time"] == _epoch(said["StartTime"]), line
            assert row["cpus"] == int(said["NumCPUs"]), line
            assert row["nodes"] == int(said["NumNodes"]), line
        compared += 1
    assert compared > 5


def _epoch(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


@dataclass(frozen=True)
class Sample:
    """The output of sshare, and the second of the call."""

    cluster: str
    at: int
    text: str
    tick: int
    """When usage had last been recalculated."""

    @classmethod
    def of(cls, cluster: Cluster) -> "Sample":
        """One that was taken within one second."""
        while True:
            at, tick = int(time.time()), cluster.last_tick()
            text = cluster.run("sshare", "--all", "--long", "--parsable2")
            if int(time.time()) == at and cluster.last_tick() == tick:
                return cls(cluster.name, at, text, tick)

    @classmethod
    def quiet(cls, cluster: Cluster) -> "Sample":
        """One in whose last seconds nothing happened; nothing may run."""
        time.sleep(QUIET_S)
        while not (sample := cls.of(cluster)).off_tick:
            time.sleep(1)
        return sample

    def request(self, log: Path, files: Mapping[str, Path]) -> SshareRequest:
        """A request for the same instant; ``files`` are those of ``described``."""
        return SshareRequest(
            sacct=(log,),
            associations=files["assoc"],
            qos=files["qos"],
            partitions=files["partitions"],
            slurm_conf=files["conf"],
            zone="UTC",
            as_of=str(self.at),
            phase=str(self.tick),
        )

    @property
    def off_tick(self) -> bool:
        """Whether usage was neither recalculated just then nor about to be."""
        return QUIET_S < self.at - self.tick < Cluster.tick_s - QUIET_S


class Sampling:
    """Samples, every few seconds while the block runs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._samples: list[Sample] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._take)

    def _take(self) -> None:
        while not self._over.wait(3):
            self._samples.append(Sample.of(self._cluster))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def quiet(self) -> list[Sample]:
        """All but those in whose last seconds a job began or ended, or usage was recalculated.

        Which of them sshare saw first is chance.
        """
        records = accounted(self._cluster)
        events = {second for one in records for second in (one.start, one.end) if second}
        found = [
            sample
            for sample in self._samples
            if sample.off_tick and not any(0 <= sample.at - event <= QUIET_S for event in events)
        ]
        running = [
            sample
            for sample in found
            if any(one.start and one.end and one.start < sample.at < one.end for one in records)
        ]
        assert len(running) > 3, self._samples
        return found[:: len(found) // 10 or 1]


def described(cluster: Cluster, folder: Path) -> Mapping[str, Path]:
    """Files with what Slurm's programs print of accounts and settings, by what they are of."""
    folder.mkdir(exist_ok=True)
    shown = "format=cluster,account,user,partition,share,parentname,id,grptresmins"
    commands: Mapping[str, Sequence[str]] = {
        "assoc": ("sacctmgr", "-P", "show", "assoc", "where", f"cluster={cluster.name}", shown),
        "qos": ("sacctmgr", "-P", "show", "qos"),
        "partitions": ("scontrol", "show", "partition"),
        "conf": ("scontrol", "show", "config"),
    }
    files = {name: folder / name for name in commands}
    for name, command in commands.items():
        files[name].write_text(cluster.run(*command))
    return files


def compare_shares(
    cluster: Cluster, folder: Path, samples: Sequence[Sample], since: int | None = None
) -> None:
    """`fairaudit sshare`, from files, prints line by line what sshare printed.

    Args:
        cluster: whose.
        folder: for what Slurm's programs print now.
        samples: what it printed, at several instants.
        since: when usage was reset (epoch s), if it was.
    """
    files = described(cluster, folder)
    first = "now-1day" if since is None else f"uts{since}"
    words = f"--allusers --allocations --duplicates --parsable2 --format=ALL --state={STATES}"
    text = cluster.run("sacct", *words.split(), f"--starttime={first}", "--endtime=now")
    (folder / "sacct").write_text(text)
    for sample in samples:
        (folder / f"sample-{sample.at}").write_text(sample.text)  # to examine a failure
        request = sample.request(folder / "sacct", files)
        ours = psv(recompute(request, config.Config()))
        assert ours.splitlines() == sample.text.splitlines()

"""A Slurm for tests: clusters on one machine, with accounting; only the nodes are simulated.

Everything is in one folder and listens on loopback alone. No service of the machine is touched
and no user is added: jobs are those of users that every Debian has. Needs root (slurmd runs
jobs as their users) and the packages of ``PACKAGES``.

    python -m tests.slurm.lab FOLDER      # one cluster, until Ctrl-C; for looking around
    python -m tests.slurm.lab --missing   # why there can be none here; fails where that is so
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import pytest

PACKAGES: Final = (
    *("mariadb-server", "munge", "slurm-client", "slurm-wlm-basic-plugins"),
    *("slurm-wlm-mysql-plugin", "slurmctld", "slurmd", "slurmdbd"),
)
"""Of Debian; `make test-slurm` and .ci/run install them."""

_PROGRAMS: Final = (
    *("mariadb", "mariadb-admin", "mariadb-install-db", "mariadbd", "munged"),
    *("sacct", "sacctmgr", "sbatch", "scontrol", "slurmctld", "slurmd", "slurmdbd", "sshare"),
)
"""Borrowed: every Debian has them, and none of them does anything."""

_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_DATABASE: Final = """\
CREATE DATABASE slurm_acct_db;
CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '{password}';
GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';
"""

_SLURMDBD: Final = """\
AuthType=auth/munge
AuthInfo=socket={lab}/munge.sock
DbdAddr=127.0.0.1
DbdHost={host}
DbdPort={dbd}
SlurmUser=root
LogFile={lab}/slurmdbd.log
PidFile={lab}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={mariadb}
StorageUser=slurm
StoragePass={password}
StorageLoc=slurm_acct_db
"""

_SLURM: Final = """\
ClusterName={name}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A requeued job waits as long as its credential lasts.
AuthInfo=socket={lab}/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
ReturnToService=2
KillWait=2
MinJobAge=3600
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=3,sched_interval=3
PreemptType=preempt/qos
PreemptMode=REQUEUE
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityMaxAge=1-0
PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightJobSize=1000
PriorityWeightPartition=1000
PriorityWeightQOS=2000
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStoragePass={lab}/munge.sock
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits,qos
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobcomp.txt
"""

_NODE: Final = "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} {shape}\n"

SHAPE: Final = "CPUs=16 CoresPerSocket=16 RealMemory=64000 Gres=gpu:4"
"""Of a node, as in slurm.conf."""


def missing() -> str | None:
    """Why no lab can be started here; None where one can."""
    if os.geteuid() != 0:
        return "only root can run one: slurmd starts jobs as their users"
    programs = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    if programs:
        return f"no {', '.join(programs)} (as root: apt-get install {' '.join(PACKAGES)})"
    return None


@contextmanager
def started() -> "Iterator[Lab]":
    """A lab in a new folder; without Slurm, the test is skipped."""
    if reason := missing():
        pytest.skip(f"NOT TESTED against a live Slurm: {reason}")
    with tempfile.TemporaryDirectory(prefix="fairaudit-lab-", dir="/tmp") as name:
        Path(name).chmod(0o755)  # jobs are other users'
        with Lab(Path(name)) as lab:
            yield lab


def until(what: str, true: Callable[[], object], within_s: float = 60) -> None:
    """Waits until something is true.

    Raises:
        TimeoutError: it was not within the time.
    """
    deadline = time.monotonic() + within_s
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {within_s:g} s: {what}")
        time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    """Free ports; all are taken at once, so that they differ."""
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in held]
    finally:
        for one in held:
            one.close()


def _host() -> str:
    return socket.gethostname().partition(".")[0]


@dataclass
class Lab:
    """The accounting that clusters share: munge, MariaDB and slurmdbd."""

    folder: Path
    """Empty, with a short path that all users may enter: sockets are in it."""
    clusters: list["Cluster"] = field(default_factory=list)
    _daemons: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException as error:
            error.add_note(self.logs())
            self.stop()
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            error.add_note(self.logs())
        self.stop()

    def _start(self) -> None:
        lab = self.folder
        mariadb, self.dbd = _free_ports(2)
        password = secrets.token_hex(16)
        self._private("key", secrets.token_bytes(128))
        self.daemon(
            *("munged", "--foreground", "--force", f"--key-file={lab}/key"),
            *(f"--socket={lab}/munge.sock", f"--pid-file={lab}/munged.pid"),
            *(f"--log-file={lab}/munged.log", f"--seed-file={lab}/munge.seed"),
        )
        data = lab / "mariadb"
        data.mkdir(mode=0o700)
        shutil.chown(data, "mysql")
        place = ("--no-defaults", "--user=mysql", f"--datadir={data}")
        self.run(
            *("mariadb-install-db", *place, "--skip-test-db"),
            "--auth-root-authentication-method=normal",
        )
        self.daemon(
            *("mariadbd", *place, f"--socket={data}/sock", f"--pid-file={data}/pid"),
            *("--bind-address=127.0.0.1", f"--port={mariadb}", f"--log-error={data}/error.log"),
            *("--innodb-flush-log-at-trx-commit=2", "--innodb-lock-wait-timeout=900"),
        )
        client = ("--no-defaults", "--user=root", f"--socket={data}/sock")
        until("MariaDB answers", lambda: self.succeeds("mariadb-admin", *client, "ping"))
        self.run("mariadb", *client, input=_DATABASE.format(password=password))
        words = {"lab": lab, "host": _host(), "dbd": self.dbd, "mariadb": mariadb}
        self._private("slurmdbd.conf", _SLURMDBD.format(**words, password=password).encode())
        # slurmdbd looks for its file beside slurm.conf; clients need no more than this to reach it
        self._write("slurm.conf", self._client_conf())
        until("munge answers", (lab / "munge.sock").exists)
        self.daemon("slurmdbd", "-D")
        until("slurmdbd answers", lambda: self.succeeds("sacctmgr", "--noheader", "show", "qos"))

    def _client_conf(self) -> str:
        lines = _SLURM.format(
            name="lab", host=_host(), ctld=1, dbd=self.dbd, lab=self.folder, folder=self.folder
        )
        return lines + _NODE.format(node="none", host=_host(), port=1, shape=SHAPE)

    def _private(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def environment(self, conf: Path | None = None) -> dict[str, str]:
        """The environment of programs: only the cluster that they shall talk to."""
        path = conf or self.folder / "slurm.conf"
        return {"PATH": _PATH, "LANG": "C.UTF-8", "SLURM_CONF": str(path), "TZ": "UTC"}

    def daemon(self, *command: str, conf: Path | None = None) -> subprocess.Popen[bytes]:
        """Starts a program that stays until ``stop``; its log is a separate file."""
        program = shutil.which(command[0], path=_PATH)
        assert program is not None  # see `missing`
        process = subprocess.Popen(
            [program, *command[1:]],
            cwd=self.folder,
            env=self.environment(conf),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._daemons.append(process)
        return process

    def run(
        self,
        *command: str,
        conf: Path | None = None,
        user: str | None = None,
        input: str | None = None,
        check: bool = True,
    ) -> str:
        """Return the output of a program; as root, or as another user.

        Raises:
            RuntimeError: it failed.
        """
        other: dict[str, Any] = {}
        if user is not None:
            other = {"user": user, "group": user, "extra_groups": []}
        done: subprocess.CompletedProcess[str] = subprocess.run(
            command,
            cwd="/",
            env=self.environment(conf),
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **other,
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout

    def succeeds(self, *command: str, conf: Path | None = None) -> bool:
        """Whether a program ends well."""
        with suppress(RuntimeError):
            self.run(*command, conf=conf)
            return True
        return False

    def load(self, *lines: str) -> None:
        """Gives the accounting what a file of `sacctmgr dump` would hold: clusters and shares."""
        path = self.folder / "associations"
        path.write_text("\n".join([*lines, ""]))
        self.run("sacctmgr", "--immediate", "load", f"file={path}")

    def cluster(
        self, name: str, nodes: int | Mapping[str, str], settings: Mapping[str, str]
    ) -> "Cluster":
        """Starts a cluster, which the accounting must know already (``load``).

        Args:
            name: its name.
            nodes: the shape of each node by its name, or the number of nodes of ``SHAPE``.
            settings: lines of slurm.conf that add to the lab's own or replace them, by key; a
                partition's key is ``PartitionName=`` and its name, its value the rest of the line.
        """
        if isinstance(nodes, int):
            nodes = {f"{name}{number}": SHAPE for number in range(1, nodes + 1)}
        made = Cluster(self, name, dict(nodes), dict(settings))
        self.clusters.append(made)
        made.start()
        return made

    def logs(self) -> str:
        """The last lines of each of Slurm's logs."""
        found = sorted([*self.folder.glob("*.log"), *self.folder.glob("*/slurm*.log")])
        ends = {path: path.read_text(errors="replace").splitlines()[-8:] for path in found}
        return "\n".join(
            "\n  ".join([str(path.relative_to(self.folder)), *lines])
            for path, lines in ends.items()
        )

    def stop(self) -> None:
        """Ends all jobs and daemons, the last started first."""
        for cluster in self.clusters:
            cluster.end_jobs()
        for process in reversed(self._daemons):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._daemons.clear()
        for pid in self._strays():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _strays(self) -> list[int]:
        """Processes that daemons left: jobs' steps, which outlive their parents.

        They are known by the lab's folder in their environment.
        """
        mark = f"SLURM_CONF={self.folder}/".encode()
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (place / "environ").read_bytes():
                    found.append(int(place.name))
        return found


@dataclass
class Cluster:
    """One slurmctld with its nodes."""

    lab: Lab
    name: str
    nodes: dict[str, str]
    settings: dict[str, str]

    def __post_init__(self) -> None:
        self.folder = self.lab.folder / self.name
        self.folder.mkdir(mode=0o755)
        (self.folder / "state").mkdir()
        self.conf = self.folder / "slurm.conf"
        self._ports = _free_ports(len(self.nodes) + 1)

    def start(self) -> None:
        """Starts it, and waits until all nodes may be used."""
        self._write()
        (self.folder / "cgroup.conf").write_text(f"CgroupPlugin={self._without_cgroups()}\n")
        self.lab.daemon("slurmctld", "-D", conf=self.conf)
        until("slurmctld answers", lambda: self.lab.succeeds("scontrol", "ping", conf=self.conf))
        for node in self.nodes:
            (self.folder / f"spool-{node}").mkdir()
            self.lab.daemon("slurmd", "-D", "-N", node, conf=self.conf)
        until("all nodes are idle", lambda: self.states() == ["idle"] * len(self.nodes))

    def _without_cgroups(self) -> str:
        """The plugin that asks nothing of the machine: where there are no cgroups slurmd runs too.

        Without this setting slurmd looks for their file system, though nothing here uses them.
        """
        year, month = map(int, self.run("slurmd", "-V").split()[-1].split(".")[:2])
        return "disabled" if (year, month) >= (23, 11) else "cgroup/v1"

    def _write(self) -> None:
        ctld, *ports = self._ports
        text = _SLURM.format(
            name=self.name,
            host=_host(),
            ctld=ctld,
            dbd=self.lab.dbd,
            lab=self.lab.folder,
            folder=self.folder,
        )
        own = [line for line in text.splitlines() if line.split("=")[0] not in self.settings]
        nodes = [
            _NODE.format(node=node, host=_host(), port=port, shape=shape)
            for (node, shape), port in zip(self.nodes.items(), ports, strict=True)
        ]
        others = [
            f"{key}{' ' if key.startswith('PartitionName=') else '='}{value}"
            for key, value in self.settings.items()
        ]
        self._lines("slurm.conf", [*own, *nodes, *others])
        self._lines("gres.conf", filter(None, (self._gpus(*node) for node in self.nodes.items())))

    def _gpus(self, node: str, shape: str) -> str:
        """Return the line of gres.conf for a node's GPUs; empty files replace the devices."""
        found = re.search(r"Gres=gpu:(?:(\w+):)?(\d+)", shape)
        if found is None:
            return ""
        for number in range(int(found[2])):
            (self.folder / f"gpu{number}").touch()
        kind = f" Type={found[1]}" if found[1] else ""
        return f"NodeName={node} Name=gpu{kind} File={self.folder}/gpu[0-{int(found[2]) - 1}]"

    def _lines(self, name: str, lines: Iterable[str]) -> None:
        (self.folder / name).write_text("\n".join([*lines, ""]))

    def configure(self, **changes: str) -> None:
        """Changes its settings as an administrator would: the file, then `scontrol reconfigure`."""
        self.settings.update(changes)
        self._write()
        self.run("scontrol", "reconfigure")

    def run(self, *command: str, user: str | None = None, check: bool = True) -> str:
        """Return the output of one of Slurm's programs for this cluster."""
        return self.lab.run(*command, conf=self.conf, user=user, check=check)

    def states(self) -> list[str]:
        """The state of each node."""
        shown = self.run("sinfo", "--noheader", "-N", "-o", "%N %t").splitlines()
        return [line.split()[1] for line in sorted(set(shown))]

    def submit(self, user: str, *words: str, run: str = "true") -> str:
        """The id of a new job of a user, which runs a line of shell."""
        words = ("--parsable", "--output=/dev/null", *words, f"--wrap={run}")
        return self.run("sbatch", *words, user=user).strip().partition(";")[0]

    def state(self, job: str) -> str:
        """The state of a job now; empty once Slurm has forgotten it."""
        return self.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T", check=False).strip()

    def wait_for(self, job: str, state: str, within_s: float = 60) -> None:
        """Waits until a job is in a state."""
        until(f"job {job} is {state}", lambda: self.state(job) == state, within_s)

    tick_s: ClassVar[int] = 60
    """Seconds between recalculations of usage and priorities (PriorityCalcPeriod)."""

    def last_tick(self) -> int:
        """When usage and priorities were last recalculated (epoch s); 0 before the first time."""
        noted = self.folder / "state" / "priority_last_decay_ran"
        return int.from_bytes(noted.read_bytes()[:8], "big") if noted.exists() else 0

    def wait_for_tick(self, after: float) -> None:
        """Waits until usage has been recalculated after an instant (epoch s)."""
        until("usage was recalculated", lambda: self.last_tick() > after, self.tick_s + 20)

    def active(self) -> bool:
        """Whether any job waits or runs."""
        return bool(self.run("squeue", "--noheader"))

    def end_jobs(self) -> None:
        """Cancels what is left, and waits until none of it runs."""
        with suppress(RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            if jobs := self.run("squeue", "--noheader", "--format=%A").split():
                self.run("scancel", *jobs)
            until("no job is left", lambda: not self.active(), 20)


def _show(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    with Lab(folder.absolute()) as lab:
        lab.load("Cluster - 'lab':Fairshare=1:QOS='normal'", "Parent - 'root'")
        made = lab.cluster("lab", 2, {"PartitionName=batch": "Nodes=ALL Default=YES State=UP"})
        print(f"export SLURM_CONF={made.conf}", flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    if sys.argv[1] == "--missing":
        reason = missing()
        print(reason or "nothing is missing")
        sys.exit(reason is not None)
    _show(Path(sys.argv[1]))

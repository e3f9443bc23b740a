"""``fairaudit init --slurm``: asks the running Slurm for its settings and its latest jobs.

The commands only read. Their output is kept in files, of which ``init`` makes config.toml as it
does of files that a user names.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from audit import config, periods
from audit.cluster.declared import NodeFiles
from audit.cluster.slurm_files import SlurmFiles
from audit.errors import UsageError
from audit.files import privacy
from audit.formats.nodes import absences
from audit.formats.slurm import sacctmgr
from audit.nightly import sources
from audit.progress import OnProgress, silent
from audit.setup.init import Draft
from audit.words import EvidenceKind

FOLDER: Final = "slurm"
"""Folder beside config.toml that gets the output."""
JOBS: Final = (
    *("sacct", "--allusers", "--duplicates", "--allocations", "--parsable2"),
    *("--delimiter=\x1f", "--format=ALL", "--starttime={from}", "--endtime={to}"),
    "--state=BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,RS,RV,S,TO",
)
"""The command of scheduled runs, as in the shipped config.toml."""
_LOG: Final = "sacct.txt"
_SLURM_FILES: Final = {
    "slurm_conf": "config.txt",
    "partitions": "partitions.txt",
    "associations": "assoc.psv",
    "qos": "qos.psv",
}
QUEUE: Final = ("squeue", "--all", "--array", "--format=%i|%T|%r|%Q|%S")
"""The command with which each run asks about pending jobs, as in the shipped config.toml."""
_CONTROLLER_LOG: Final = re.compile(r"^SlurmctldLogFile\s*=\s*(/\S+)", re.MULTILINE)
_PRIVATE: Final = re.compile(r"^PrivateData\s*=.*\bjobs\b", re.MULTILINE)
_SHOWN: Final = 200  # maximum characters of a command's complaint that are shown
_ZONE_OF: Final = re.compile(r"zoneinfo/(?:posix/|right/)?(.+)$")


class SlurmCommand(NamedTuple):
    """A command, and the file that gets its output."""

    file: str
    command: tuple[str, ...]
    without: str | None = None
    """The remedy where the output is missing; None if fairaudit needs it."""
    timeout_s: int = 60

    @property
    def title(self) -> str:
        """The program and what it shows, without options."""
        return " ".join(word for word in self.command if word.isalpha())

    @property
    def shown(self) -> str:
        """The command as a user would type it."""
        return f"{' '.join(map(_typed, self.command))} > {FOLDER}/{self.file}"


class CommandPlan(NamedTuple):
    """The commands in their order, and the source of later runs."""

    zone: str
    source: config.SourceConfig
    queries: tuple[SlurmCommand, ...]


@dataclass(frozen=True)
class SlurmOutput:
    """The output of Slurm's programs."""

    log: Path
    files: SlurmFiles
    machines: NodeFiles
    warnings: tuple[str, ...]
    controller_log: Path | None = None
    """slurmctld.log, if it can be read here."""

    @property
    def repeated(self) -> str:
        """The command that uses the files again, without asking Slurm."""
        flags = {"associations": "assoc"}
        given = self.files.given | self.machines.given
        options = [
            word
            for key, path in given.items()
            for word in (f"--{flags.get(key, key).replace('_', '-')}", str(path))
        ]
        return shlex.join(["fairaudit", "init", str(self.log), *options])


def plan(now: datetime, weeks: int, zone: str) -> CommandPlan:
    """Return what to ask about the last weeks; ``now`` is aware, ``zone`` that of the cluster."""
    in_zone = periods.zone(zone)
    since = now.astimezone(in_zone).date() - timedelta(weeks=weeks)
    source = config.SourceConfig(command=JOBS, since=since)
    window = sources.SourceWindow(since, periods.day_start(since, in_zone), int(now.timestamp()))
    jobs = tuple(sources.words(source, zone, window))
    commands = (
        ("config.txt", "scontrol show config", None),
        (
            "partitions.txt",
            "scontrol show partition -o",
            "partitions that share nodes are inferred from the jobs",
        ),
        ("nodes.txt", "scontrol show node -o", "nodes are described by sinfo"),
        ("qos.psv", "sacctmgr -P show qos", "limits and usage factors of QOS are unknown"),
        (
            "assoc.psv",
            f"sacctmgr -P show assoc format={sacctmgr.FORMAT}",
            "shares and limits of accounts and users are unknown",
        ),
        ("events.psv", f"{absences.EVENTS} start={since}", "drained nodes count as available"),
        (
            "reservations.psv",
            f"{absences.RESERVATIONS} start={since}",
            "reservations are inferred from their jobs",
        ),
        ("sinfo.psv", "sinfo -a -N -o %all", "only scontrol describes nodes"),
    )
    queries = [SlurmCommand(file, tuple(text.split()), without) for file, text, without in commands]
    queries.append(SlurmCommand(_LOG, jobs, timeout_s=source.timeout_s))
    return CommandPlan(zone, source, tuple(queries))


def ask(asked: CommandPlan, folder: Path, on_progress: OnProgress = silent) -> SlurmOutput:
    """Run the commands, and write their output to files in ``folder``.

    A command that fails is a warning if fairaudit can do without it.

    Raises:
        UsageError: a command that fairaudit needs fails, takes too long or prints nothing.
        SourceError: the system does not know the zone.
        OSError: the folder or a file cannot be written.
    """
    environment = sources.minimal_environment((), asked.zone)
    privacy.own_folder(folder)
    found: dict[str, Path] = {}
    warnings = []
    for number, query in enumerate(asked.queries):
        on_progress("asking Slurm", number, len(asked.queries))
        path = folder / query.file
        fault = _fault(query, path, environment)
        if fault is None:
            found[query.file] = path
        elif query.without is None:
            raise UsageError(f"{fault}; run --slurm where Slurm's programs work, or name files")
        else:
            warnings.append(f"{fault}; without it, {query.without}")
    on_progress("asking Slurm", len(asked.queries), len(asked.queries))
    conf = found["config.txt"].read_text(encoding="utf-8", errors="replace")
    if _PRIVATE.search(conf):
        warnings.append(
            "PrivateData hides other users' jobs from ordinary users: run fairaudit as SlurmUser, "
            "or as a user with the AdminLevel Operator"
        )
    files = {key: found.get(name) for key, name in _SLURM_FILES.items()}
    nodes = found.get("nodes.txt") or found.get("sinfo.psv")
    machines = NodeFiles(nodes, found.get("events.psv"), found.get("reservations.psv"))
    log = _CONTROLLER_LOG.search(conf)
    controller_log = Path(log[1]) if log and os.access(log[1], os.R_OK) else None
    return SlurmOutput(found[_LOG], SlurmFiles(**files), machines, tuple(warnings), controller_log)


def pulled(
    draft: Draft, asked: CommandPlan, answers: SlurmOutput, *, zone_of_machine: bool
) -> Draft:
    """Return the draft with a source and evidence that ask Slurm again in each run."""
    facts = [fact for fact in draft.facts if not fact.what.startswith("logs ")]
    notes = dict(draft.notes)
    if zone_of_machine:
        origin = "the clock of this machine"
        facts = [replace(one, source=origin) if one.what == "time zone" else one for one in facts]
        notes["clusters.zone"] = f"From {origin}."
    evidence = [config.EvidenceConfig(kind=EvidenceKind.SQUEUE, command=QUEUE)]
    if answers.controller_log is not None:  # also those that logrotate has moved
        files = f"{answers.controller_log}*"
        evidence.append(config.EvidenceConfig(kind=EvidenceKind.CTLD_LOG, files=files))
    return replace(
        draft, sources=(asked.source,), evidence=tuple(evidence), facts=tuple(facts), notes=notes
    )


def machine_zone(environment: Mapping[str, str] = os.environ, etc: Path = Path("/etc")) -> str:
    """Return the IANA name of the machine's time zone; UTC if it is unknown."""
    names = [environment.get("TZ", "").lstrip(":")]
    with suppress(OSError):
        names.append(str((etc / "localtime").readlink()))
    with suppress(OSError):
        names.append((etc / "timezone").read_text(encoding="utf-8", errors="replace").strip())
    for name in names:
        match = _ZONE_OF.search(name)
        with suppress(UsageError):
            return periods.zone(match[1] if match else name).key
    return "UTC"


def _fault(query: SlurmCommand, path: Path, environment: Mapping[str, str]) -> str | None:
    """Run a command with its output to a file; return what went wrong, and then no file stays."""
    try:
        code, complaint = sources.output(
            query.command, path.parent, environment, path, query.timeout_s
        )
        if not code and path.stat().st_size:
            return None
        fault = f"failed with {sources.ending(code)}" if code else "printed nothing"
        fault += f" ({complaint.splitlines()[-1][:_SHOWN]})" if complaint else ""
    except subprocess.TimeoutExpired:
        fault = f"took longer than {query.timeout_s} s"
    except (FileNotFoundError, PermissionError):
        fault = f"cannot be run: there is no program {query.command[0]!r} in PATH"
    path.unlink(missing_ok=True)
    return f"{query.title!r} {fault}"


def _typed(word: str) -> str:
    """Return a word of a command in the syntax of bash."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + word.encode("unicode_escape").decode() + "'"

"""Files with the output of Slurm's programs about accounts, users, QOS and partitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from audit.cluster import fairshare
from audit.cluster.inference import Fact
from audit.errors import UsageError
from audit.formats.slurm import sacctmgr, scontrol
from audit.formats.slurm.limits import limits_of
from audit.formats.slurm.sacctmgr import Association, Fault, Qos
from audit.formats.slurm.slurm_conf import SlurmConf
from audit.model import Declared, Limit
from audit.words import first_of

FLAGS: Final = {
    "partitions": "--partitions",
    "associations": "--assoc",
    "qos": "--qos",
    "slurm_conf": "--slurm-conf",
}
_SHOWN: Final = 10  # maximum number of faults of a file that are listed
T = TypeVar("T")


@dataclass(frozen=True)
class SlurmFiles:
    """Files with the output of Slurm's programs."""

    partitions: Path | None = None
    """``scontrol show partition``."""
    associations: Path | None = None
    """``sacctmgr show assoc`` or ``dump``."""
    qos: Path | None = None
    """``sacctmgr show qos``."""
    slurm_conf: Path | None = None  # slurm.conf, or ``scontrol show config``

    @property
    def given(self) -> dict[str, Path]:
        """The files that were given, by their keys in ``[clusters.usage]``."""
        paths = {key.name: getattr(self, key.name) for key in fields(self)}
        return {key: path for key, path in paths.items() if path is not None}

    @property
    def tell_usage(self) -> bool:
        """Whether they describe usage as well as hardware."""
        return bool(self.given.keys() - {"partitions"})


NO_FILES: Final = SlurmFiles()


@dataclass(frozen=True)
class SlurmContent:
    """The content of the files; empty without a file."""

    files: SlurmFiles
    listing: scontrol.PartitionListing | None = None
    associations: tuple[Association, ...] = ()
    qos: tuple[Qos, ...] = ()
    conf: SlurmConf | None = None
    silent: tuple[str, ...] = ()  # names of the files that have no columns for limits

    @property
    def cluster(self) -> Fact | None:
        """The cluster's name in the files."""
        names = (
            (self.listing.cluster if self.listing else None, self.files.partitions),
            (self.conf.cluster if self.conf else None, self.files.slurm_conf),
            *((row.cluster, self.files.associations) for row in self.associations),
        )
        return next((Fact("cluster", name, str(path)) for name, path in names if name), None)


def texts(files: SlurmFiles) -> dict[str, str]:
    """Return the text of each file by its key, or raise UsageError."""
    found = {}
    for key, path in files.given.items():
        try:
            found[key] = fairshare.text(path)
        except FileNotFoundError as error:
            raise UsageError(f"{path}: no such file ({FLAGS[key]})") from error
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror} ({FLAGS[key]})") from error
    return found


def read(
    files: SlurmFiles, by_key: Mapping[str, str], cluster: str | None, *, shares: bool = True
) -> SlurmContent:
    """Return the content of the files, whose ``texts`` are given; they may name the cluster.

    Without ``shares``, only limits are needed of associations.

    Raises UsageError, with the faults of all files, if a file is not what its flag expects.
    """
    faults: list[str] = []

    def content(key: str, reader: Callable[[str], tuple[T, Sequence[Fault]]]) -> T | None:
        if key not in by_key:
            return None
        parsed, wrong = reader(by_key[key])
        path, flag = files.given[key], FLAGS[key]
        faults.extend(
            f"{path}{f':{fault.line}' if fault.line else ''}: {fault.text} ({flag})"
            for fault in wrong[:_SHOWN]
        )
        if len(wrong) > _SHOWN:
            faults.append(f"{path}: and {len(wrong) - _SHOWN} more ({flag})")
        return parsed

    listing = content("partitions", lambda text: _partitions(text, billed=files.tell_usage))
    conf = content("slurm_conf", fairshare.slurm_settings)
    for named in (listing, conf):
        cluster = cluster or (named.cluster if named else None)
    listed = partial(fairshare.associations, cluster=cluster, shares=shares)
    rows = content("associations", listed)
    qos = content("qos", sacctmgr.qualities)
    if faults:
        raise UsageError("\n".join(faults))
    silent = tuple(
        files.given[key].name
        for key in ("associations", "qos")
        if key in by_key and not sacctmgr.tells_limits(by_key[key])
    )
    return SlurmContent(files, listing, tuple(rows or ()), tuple(qos or ()), conf, silent)


def _partitions(text: str, *, billed: bool) -> tuple[scontrol.PartitionListing, Sequence[Fault]]:
    listing = scontrol.read(text)
    if not listing.partitions:
        remedy = "--partitions expects the output of 'scontrol show partition'"
        return listing, [Fault(0, f"no list of partitions; {remedy}")]
    return listing, fairshare.partitions(text)[1] if billed else ()


class FoundLimits(NamedTuple):
    """The limits that files state and Slurm enforces."""

    limits: tuple[Limit, ...]
    facts: tuple[Fact, ...]  # what is left out, not enforced or unknown, and their number


def limits(content: SlurmContent) -> FoundLimits:
    """Return the limits in the files, without those that Slurm does not enforce."""
    facts = []
    listed = content.listing.partitions if content.listing is not None else ()
    found = limits_of(content.associations, content.qos, listed)
    if content.conf is not None and not content.conf.limits_enforced:
        of_partitions = limits_of((), (), listed)
        if found.limits != of_partitions.limits and content.files.slurm_conf is not None:
            where = f"{content.files.slurm_conf.name} (AccountingStorageEnforce)"
            facts.append(Fact("limits of accounts, users and QOS", "not enforced", where))
        found = of_partitions
    elif content.silent:
        silent = ", ".join(content.silent)
        remedy = f"'sacctmgr -P show assoc format={sacctmgr.FORMAT}' and 'sacctmgr -P show qos'"
        why = f"{silent}: no columns for limits, so limits are unknown; use the output of {remedy}"
        facts.append(Fact("unknown limits", silent, "its columns", why))
    names = [path.name for key, path in content.files.given.items() if key != "slurm_conf"]
    source = ", ".join(names)
    if found.left_out:
        facts.append(Fact("limits left out", first_of(found.left_out), source))
    if found.limits:
        facts.append(Fact("limits", f"{len(found.limits):,}", source))
    return FoundLimits(found.limits, tuple(facts))


def with_files(
    declared: Declared, files: SlurmFiles, cluster: str
) -> tuple[Declared, tuple[Fact, ...]]:
    """Return what is declared with the limits in the files, and facts about these.

    With declared nodes, slurm.conf also says whether Slurm allocates memory.

    Raises UsageError as ``texts`` and ``read``, or if the limits of PBS are declared too.
    """
    if not files.given:
        return declared, ()
    if declared.limits:
        first, *_ = (FLAGS[key] for key in files.given)
        raise UsageError(f"--qmgr and {first}: give the limits of one scheduler, PBS or Slurm")
    content = read(files, texts(files), cluster, shares=False)
    found, conf = limits(content), content.conf
    if declared.nodes and conf is not None and conf.select_parameters:
        declared = declared._replace(counts_memory=conf.counts_memory)
    return declared._replace(limits=found.limits, limits_of="slurm"), found.facts

"""A job whose cost in FairShare is asked: ``sshare --explain USER --job cpus=64,walltime=4h``."""

from typing import Final, NamedTuple

import polars as pl

from audit.errors import UsageError
from audit.metrics.slurm.usage import charge
from audit.oneoff.requests import memory, typed_gpus, walltime, whole_number
from audit.oneoff.sshare.recompute import SshareBasis
from audit.progress import printable

MIB: Final = 1 << 20  # the base unit of memory in TRESBillingWeights
NAMES: Final = ("cpus", "nodes", "mem", "gpus", "walltime", "partition", "qos")


class SharedJob(NamedTuple):
    """A job as slurmctld would charge it."""

    words: str
    lasts_s: int
    penalty: float  # billing × UsageFactor


def job_of(text: str, basis: SshareBasis) -> SharedJob:
    """Return the job that ``NAME=VALUE,…`` requests, charged by the site's weights and factors.

    Without a partition it is in the one that most of the jobs ran in; likewise its QOS.

    Raises UsageError if the text is malformed, or names an unknown partition or QOS.
    """
    given: dict[str, str] = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        if name not in NAMES or not value:
            raise UsageError(f"--job {text!r}: write NAME=VALUE,…; NAME is {', '.join(NAMES)}")
        given[name] = value
    if not {"cpus", "walltime"} <= given.keys():
        raise UsageError(f"--job {text!r}: needs at least cpus=N and walltime=LENGTH")
    lasts = walltime(given["walltime"])
    kept = {name: _usual(basis, name, given.get(name)) for name in ("partition", "qos")}
    gpus, typed = typed_gpus(given.get("gpus"))
    held = memory(given.get("mem"))
    amounts = {
        "cpu": whole_number("cpus", given["cpus"]),
        "node": whole_number("nodes", given.get("nodes", "1")),
        "mem": None if held is None else held // MIB,
        "gres/gpu": gpus,
    }
    if typed is not None:
        amounts[f"gres/gpu:{typed.partition(':')[0]}"] = gpus
    known = {name: amount for name, amount in amounts.items() if amount is not None}
    row = pl.DataFrame(
        {**{name: [value] for name, value in kept.items()}, "start_time": [basis.at]},
        schema={"partition": pl.String, "qos": pl.String, "start_time": pl.Int64},
    )
    found = charge(
        row,
        {name: pl.Series([float(amount)]) for name, amount in known.items()},
        *(basis.site.weights, basis.site.factors, basis.site.conf.flags),
    )
    where = ", ".join(f"{name} {printable(value)}" for name, value in kept.items() if value)
    asked = ", ".join(
        f"{name}={printable(given[name])}" for name in given if name not in ("partition", "qos")
    )
    words = f"A job of {asked}" + (f" ({where})" if where else "")
    return SharedJob(words, lasts, float(found.attempts["penalty"][0]))


def _usual(basis: SshareBasis, column: str, given: str | None) -> str | None:
    known = basis.jobs.attempts[column].drop_nulls()
    configured = basis.site.weights if column == "partition" else basis.site.factors
    if given is None:
        return None if known.is_empty() else str(known.mode().sort()[0])
    if given not in configured and not (known == given).any():
        listed = ", ".join(map(printable, sorted({*configured, *known.unique()})[:20]))
        raise UsageError(f"--job: there is no {column} {printable(given)}; there is: {listed}")
    return given

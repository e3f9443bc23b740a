"""The output of Slurm's programs, and the configuration that follows from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from audit import config
from audit.cluster import slurm_files
from audit.cluster.inference import Fact
from audit.cluster.slurm_files import FLAGS, SlurmContent
from audit.formats.slurm import scontrol
from audit.formats.slurm.sacctmgr import Qos
from audit.formats.slurm.slurm_conf import DAY, SlurmConf
from audit.model import Limit, Placement, PreemptionRule
from audit.policies import Backfill, Order
from audit.words import Algorithm, first_of

_SHARED: Final = "limits of accounts, users and QOS hold over all pools; here each has its own"


@dataclass
class UsageDraft:
    """The section ``[clusters.usage]``, and the sources of its values."""

    values: dict[str, Any]
    notes: dict[str, str] = field(default_factory=dict)  # comments by key
    facts: list[Fact] = field(default_factory=list)

    @property
    def usage(self) -> config.UsageConfig:
        """The section."""
        return config.UsageConfig.model_validate(self.values)

    def put(self, key: str, value: object, note: str) -> None:
        """Set a key and its comment."""
        self.values[key] = value
        self.notes[key] = note


def usage(content: SlurmContent, paths: Mapping[str, str]) -> UsageDraft:
    """Return how usage is charged, decays and is compared with shares according to the files."""
    draft = UsageDraft(dict(paths))
    _decay(content, draft)
    _billing(content, draft)
    _shares(content, draft)
    return draft


def _decay(content: SlurmContent, draft: UsageDraft) -> None:
    conf, path = content.conf or SlurmConf(), content.files.slurm_conf
    source = path.name if path else "Slurm's defaults"
    reset = "none" if conf.reset == "now" else conf.reset
    draft.put("method", "slurm", "As in Slurm, so that figures equal those of sshare.")
    draft.put("half_life_days", conf.half_life_s / DAY, _from_conf(path, "PriorityDecayHalfLife"))
    draft.put("reset", reset, _from_conf(path, "PriorityUsageResetPeriod"))
    draft.put("recalculation_s", conf.period_s, _from_conf(path, "PriorityCalcPeriod"))
    warning = None
    if not conf.half_life_s and reset == "none":
        why = f'usage never decays according to {source}, which method "slurm" does not support'
        warning = f"{why}: usage is summed over windows instead"
        draft.put("method", "windows", f"To check: {why}.")
        del draft.values["half_life_days"], draft.notes["half_life_days"]
    elif path is None:
        warning = "the decay of usage is unknown, so Slurm's defaults are used (--slurm-conf)"
    decay = f"half-life {conf.half_life_s / DAY:g} days" if conf.half_life_s else "no half-life"
    settings = f"{decay}, reset {reset}, recalculated every {conf.period_s} s"
    draft.facts.append(Fact("decay of usage", settings, source, warning))
    if path is not None:
        draft.notes["slurm_conf"] = (
            "It overrides half_life_days, reset, recalculation_s and max_tres above."
        )
        draft.facts += [Fact("not read", note, source, f"{path}: {note}") for note in conf.notes]


def _billing(content: SlurmContent, draft: UsageDraft) -> None:
    conf, files = content.conf or SlurmConf(), content.files
    draft.put("penalty", "billing", "As billed by Slurm, times the usage factor of the QOS.")
    draft.put("max_tres", "MAX_TRES" in conf.flags, _from_conf(files.slurm_conf, "PriorityFlags"))
    what = "billing weights"
    if content.listing is not None and files.partitions is not None:
        weights = {part.name: part.billing_weights for part in content.listing.partitions}
        draft.notes["partitions"] = f"Jobs are billed by {_weighted(weights)}."
        draft.facts.append(Fact(what, _weighted(weights), files.partitions.name))
    elif conf.partitions and files.slurm_conf is not None:
        draft.facts.append(Fact(what, _weighted(conf.partitions), files.slurm_conf.name))
    else:
        why = "TRESBillingWeights are unknown (--partitions), so jobs are billed their CPUs"
        draft.put("billing_weights", {"cpus": 1.0}, f"To check: {why}.")
        draft.facts.append(Fact(what, "cpus 1", "Slurm's default", why))
    if content.qos and files.qos is not None:
        factors = first_of([f"{quality.name} {quality.usage_factor:g}" for quality in content.qos])
        draft.notes["qos"] = f"Usage factors: {factors}."
        draft.facts.append(Fact("usage factors", factors, files.qos.name))


def _shares(content: SlurmContent, draft: UsageDraft) -> None:
    conf, files = content.conf or SlurmConf(), content.files
    if files.associations is None:
        return
    users = sum(row.user is not None for row in content.associations)
    accounts = len(content.associations) - users
    tree = f"{accounts:,} accounts with {users:,} associations of users"
    draft.notes["associations"] = f"The share tree: {tree}."
    draft.facts.append(Fact("share tree", tree, files.associations.name))
    algorithm = Algorithm.fair_tree if conf.fair_tree else Algorithm.classic
    draft.put("operator", algorithm.value, _from_conf(files.slurm_conf, "PriorityFlags"))
    source = files.slurm_conf.name if files.slurm_conf else "Slurm's default"
    warning = None
    if not conf.fair_tree and "DEPTH_OBLIVIOUS" in conf.flags:
        warning = f"{source}: only 'fairaudit sshare' supports DEPTH_OBLIVIOUS"
    draft.facts.append(Fact("fairshare", algorithm.value, source, warning))


def policy(content: SlurmContent, facts: list[Fact]) -> dict[str, Any]:
    """Return Slurm's policy by keys of ``[[clusters.pools]]``; empty if the files lack it.

    ``bf_window`` bounds how far ahead Slurm plans, not the walltime of jobs that overtake, so it is
    not ``window_s``.
    """
    conf, files = content.conf, content.files
    if conf is None or files.slurm_conf is None or not conf.multifactor:
        return {}
    source, missing = files.slurm_conf.name, FLAGS.keys() - files.given.keys()
    if missing:
        flags = " and ".join(sorted(FLAGS[key] for key in missing))
        why = f"Slurm's priorities need {flags}; fcfs is assumed"
        facts.append(Fact("order of the queue", "fcfs", source, why))
        return {}
    weights = ", ".join(f"{name} {weight:g}" for name, weight in conf.weights.items())
    facts.append(Fact("order of the queue", f"multifactor: {weights or 'no weight'}", source))
    if conf.scheduler != "sched/backfill":
        facts.append(Fact("backfilling", "none", f"{source} (SchedulerType)"))
        return {"order": Order.multifactor, "backfill": Backfill.none}
    depth = conf.parameter("bf_max_job_test", 500)
    every = conf.parameter("bf_interval", 30)
    resolution = conf.parameter("bf_resolution", 60)
    delay = conf.parameter("batch_sched_delay", 3)
    found = f"conservative_replan, of {depth} jobs, every {every} s, in steps of {resolution} s"
    facts.append(Fact("backfilling", found, f"{source} (SchedulerParameters)"))
    return {
        "order": Order.multifactor,
        "backfill": Backfill.conservative_replan,
        "depth": max(depth, 1),
        "interval_s": min(max(every, 1), 3_600),
        "resolution_s": min(max(resolution, 1), 3_600),
        **({"batch_delay_s": min(delay, 3_600)} if delay > 0 else {}),
    }


def allocation(content: SlurmContent, facts: list[Fact]) -> dict[str, Any]:
    """Return how nodes are allocated by keys of ``[[clusters.pools]]``; only what is no default."""
    conf, files = content.conf, content.files
    if conf is None or files.slurm_conf is None:
        return {}
    source, found = files.slurm_conf.name, dict[str, Any]()
    if conf.select == "select/linear":
        facts.append(Fact("allocation", "whole nodes", f"{source} (SelectType)"))
        found["exclusive_nodes"] = True
    lln = "CR_LLN" in conf.select_parameters
    found["placement"] = Placement.least_loaded if lln else Placement.consecutive
    facts.append(Fact("placement", found["placement"].value, f"{source} (SelectTypeParameters)"))
    if not conf.counts_memory:
        facts.append(Fact("memory", "not allocated", f"{source} (SelectTypeParameters)"))
    return found


def without_memory(pool: config.PoolConfig) -> config.PoolConfig:
    """Return a pool whose memory does not limit jobs."""
    capacity = pool.capacity.model_copy(update={"mem_bytes": None})
    return pool.model_copy(update={"capacity": capacity})


def preemption(
    content: SlurmContent, pools: Sequence[config.PoolConfig], facts: list[Fact]
) -> tuple[tuple[PreemptionRule, ...], ...]:
    """Return which jobs of each pool give way to which, by partition or by QOS.

    Suspended jobs are not simulated, which is reported.
    """
    conf, path = content.conf, content.files.slurm_conf
    if conf is None or path is None:
        return ((),) * len(pools)
    made, left_out = list[tuple[PreemptionRule, ...]](), set[str]()
    for pool in pools:
        key, sides = _sides(conf, content, pool)
        rules: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for one, above in sides:
            modes = {one.preempt_mode} if one.preempt_mode else conf.preempt_modes
            mode = next((mode for mode in ("off", "requeue", "cancel") if mode in modes), None)
            if mode is None:
                left_out |= modes
            elif mode != "off" and above:
                rules.setdefault((mode, above), []).append(one.name)
        found = []
        for (mode, above), names in rules.items():
            requeue_s = conf.credentials_s + 1 if mode == "requeue" else None
            rule = {key: tuple(names), f"by_{key}": above, "requeue_s": requeue_s}
            found.append(PreemptionRule.model_validate(rule))
            facts.append(Fact("preemption", f"{first_of(names)} by {first_of(above)}", path.name))
        made.append(tuple(found))
    if left_out:
        why = f"PreemptMode {', '.join(sorted(left_out))} is not simulated"
        facts.append(Fact("preemption", "partly left out", path.name, why))
    return tuple(made)


def _sides(
    conf: SlurmConf, content: SlurmContent, pool: config.PoolConfig
) -> tuple[str, list[tuple[scontrol.Partition | Qos, tuple[str, ...]]]]:
    """Return what a rule names, and the partitions of a pool, or all QOS.

    Each has those to which its jobs may have to give way.
    """
    if conf.preempt_type == "preempt/partition_prio" and content.listing is not None:
        parts = [one for one in content.listing.partitions if one.name in pool.partitions]
        return "partition", [
            (one, tuple(other.name for other in parts if other.tier > one.tier)) for one in parts
        ]
    qos = content.qos if conf.preempt_type == "preempt/qos" else ()
    return "qos", [
        (one, tuple(other.name for other in qos if one.name in other.preempts)) for one in qos
    ]


def limits(
    content: SlurmContent, pools: Sequence[config.PoolConfig], facts: list[Fact]
) -> tuple[tuple[Limit, ...], ...]:
    """Return the limits of each pool in the files, as ``slurm_files.limits``.

    Limits of the whole cluster become limits of each pool, with a warning.
    """
    found = slurm_files.limits(content)
    shared = [limit for limit in found.limits if limit.partition is None]
    several = len(pools) > 1 and any(limit.per != "job" and limit.most for limit in shared)
    for fact in found.facts:
        facts.append(replace(fact, warning=_SHARED) if several and fact.what == "limits" else fact)

    def concerns(limit: Limit, pool: config.PoolConfig) -> bool:
        whole = not pool.partitions or limit.partition is None
        return whole or set(limit.partition or ()) <= set(pool.partitions)

    return tuple(tuple(limit for limit in found.limits if concerns(limit, pool)) for pool in pools)


def _from_conf(path: Path | None, setting: str) -> str:
    if path is None:
        return f"To check: Slurm's default, since no slurm.conf was given ({setting})."
    return f"From {path.name} ({setting}; Slurm's default if it is not set)."


def _weighted(partitions: Mapping[str, Mapping[str, float]]) -> str:
    have = [name for name, weights in partitions.items() if weights]
    bare = [name for name, weights in partitions.items() if not weights]
    parts = [f"TRESBillingWeights of {first_of(have)}"] if have else []
    parts += [f"the CPUs in {first_of(bare)}"] if bare else []
    return "; ".join(parts)

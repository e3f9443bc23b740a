"""config.toml, typed and frozen; all its faults are reported at once.

A test compares the shipped config.toml with the defaults here. Times are in seconds, amounts of
memory as in DuckDB (``4GB``).
"""

from audit.config.clusters import (
    DIGITS,
    PLACEHOLDERS,
    PREFIXES,
    AmountsConfig,
    Cluster,
    EvidenceConfig,
    OriginConfig,
    PeopleConfig,
    PoolConfig,
    SourceConfig,
    StepConfig,
)
from audit.config.compute import Compute, Slurm, Tls
from audit.config.file import (
    Config,
    Metrics,
    Output,
    ReportConfig,
    Simulation,
    Sql,
    Store,
    Threshold,
    Uncertainty,
    VerdictConfig,
    load,
)
from audit.config.runs import Ingest, Mail, Recipient, Retention, Service, allowed, is_loopback
from audit.config.sections import in_bytes
from audit.config.usage import ByResource, HardwareConfig, Nodes, Share, UsageConfig, Weights
from audit.rules import Limit, PreemptionRule, Window

__all__ = [
    "DIGITS",
    "PLACEHOLDERS",
    "PREFIXES",
    "AmountsConfig",
    "ByResource",
    "Cluster",
    "Compute",
    "Config",
    "EvidenceConfig",
    "HardwareConfig",
    "Ingest",
    "Limit",
    "Mail",
    "Metrics",
    "Nodes",
    "OriginConfig",
    "Output",
    "PeopleConfig",
    "PoolConfig",
    "PreemptionRule",
    "Recipient",
    "ReportConfig",
    "Retention",
    "Service",
    "Share",
    "Simulation",
    "Slurm",
    "SourceConfig",
    "Sql",
    "StepConfig",
    "Store",
    "Threshold",
    "Tls",
    "Uncertainty",
    "UsageConfig",
    "VerdictConfig",
    "Weights",
    "Window",
    "allowed",
    "in_bytes",
    "is_loopback",
    "load",
]

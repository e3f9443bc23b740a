"""config.toml, typed and frozen; all its faults are reported at once.

A test compares the shipped config.toml with the defaults here. Times are in seconds, amounts of
memory as in DuckDB (``4GB``).
"""

from audit.config.clusters import (
    DIGITS,
    PLACEHOLDERS,
    PREFIXES,
    Amounts,
    Cluster,
    EvidenceOrigin,
    Origin,
    People,
    Pool,
    Source,
    Step,
)
from audit.config.compute import Compute, Slurm, Tls
from audit.config.file import (
    Config,
    Metrics,
    Output,
    Report,
    Simulation,
    Sql,
    Store,
    Threshold,
    Uncertainty,
    Verdict,
    load,
)
from audit.config.hardware import Hardware, Nodes
from audit.config.runs import Ingest, Mail, Recipient, Retention, Service, allowed, is_loopback
from audit.config.sections import in_bytes
from audit.config.usage import ByResource, Share, Usage, Weights
from audit.rules import Limit, Preemption, Window

__all__ = ["DIGITS", "Amounts", "ByResource", "Cluster", "Compute", "Config", "Ingest"]
__all__ += ["EvidenceOrigin", "Hardware", "Nodes", "Origin"]
__all__ += ["PLACEHOLDERS", "PREFIXES", "Limit", "Mail", "Metrics", "Output", "People", "Pool"]
__all__ += ["Preemption"]
__all__ += ["Recipient", "Report", "Retention", "Service", "Share", "Simulation", "Slurm"]
__all__ += ["Source", "Sql", "Step", "Store", "Threshold", "Tls", "Uncertainty", "Usage"]
__all__ += ["Verdict", "Weights", "Window", "allowed", "in_bytes", "is_loopback", "load"]

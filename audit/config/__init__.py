"""config.toml: typed, frozen, and all its mistakes reported at once.

The shipped config.toml shows every key with its default, and is itself read by a test against the
defaults here. Time in seconds, memory as DuckDB writes it (``4GB``).
"""

from audit.config.clusters import PLACEHOLDERS, Cluster, Source
from audit.config.compute import Compute, Slurm, Tls
from audit.config.file import (
    Bound,
    Config,
    Metrics,
    Simulation,
    Threshold,
    Uncertainty,
    Verdict,
    load,
)
from audit.config.limits import Limit, Window
from audit.config.mail import Mail, Recipient, allowed
from audit.config.output import Output, Report, Sql, Store
from audit.config.people import DIGITS, PREFIXES, People
from audit.config.pools import Amounts, Pool, Step
from audit.config.runs import Ingest, Retention, Service, is_loopback
from audit.config.sections import in_bytes
from audit.config.usage import ByResource, Share, Usage, Weights

__all__ = [
    "DIGITS",
    "PLACEHOLDERS",
    "PREFIXES",
    "Amounts",
    "Bound",
    "ByResource",
    "Cluster",
    "Compute",
    "Config",
    "Ingest",
    "Limit",
    "Mail",
    "Metrics",
    "Output",
    "People",
    "Pool",
    "Recipient",
    "Report",
    "Retention",
    "Service",
    "Share",
    "Simulation",
    "Slurm",
    "Source",
    "Sql",
    "Step",
    "Store",
    "Threshold",
    "Tls",
    "Uncertainty",
    "Usage",
    "Verdict",
    "Weights",
    "Window",
    "allowed",
    "in_bytes",
    "is_loopback",
    "load",
]

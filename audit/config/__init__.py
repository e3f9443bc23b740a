"""config.toml, typed and frozen; all its faults are reported at once.

A test compares the shipped config.toml with the defaults here. Times are in seconds, amounts of
memory as in DuckDB (``4GB``).
"""

from audit.config.clusters import DIGITS as DIGITS
from audit.config.clusters import PLACEHOLDERS as PLACEHOLDERS
from audit.config.clusters import PREFIXES as PREFIXES
from audit.config.clusters import AmountsConfig as AmountsConfig
from audit.config.clusters import Cluster as Cluster
from audit.config.clusters import EvidenceConfig as EvidenceConfig
from audit.config.clusters import OriginConfig as OriginConfig
from audit.config.clusters import PeopleConfig as PeopleConfig
from audit.config.clusters import PoolConfig as PoolConfig
from audit.config.clusters import SourceConfig as SourceConfig
from audit.config.clusters import StepConfig as StepConfig
from audit.config.compute import Compute as Compute
from audit.config.compute import Slurm as Slurm
from audit.config.file import Config as Config
from audit.config.file import Metrics as Metrics
from audit.config.file import ReportConfig as ReportConfig
from audit.config.file import Uncertainty as Uncertainty
from audit.config.file import VerdictConfig as VerdictConfig
from audit.config.file import load as load
from audit.config.runs import Ingest as Ingest
from audit.config.runs import Mail as Mail
from audit.config.runs import Retention as Retention
from audit.config.runs import Service as Service
from audit.config.runs import allowed as allowed
from audit.config.runs import is_loopback as is_loopback
from audit.config.sections import in_bytes as in_bytes
from audit.config.usage import ByResource as ByResource
from audit.config.usage import HardwareConfig as HardwareConfig
from audit.config.usage import Nodes as Nodes
from audit.config.usage import Share as Share
from audit.config.usage import UsageConfig as UsageConfig
from audit.config.usage import Weights as Weights
from audit.rules import Limit as Limit
from audit.rules import PreemptionRule as PreemptionRule
from audit.rules import Window as Window

"""config.toml: typed, frozen, and all its faults reported at once.

A test compares the shipped config.toml with the defaults here. Times are in seconds, amounts of
memory as in DuckDB (``4GB``).
"""

from audit.config.clusters import PLACEHOLDERS as PLACEHOLDERS
from audit.config.clusters import Cluster as Cluster
from audit.config.clusters import Source as Source
from audit.config.compute import Compute as Compute
from audit.config.compute import Slurm as Slurm
from audit.config.compute import Tls as Tls
from audit.config.file import Bound as Bound
from audit.config.file import Config as Config
from audit.config.file import Metrics as Metrics
from audit.config.file import Output as Output
from audit.config.file import Report as Report
from audit.config.file import Simulation as Simulation
from audit.config.file import Sql as Sql
from audit.config.file import Store as Store
from audit.config.file import Threshold as Threshold
from audit.config.file import Uncertainty as Uncertainty
from audit.config.file import Verdict as Verdict
from audit.config.file import load as load
from audit.config.mail import Mail as Mail
from audit.config.mail import Recipient as Recipient
from audit.config.mail import allowed as allowed
from audit.config.people import DIGITS as DIGITS
from audit.config.people import PREFIXES as PREFIXES
from audit.config.people import People as People
from audit.config.pools import Amounts as Amounts
from audit.config.pools import Pool as Pool
from audit.config.pools import Step as Step
from audit.config.runs import Ingest as Ingest
from audit.config.runs import Retention as Retention
from audit.config.runs import Service as Service
from audit.config.runs import is_loopback as is_loopback
from audit.config.sections import in_bytes as in_bytes
from audit.config.usage import ByResource as ByResource
from audit.config.usage import Share as Share
from audit.config.usage import Usage as Usage
from audit.config.usage import Weights as Weights
from audit.rules import Limit as Limit
from audit.rules import Window as Window

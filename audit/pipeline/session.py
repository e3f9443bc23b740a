"""The arguments of a command for the functions that do its work."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from audit.cluster.inference import Fact
from audit.config import Config
from audit.pipeline.opening import LogRequest
from audit.progress import OnProgress, silent


def unheard(fact: Fact) -> None:
    """Report no inferred value."""


@dataclass(frozen=True)
class Session:
    """The data and the configuration of a command, and where it reports to."""

    request: LogRequest
    """The logs, if any."""
    config: Config = field(default_factory=Config)
    folder: Path = Path()
    """The folder of the configuration, to which its paths are relative."""
    database: Path | None = None
    """A published database, which is read where the request names no logs."""
    on_progress: OnProgress = silent
    on_inferred: Callable[[Fact], None] = unheard
    """Called with each value that is inferred from the logs."""
    fit: bool = True
    """Whether what the logs show of rules and policies is in force."""

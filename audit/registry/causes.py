"""The causes of waiting (SPEC §11, *Causes*).

Names of columns and measures, colours and phrases of each cause come from its entry here: the views
that analysts see, tables, charts, findings, ``fairaudit explain``, and pages and mails of users.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause. Phrases begin in lower case and have no full stop."""

    key: str
    booked: tuple[str, ...]
    """Its entries of ``metrics.waits.walk.BOOKED``."""
    label: str
    """Label of its share of all waiting in tables."""
    heading: str
    """Title of a column."""
    legend: str
    """In legends of charts."""
    clause: str
    """The state of one job, as in "for 3 h, …"."""
    meanwhile: str
    """Completes "9 % of all waiting time passed …"."""
    colour: tuple[str, str]
    """On light and on dark backgrounds."""
    optional: bool = False
    """Whether tables and charts leave it out if no job waited for it."""
    in_part: str = ""
    """``meanwhile`` in a part of the workload, which hides what was free; empty: the same."""

    @property
    def column(self) -> str:
        """The column with its part of a wait, in s."""
        return f"cause_{self.key}_s"

    @property
    def share(self) -> str:
        """The key of the measure of its share."""
        return f"cause_{self.key}_share"


# fmt: off
CAUSES: Final = (
    Cause("outside", ("outside",), "Before the log begins", "Before the log",
          "before the log begins",
          "the log had not begun, so it does not say what the job waited for",
          "before the log begins", ("#7d848b", "#707a84"), optional=True),
    Cause("held", ("held",), "Held: begin time, dependency, hold, array throttle, licence", "Held",
          "held", "a begin time, dependency, hold, array throttle or licence kept it from starting",
          "while a begin time, dependency, hold, array throttle or licence kept the job from "
          "starting", ("#8a6d3b", "#c9a66b"), optional=True),
    Cause("unavailable", ("unavailable",), "Machine down or too small", "Unavailable",
          "machine down or too small",
          "nothing ran in its pool or partition, or the pool had less than it requested",
          "while nothing ran in the pool or partition, or the pool had less than the job requested",
          ("#3d3530", "#e6dccf"), optional=True),
    Cause("rule", ("rule",), "Limit or rule of the site", "Rules", "limit or rule of the site",
          "a limit or closed hours did not allow it to start",
          "while a limit or closed hours did not allow the job to start",
          ("#a8327d", "#e07ab9"), optional=True),
    Cause("nodes", ("nodes",), "No single node has enough", "Nodes", "no single node has enough",
          "enough was free on its nodes together, but not on single nodes",
          "while enough was free on all nodes together, but not on single nodes",
          ("#b08a2e", "#d8b45c"), optional=True, in_part="because single nodes had too little"),
    Cause("own", ("own_queued", "own_running", "kept_own"), "The user's own jobs", "Own jobs",
          "the user's own jobs",
          "jobs of the same user used what it lacked, or were about to",
          "behind jobs of the same user", ("#2f8a64", "#3fa37c")),
    Cause("claimed", ("claimed",), "For a job ahead that was about to start", "Job ahead",
          "for a job ahead that was about to start",
          "enough was free, but jobs ahead that were about to start could use it",
          "while enough was free, but jobs ahead that were about to start could use it",
          ("#8793a0", "#75828f"), in_part="behind jobs ahead of it in the queue"),
    Cause("kept", ("kept",), "Kept for a bigger job ahead", "Kept ahead",
          "kept for a bigger job ahead",
          "enough was free, but a start would have delayed the planned start of a job ahead",
          "while enough was free, but kept for a bigger job ahead",
          ("#9c8200", "#e3c55c"), optional=True,
          in_part="behind bigger jobs ahead of it in the queue"),
    Cause("earlier", ("earlier",), "Machine full: earlier jobs", "Earlier jobs",
          "machine full: earlier jobs",
          "jobs of others that had arrived earlier used what it lacked",
          "behind running jobs of others that had arrived earlier", ("#4a90d0", "#7fbcf2")),
    Cause("later", ("later",), "Machine full: later jobs", "Later jobs",
          "machine full: later jobs", "jobs of others that had arrived later used what it lacked",
          "behind running jobs of others that had arrived later", ("#c24a17", "#f0763c")),
    Cause("cycle", ("cycle",), "Next look of the scheduler", "Next look",
          "next look of the scheduler",
          "enough was free, and the scheduler's next look at the queue was due",
          "while enough was free, until the scheduler's next look at the queue",
          ("#9c82cc", "#7b68a2"), in_part="until the scheduler's next look at the queue"),
    Cause("unexplained", ("unexplained",), "Enough was free, no reason in the log", "Unexplained",
          "unexplained",
          "enough was free, and the log does not say why it waited",
          "while enough was free, without a reason in the log",
          ("#5b3a94", "#9a70dd"), in_part="without an explanation"),
)
# fmt: on
"""All causes; a wait is the sum of its parts."""

COLUMNS: Final = tuple(cause.column for cause in CAUSES)


@dataclass(frozen=True, slots=True)
class Lack:
    """A resource that single nodes lacked during the cause *nodes*."""

    key: str
    resource: str
    """Column of the amount, or of all its types; ``FEATURES``; empty: several resources."""
    words: str
    """Completes "single nodes lacked …"."""
    remedy: str
    """A change that may help, as an imperative without a full stop."""

    @property
    def column(self) -> str:
        """The column with its part of ``cause_nodes_s``, in s."""
        return f"cause_nodes_{self.key}_s"

    @property
    def share(self) -> str:
        """The key of the measure of its share."""
        return f"cause_nodes_{self.key}_share"


FEATURES: Final = "constraints"
"""Column of the node features that an attempt requires."""

# fmt: off
LACKS: Final = (
    Lack("gpus", "gpus", "GPUs",
         "Place jobs of few GPUs on as few nodes as possible, keep nodes for jobs that need all "
         "GPUs of one, or let these jobs use fewer GPUs on more nodes"),
    Lack("mem", "mem_bytes", "memory",
         "Compare the memory that jobs request with what they use, or let these jobs use more "
         "nodes with less memory on each"),
    Lack("cpus", "cpus", "CPUs",
         "Place small jobs on as few nodes as possible, or let these jobs use fewer CPUs on more "
         "nodes"),
    Lack("feature", FEATURES, "the features that jobs require",
         "Check whether these jobs need the node features that they require"),
    Lack("whole", "nodes", "whole free nodes",
         "Place small jobs on as few nodes as possible, or keep nodes for jobs that need whole "
         "ones"),
    Lack("several", "", "several resources at once",
         "Place small jobs on as few nodes as possible, let these jobs use less on more nodes, or "
         "check whether they request CPUs, memory and GPUs in the proportion that nodes have them"),
)
# fmt: on
"""If a job lacks either of two resources, the first in this order is named."""

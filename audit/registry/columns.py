"""What is measured of single attempts, and of single users and accounts: columns of views.

Part of the registry of ``audit.metrics.measures``, whose units these are; docs/metrics.md and the
comments that analysts see beside a column come from here.
"""

from dataclasses import dataclass
from typing import Final

from audit.metrics.measures import AREA, ATTEMPTS, JOBS, NUWT, ONE, SECONDS, SLOWDOWN


@dataclass(frozen=True, slots=True)
class Column:
    """A measure of single attempts, or of single users and accounts, as a column of a view."""

    key: str
    unit: str
    meaning: str
    missing: str = ""
    """When it is NULL."""

    @property
    def comment(self) -> str:
        """What analysts read beside the column."""
        unit = "" if self.unit in (ONE, ATTEMPTS, JOBS) else self.unit
        null = f"NULL {self.missing}" if self.missing else ""
        return "; ".join(text for text in (self.meaning, unit, null) if text)


_NO_SIZE: Final = "where the size is unknown"
_NO_FST: Final = "without a fair start time"
_NO_WAIT: Final = "where no wait was taken apart"
_NO_PEERS: Final = "with fewer than 20 peers of 3 users"
_NO_FORWARD: Final = "without a forward start"
_NO_DECISION: Final = "where no decision was judged"
_PARTS: Final = (
    ("wait_room_s", "there was room for it, even after all before it took theirs"),
    ("wait_shared_s", "there was room for it, but others before it could claim that"),
    ("wait_own_s", "what it lacked was in use by attempts of its own user"),
    ("wait_earlier_s", "what it lacked was in use by others that had arrived before it"),
    ("wait_later_s", "what it lacked was in use by others that arrived after it"),
    ("wait_down_s", "the pool had less than it asked for"),
)

# One entry in two or three lines, so that they can be compared.
# fmt: off
OF_ATTEMPTS: Final = (
    Column("wait_s", SECONDS, "start − arrival"),
    *(Column(key, SECONDS, f"part of the wait in which {words}", _NO_WAIT)
      for key, words in _PARTS),
    Column("peer_wait_s", SECONDS, "mean over its peer users of their mean wait", _NO_PEERS),
    Column("decision", ONE, "whether the modelled policy would have started it when the site did: "
           "on_time, late, unforeseen (never before its start), over_capacity", _NO_DECISION),
    Column("kept_s", SECONDS, "part of wait_room_s in which the modelled policy kept the room for "
           "others", _NO_DECISION),
    Column("idle_s", SECONDS, "part of wait_room_s in which the modelled policy would have started "
           "it", _NO_DECISION),
    Column("idle_because", ONE, "the first that holds of idle_s: limit, window, unexplained",
           "where idle_s is 0 or NULL"),
    Column("overtaken_s", SECONDS, "start_modelled − fst_strict: what later arrivals cost it under "
           "the modelled policy, < 0 gained it", _NO_FORWARD),
    Column("overtaken_own_s", SECONDS, "part of overtaken_s by later arrivals of its own user",
           _NO_FORWARD),
    Column("unmodelled_s", SECONDS, "start − start_modelled: what the modelled policy does not "
           "explain, < 0 it started earlier", _NO_FORWARD),
    Column("occupancy_s", SECONDS, "end − start"),
    Column("runtime_s", SECONDS, "occupancy − suspended"),
    Column("bounded_slowdown", ONE, f"{SLOWDOWN}, τ = metrics.tau_s; ≥ 1"),
    Column("fair_slowdown", ONE, "bounded slowdown with the strict fair start time as start; ≥ 1",
           _NO_FST),
    Column("overtaken_by", ATTEMPTS, "attempts that arrived later and started earlier"),
    Column("overtook", ATTEMPTS, "attempts that arrived earlier and started later"),
    Column("re_deserved", AREA, "resource equality: ∫ size · used / active, as by "
           "metrics.resource_equality_weights", _NO_SIZE),
    Column("re_consumed", AREA, "resource equality: occupancy · size", _NO_SIZE),
    Column("re_unfairness", AREA, "re_deserved − re_consumed, > 0 treated unfairly", _NO_SIZE),
    Column("miss_strict_s", SECONDS, "max(start − fst_strict, 0)", _NO_FST),
    Column("miss_relaxed_s", SECONDS, "max(start − fst_relaxed, 0)", _NO_FST),
)
"""What the view ``job_fairness`` measures of each attempt; NULL unless it started and ended."""

_NONE_JUDGED: Final = "where no attempt has a fair start time that counts"
OF_OWNERS: Final = (
    Column("jobs", JOBS, "jobs with an attempt that started and ended in the period"),
    Column("attempts", ATTEMPTS, "attempts that started and ended in the period"),
    Column("never_started", ATTEMPTS, "attempts that left the queue without starting"),
    Column("gave_up_wait_s", SECONDS, "total time those waited"),
    Column("tuwt_s", SECONDS, "total wait (TUWT)"),
    Column("tusa", AREA, "total runtime · size (TUSA)"),
    Column("nuwt", NUWT, "tuwt_s / tusa", "where tusa is 0"),
    Column("miss_strict_s", SECONDS, "total miss of the strict fair start time", _NONE_JUDGED),
    Column("miss_relaxed_s", SECONDS, "total miss of the relaxed fair start time", _NONE_JUDGED),
    Column("missed_strict", ATTEMPTS, "attempts that missed the strict fair start time by more "
           "than metrics.tolerance_s", _NONE_JUDGED),
    Column("missed_relaxed", ATTEMPTS, "attempts that missed the relaxed fair start time by more "
           "than metrics.tolerance_s", _NONE_JUDGED),
    Column("re_unfairness_positive", AREA, "sum of max(re_unfairness, 0) over attempts whose size "
           "is known", "where no size is known"),
    Column("re_unfairness_net", AREA, "sum of re_unfairness over attempts whose size is known",
           "where no size is known"),
    *(Column(key, SECONDS, f"total of the part of waits in which {words}", _NO_WAIT)
      for key, words in _PARTS),
    Column("peer_ratio", ONE, "total wait / total peer_wait_s of the attempts that have peers",
           "where none has peers or these did not wait"),
    Column("excess_wait_s", SECONDS, "sum of wait − peer_wait_s over the attempts that have peers",
           "where none has peers"),
    Column("overtaken_s", SECONDS, "total of what later arrivals cost under the modelled policy",
           "where no attempt has a forward start that counts"),
    Column("unmodelled_s", SECONDS, "total of what the modelled policy does not explain",
           "where no attempt has a forward start that counts"),
)
"""What the views ``user_fairness`` and ``account_fairness`` measure."""
# fmt: on

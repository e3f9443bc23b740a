"""All phrases of page one, each declared once.

Braces are slots. The conditions under which a phrase is said are in the modules that fill it:
those of ``sections``, and ``compose``.
"""

from collections.abc import Mapping
from typing import Final

from audit.metrics.verdict import Because, Word

ASKED: Final = "Was the machine shared fairly?"
WORDS: Final[Mapping[Word, str]] = {
    Word.FAIR: "Fair",
    Word.MIXED: "Mixed",
    Word.UNFAIR: "Unfair",
    Word.QUIET: "Quiet",
    Word.CANNOT_TELL: "Cannot tell",
}

# --- verdict -------------------------------------------------------------------------------------

LITTLE: Final = "Those overtaken more often lost little"
KNOWN: Final = "Those overtaken more often had a known reason"
LITTLE_OR_KNOWN: Final = "Those overtaken more often lost little or had a known reason"
BY_PRIORITY: Final = "Jobs mostly started by priority"
NONE_CLEARED: Final = "No {kind} could be tested, so none is cleared"
FEW_TESTED: Final = "None of the few {kind}s tested was overtaken more often"
NOBODY_TESTED: Final = "No {kind} tested was overtaken more often than others"
NOBODY: Final = "No {kind} was overtaken clearly more often than others"
WITH_CAUSE: Final = "{fair}; {cause}."
MIXED: Final = "{who} overtaken clearly more often than others, and the log does not say why."
UNFAIR: Final = "{who} overtaken clearly more often than others, for no known reason."
QUIET: Final = "{who} waited over {time}, so there is nothing to judge."

CANNOT: Final[Mapping[Because, str]] = {
    Because.FEW_JOBS: "Too few jobs ended to judge.",
    Because.FEW_STARTS: "The log has too few start times.",
    Because.FEW_ARRIVALS: "The log has too few submission times.",
    Because.UNKNOWN_USERS: "The log does not say whose jobs these were.",
    Because.ONE_USER: "All jobs are those of one user.",
    Because.PART: "The log holds only a part of the jobs.",
    Because.MISSING_DAYS: "Records of {days} are missing.",
    Because.REFUSED: "Too many records could not be read.",
    Because.NOT_TESTED: "Later jobs started before those of some users, who could not be tested.",
}
ONE_USER_OF_POOL: Final = "All jobs in pool {pool} are those of one user."
BRIEFLY: Final[Mapping[Because, str]] = {
    Because.ONE_USER: "All jobs are those of one user",
    Because.UNKNOWN_USERS: "The users of the jobs are not known",
    Because.PART: "The log holds a part of the jobs",
    Because.NOT_TESTED: "Some users could not be tested",
}
"""The same in at most eight words, where it is longer."""
FEW_WAITED: Final = "Few jobs waited long; why those did, {why}."
ENOUGH_FREE: Final = "Enough was free{total} for most of the waiting, and {why} why jobs waited."
NOT_SAID: Final = "the log does not say"
NOT_CERTAIN_WHY: Final = "it is not certain"
"""Where the last reason of the jobs was logged, but not how long it applied."""
HELD_BACK: Final = (
    "Most of the waiting was that of jobs held back for reasons that the log does not show."
)
STILL: Final = "Too much of the waiting still cannot be judged."

COST_MOST: Final = "{a} and {b} cost most"
SMALLER: Final = "a limit or a smaller machine"
CAUSED_MUCH: Final = "{rule} caused {much} of the waiting"
CAUSED_MOST: Final = "{rule} caused the most waiting"
FULL_MUCH: Final = "most waiting was for a full machine"
FULL_MOST: Final = "a full machine caused the most waiting"
OWN_MUCH: Final = "users mostly waited for their own jobs"
OWN_MOST: Final = "users waited most for their own jobs"
NO_REASON: Final = "{much} the waiting has no known reason"
LARGEST_NO_REASON: Final = "much of the waiting has no known reason"
FULL_MACHINE: Final = "a full machine"
OF_FULL: Final = {"earlier": "full of earlier jobs", "later": "full of later jobs"}
PAIRED: Final = {
    "full": FULL_MACHINE,
    "nodes": "scattered free {what}",
    "down": "outages",
    "cycle": "the scheduler’s pauses",
    "claimed": "jobs about to start",
    "kept": "capacity kept for bigger jobs",
    "own": "users’ own jobs",
    "held_site": "holds by the site",
    "held_user": "holds and start times of users",
    "held_unknown": "holds of unknown origin",
    "none": "unknown reasons",
}
OTHER_MOST: Final = "{what} cost most"

NOT_JUDGED: Final = (
    "{share} of the waiting{base} cannot be judged{interval}; a verdict needs less than {bound}."
)
NOT_TESTED: Final = (
    "Their waiting after such starts is {share} of all; a verdict needs less than {bound}."
)
HALF: Final = "half"
AS_BEFORE: Final = "{bound}, as there was none before"
IN_BASE: Final = " of the last {days} days"
FACT: Final[Mapping[Because, str]] = {
    Because.FEW_JOBS: "{jobs} ended; {least} are needed.",
    Because.FEW_STARTS: "The start of fewer than half of the jobs is known. So no user’s wait is "
    "known.",
    Because.FEW_ARRIVALS: "The submission of fewer than half of the jobs is known. So no user’s "
    "wait is known.",
    Because.UNKNOWN_USERS: "Jobs without a known user have half of the waiting or more.",
    Because.ONE_USER: "At least two users are needed.",
    Because.PART: "Other jobs may have used what seems free.",
    Because.MISSING_DAYS: "At most {share} of the days may be missing.",
    Because.REFUSED: "{refused} of {records} were refused; at most 5 % may be.",
}
NOBODY_ACCUSED: Final = "No user is accused, and none is cleared."

# --- strip ---------------------------------------------------------------------------------------

MEDIAN: Final = "typical wait (median)"
TYPICAL_RUN: Final = "typical run: {time}"
WITHOUT_QUEUE: Final = "; without {queue}: {wait}"
ONE_IN: Final = "or more for one job in {n}"
RUN_IN: Final = "one run in {n}: {time}"
OVER_HOUR: Final = "of jobs waited over an hour"
OVER: Final = "over {what}: {share}"
LONG_JOBS: Final = "waited over 10 minutes"
FOR_VERDICT: Final = "for a verdict: {least}, 1 in {n}"
BUSY: Final = "of {amount}{nodes} were busy"
UP_TO: Final = "up to {amount}"
"""Where some nodes are gone at the end of the period."""
FULLEST: Final = "fullest {step}: {share}"
OF_GPUS: Final = "of the GPUs: {share}"

# --- why -----------------------------------------------------------------------------------------

WHY_SUB: Final = "Share of all {hours} of waiting{cancelled}."
CANCELLED: Final = "; cancelled jobs waited another {hours}"
NOT_FOR_OTHERS: Final = "Hardly any user waited for others."
RULE: Final = "Limit or rule: {which}, {free} of the time while enough was free."
RULE_BRIEFLY: Final = "Limit or rule: {which}, {free} while enough was free."
NEARLY_ALWAYS: Final = "nearly always"
RULE_IN_PART: Final = "Limit or rule: {which}."
MAINLY: Final = "mainly the {rule} ({source})"
TWO_RULES: Final = "the {a} and the {b} ({source})"
SOURCES: Final = {
    "slurm": "site’s settings",
    "pbs": "site’s settings",
    "inferred": "found, unconfirmed",
    "configured": "configured",
    "recorded": "recorded by the scheduler",
}
SCATTERED: Final = "Scattered: mostly too {what} on one node."
LACKED: Final = {"cpus": "few cores", "mem": "little memory", "gpus": "few GPUs"}
SCATTERED_WHAT: Final = {"cpus": "cores", "mem": "memory", "gpus": "GPUs"}
WHERE: Final = "No reason: {much} of it is that of {jobs}, {part} of all jobs."
WHERE_REASON: Final = (
    "Enough free: {much} of it is that of {jobs}, {part} of all jobs. How long it applied is not "
    "logged."
)


def brief_rule(name: str) -> str:
    """Return a rule's name at its second mention: ``daytime closure``, ``limit of 8 jobs``."""
    return name.partition(" for jobs")[0].partition(" per ")[0]


OVER_TIME: Final = "jobs with time limits over {time}"
OF_REASON: Final = "jobs with the last reason {reason}"
OF_QUEUE: Final = "jobs of queue {queue}"
OVER_SIZE: Final = "jobs over {size} {unit}s"
OF_USER: Final = "{user}"
THE_JOBS_OF: Final = "the jobs of {user}"

BY_QUEUE: Final = "By queue, one job in ten waited over: {queues}."
BEHIND_LATER: Final = (
    "Of the waiting of {jobs}, {share} was behind later jobs: {times} times the usual share."
)
HARDLY_MET: Final = "{jobs} hardly met the site’s rules; one user has {share} of their waiting."
ONE_USER: Final = "One user has {share} of the waiting of {jobs}."
WHOLE_NODE: Final = "{jobs} often need a whole node: scattered free cores cost them most."

# --- who -----------------------------------------------------------------------------------------

HALF_OF: Final = "{users} {have} {much} of all waiting, {line} {cpu} of the CPU time."
IN_LINE: Final = "in line with {whose}"
SPREAD: Final = "Waiting is spread over many users."
OVERTAKEN: Final = "Overtaken more often than others{base}: {n} of {m} {kind}s tested"
TIME_LOST: Final = ("Overtaken jobs", "Lost, of all waiting", "Typically lost", "")
BELOW_SHARE: Final = ("Jobs", "Of all waiting", "Typical wait", "Typical wait of others")
MOST: Final = "Most waiting"
LONGER: Final = "Longer waits than similar jobs: {n} of {m} {kind}s compared{above}{shown}"
ABOVE: Final = ", {n} of them above"
ALL_ABOVE: Final = ", listed above"
SHOWN: Final = ", {n} shown"
NONE_LONGER: Final = "Longer waits than similar jobs: none of {m} {kind}s compared"
NONE_COMPARABLE: Final = "Longer waits than similar jobs: no {kind} could be compared"
USED_LESS: Final = "Used less than its share of the machine: {n} of {m} accounts"
SIMILAR: Final = (
    "Similar jobs: other users’, about the same size and time limit, same queue, at most 30 days "
    "apart; a dash: too few."
)
SOME_SIMILAR: Final = "Jobs “n of m”: both waits are those of the n jobs that have similar ones."
NOT_KNOWN: Final = (
    "Not known: a hold, a limit, closed hours, a planned outage or scattered nodes would look like "
    "this."
)

OVERTAKEN_HELD: Final = "A chain, hold or begin time of its jobs"
OVERTAKEN_PRIORITY: Final = "A lower priority, as the site intends"
OVERTAKEN_USAGE: Final = "It used {times} times its share"
OVERTAKEN_RANKED: Final = "Later jobs of lower priority, at least as large, started first"
OVERTAKEN_UNKNOWN: Final = "Not known: later jobs, at least as large, started first"
ASKED_LESS: Final = "It asked for less: {x} of a share of {y}; others waited longer"
OWN_RULE: Final = "A limit set for this {kind}"
OF_ITS_WAITING: Final = "{what}: {share} of its waiting"
RULES_OF_SITE: Final = "Rules of the site"
LARGE: Final = "Large jobs: the machine was full{later}"
FULL: Final = "The machine was full{later}"
PARTLY_LATER: Final = ", partly of later jobs"
MOSTLY_LATER: Final = ", mostly of later jobs"
OWN_JOBS: Final = "Its own earlier jobs"
OWN_HOLD: Final = "Its own hold or start time"
SITE_HOLD: Final = "A hold of the site"
LIMIT_OR_CHAIN: Final = "A limit, a throttle or a dependency; the log does not say which"
LOW_PRIORITY: Final = "A low priority, as the site intends"
RELEASED: Final = "Held, or waiting for a node"
FREE: Final = "Not known: {much} with enough free"
LAST_REASON: Final = "Perhaps {reason}, the last reason logged"
MOSTLY: Final = "{cause}: {much} of its waiting"
MANY: Final = "Many causes; the largest: {cause}"

# --- what changed --------------------------------------------------------------------------------

FEW_DECIDE: Final = ", as few users decide it"
HALVES: Final = "between the halves of the {what}"
SINCE: Final = "since the {unit} before"
ONLY_OF: Final = "The change is that of {user}."
SAME_LOAD: Final = "At almost the same load ({a}, then {b} %), {change}{than}."
WITH_LOAD: Final = "With the load {way} from {a} to {b} %, {change}{than}."
AGAINST_LOAD: Final = "Although the load {way} from {a} to {b} %, {change}{than}."
CAPACITY: Final = "The capacity {way} by {share}."
CAPACITY_BRIEFLY: Final = "Capacity {way} {share}."
CHANGE: Final = "{what} {way} from {x} to {y}"
SAME: Final = "About the same{than}: {what} {x}, then {y}; load {a}, then {b} %."
NOT_CERTAIN: Final = "No certain change{than}: {what} {x}, then {y}; load {a}, then {b} %."
NO_COMPARISON: Final = "No comparison: the records cover {days}, and two weeks are needed."
PART_OF_DAY: Final = "less than a day"
FEW_TO_COMPARE: Final = "No comparison: one of the two spans has fewer than {n} jobs."
WITHOUT: Final = "Without {user}: {what}."
ABOUT_SAME: Final = "about the same"
FROM_TO: Final = "from {x} to {y}"
TYPICAL: Final = "typical wait"
THE_TYPICAL: Final = "the typical wait"
TENTH: Final = "one job in ten waited over"
THE_TENTH: Final = "the wait of one job in ten"

# --- what to try ---------------------------------------------------------------------------------

LESS: Final = "{change}. {jobs} wait {gain} less on average{within}{observed}{more}.{caveat}"
LESS_BRIEFLY: Final = "{change}: {jobs} wait {gain} less on average"
WITHIN: Final = " ({low} to {high})"
AT_LEAST: Final = " (at least {low})"
OBSERVED: Final = ", of {time}"
MORE: Final = "; {jobs} wait {loss} more"
PERHAPS_MORE: Final = "; {jobs} perhaps wait {loss} more"
OTHERS_MORE: Final = ", and {classes} wait longer"
CAVEATS: Final = {
    "--walltimes": " Users do not know run times in advance, so the real gain is smaller.",
    "--per-node": " This assumes that jobs run as long on more nodes.",
}
"""Facts that a replay cannot know, by option of the change."""
TO_DECIDE: Final = "To decide: should the {rule} hold jobs while enough is free?"
WHY_OVERTAKEN: Final = "To ask: why did later jobs, at least as large, start before those of {who}?"
HAS_ENDED: Final = "To ask: did the {rule} end, as the log shows?"
IN_SERVICE: Final = "To ask: were only {amount} in service for a while, as the log shows?"
TO_SPREAD: Final = (
    "To ask: does the scheduler pack small jobs onto few nodes? That keeps whole nodes free."
)
TO_ASK: Final = "To ask: what held {jobs} while {resources} were free?"
ASK_REASON: Final = (
    "To ask: did {reason}, the last reason logged, hold jobs while {resources} were free?"
)
JOBS: Final = "jobs"
UNTESTED: Final = (
    "No change was tested: a replay matches {share} of the decisions, 65 % are needed."
)
UNKNOWN_REPLAY: Final = "No change was tested: it is not known how well a replay matches this log."
UNTESTED_PART: Final = "No change was tested: the log holds only a part of the jobs."
NONE_HELPED: Final = "No change clearly saves {share} of the waiting: {n} {were} tested."
NONE_TESTED: Final = "No change was tested: no advice was computed."
WHY_UNTESTED: Final = {
    "few_users": "No change was tested: fewer than 10 users had jobs.",
    "few_days": "No change was tested: jobs arrived on fewer than 20 days.",
    "short_waits": "No change was tested: jobs waited under a minute on average.",
    "not_tried": "No change was tested: the computing time for advice was too short.",
    "not_reproduced": "No change was tested: a replay of today’s rules misses the observed waits "
    "by over a quarter.",
}
"""By the outcome of all changes (view ``advice``)."""
HARDLY: Final = "Nothing: hardly any job waits."

# --- how far to trust this -----------------------------------------------------------------------

STEPS: Final = (
    "Times and sizes",
    "Reasons, time limits, partitions",
    "Nodes, limits, priorities",
)
COMPLETE: Final = "Complete. All records were read."
DAYS_MISSING: Final = "All records were read, but some days have none."
NUMBERS_MISSING: Final = "All records were read, but most job numbers have no record."
MISSING_TIMES: Final[Mapping[Because, str]] = {
    Because.FEW_STARTS: "Start times are missing.",
    Because.FEW_ARRIVALS: "Submission times are missing.",
}
OF_HEADER: Final = "The log has {n} of the {m} records that its header names{time}."
FOR_TIME: Final = " for this time"
SOME_READ: Final = "{n} of {m} records read{empty}."
EMPTY_DAYS: Final = "; {days} have none"
NOT_IN_LOG: Final = "Not in this log."
NEXT: Final = "Next: {what}. {they} would {show}."
CONFIRM: Final = "confirm the {rule}"
SHOW_HELD: Final = "show what held {jobs}"
SHOW_RULES: Final = "show whether rules held jobs, too"
SHOW_RULE_OF: Final = "show whether a rule held {jobs}"
REPLAY: Final = "Replay: it matches {share} of the decisions."
ORDER_PRIORITY: Final = (
    "Order: {share} of the jobs that started before an earlier one had the higher priority."
)
ORDER_TESTED: Final = "Order: {n} of {m} users could be tested, with {share} of all waiting."
ORDER_NONE: Final = "Order: no user could be tested."
JUST_UNDER: Final = "just under {bound}"
CLOSE: Final = (
    "Close: {share} of the waiting cannot be judged ({interval}); from {bound} on there is no "
    "verdict."
)
LIMITS: Final = (
    "Listed from 1 % of all waiting, in the verdict from {each}, together {together}. Overtaken: "
    "a later job of the same queue, at least as large and long, started first."
)
QUIET_LIMITS: Final = (
    "Quiet: fewer than {least} jobs, or 1 in {n}, waited over 10 minutes. It means neither fair "
    "nor unfair."
)
LONG_SUB: Final = (
    "Where no reason is logged, a start time set by the user or a dependency would look the same."
)

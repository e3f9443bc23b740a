"""The evidence, in the words of page one."""

from dataclasses import replace
from typing import Any

import pytest

from audit.metrics.verdict import Because, Word
from audit.model import Announcement
from audit.report.first_page.compose import lines
from audit.report.sections.causes.record import Where
from audit.report.sections.records.record import Input
from audit.report.sections.trust import section as trust_text
from tests.report.first_page.sample import LIMIT, RULE, causes, decision, facts, known, unfair


def test_what_a_file_would_show_where_nothing_lacks_a_reason() -> None:
    of = facts(causes=causes(earlier=0.8, later=0.2))
    assert trust_text.next_file(of).plain.endswith("They would show whether rules held jobs, too.")


@pytest.mark.parametrize(
    ("announced", "mark", "text"),
    [
        (None, "full", "Complete. All records were read."),
        (
            Announcement(970, 1_000, partly=True),
            "full",
            "The log has 970 of the 1,000 records that its header names for this time.",
        ),
        (
            Announcement(122_060, 201_387),
            "half",
            "The log has 122,060 of the 201,387 records that its header names.",
        ),
    ],
)
def test_records_that_a_header_names(announced: Announcement | None, mark: str, text: str) -> None:
    first = trust_text.steps(facts(known=known(announced=announced)))[0]
    assert (first.mark, first.text.plain) == (mark, text)


def test_records_that_were_read_are_not_complete_where_most_job_numbers_have_none() -> None:
    first = trust_text.steps(facts(known=known(gaps=True)))[0]
    assert first.mark == "half"
    assert first.text.plain == "All records were read, but most job numbers have no record."


SLURM = {"dialects": ("sacct",), "reasons": 1.0, "priorities": 1.0, "nodes_declared": True}
PBS = {"dialects": ("pbs",), "limits": "pbs", "nodes_declared": True}


@pytest.mark.parametrize(
    ("no_reason", "given", "words"),
    [
        (0.3, {**SLURM, "reasons": 0.0, "priorities": 0.0}, "sacct with Reason"),
        (
            0.3,
            {**SLURM, "reasons": 0.0, "priorities": 0.0, "missing": ()},
            "sacctmgr -P show assoc",
        ),
        (
            *(0.3, {**SLURM, "reasons": 0.0, "priorities": 0.0, "missing": ("Reason", "QOS")}),
            "sacct with Reason and QOS",
        ),
        (0.3, {**SLURM, "limits": ""}, "sacctmgr -P show assoc"),
        (0.3, {**SLURM, "limits": "", "dialects": ("job-table",)}, "sacctmgr -P show assoc"),
        (0.3, {**SLURM, "limits": "slurm"}, "squeue, once a minute"),
        (0.1, {**SLURM, "limits": "slurm"}, "slurmctld.log"),
        (0.3, {**SLURM, "limits": "slurm", "evidence": ("squeue",)}, "slurmctld.log"),
        (0.1, {**SLURM, "limits": "slurm", "evidence": ("ctld-log",)}, "squeue, once a minute"),
        (
            *(0.3, {**SLURM, "limits": "slurm", "evidence": ("ctld-log", "squeue")}),
            "limits and closed hours",
        ),
        (0.3, PBS, "sched_logs"),
        (0.3, {**PBS, "evidence": ("pbs-log",)}, "limits and closed hours"),
    ],
)
def test_the_next_file_is_one_that_is_missing(
    no_reason: float, given: dict[str, Any], words: str
) -> None:
    of = facts(known=known(**given), causes=causes(none=no_reason))
    assert trust_text.next_source(of).words.startswith(words)
    assert words.split(",", maxsplit=1)[0] in trust_text.next_file(of).plain


def test_columns_that_a_log_has_are_not_asked_for_again() -> None:
    every = ("JobID", "Priority", "QOS", "Reason", "ReqTRES")
    texts = [Input("a", "sacct", "", 0, 0, 0, 0, columns=of) for of in (every, every[:-1])]
    table, json = (Input("b", "sacct", "", 0, 0, 0, 0, columns=of) for of in (("id_job",), ()))
    assert trust_text.missing([texts[0], table, json]) == ()
    assert trust_text.missing(texts) == ("ReqTRES",)


def test_a_found_limit_with_most_of_the_waiting_is_to_be_confirmed_first() -> None:
    limit = LIMIT._replace(source="inferred")
    of = facts(known=known(dialects=("sacct",)), rules=(limit,), causes=causes(rule=0.9, none=0.01))
    assert trust_text.next_file(of).plain == (
        "Next: sacctmgr -P show assoc. It would confirm the limit of 10 running jobs."
    )
    window = replace(of, rules=(RULE,))  # which Slurm's accounting does not know
    assert trust_text.next_source(window).words.startswith("sacct with Reason")


def test_samples_of_the_queue_would_show_how_long_a_reason_applied() -> None:
    where = Where("reason", "JobArrayTaskLimit", 0.9, 0.3)
    of = facts(known=known(dialects=("sacct",), reasons=0.4), where=where, causes=causes(none=0.8))
    assert trust_text.next_file(of).plain == (
        "Next: squeue, once a minute. It would show what held jobs with the last reason "
        "JobArrayTaskLimit."
    )


@pytest.mark.parametrize(
    ("reason", "of"), [("AssocGrpCpuLimit", "assoc"), ("QOSMaxCpuPerUserLimit", "qos")]
)
def test_limits_come_first_where_a_limit_is_the_last_reason(reason: str, of: str) -> None:
    """Samples of the queue would say nothing about the waits that are over."""
    slurm, where = known(dialects=("sacct",), reasons=0.4), Where("reason", reason, 0.9, 0.3)
    facts_of = facts(known=slurm, where=where, causes=causes(none=0.8))
    assert trust_text.next_file(facts_of).plain == (
        f"Next: sacctmgr -P show {of}. It would show what held jobs with the last reason {reason}."
    )
    stated = replace(facts_of, known=slurm._replace(limits="slurm"))
    assert trust_text.next_source(stated).words == "squeue, once a minute"


@pytest.mark.parametrize(
    ("no_reason", "words"),
    [(0.04, "sacctmgr -P show assoc"), (0.06, "scontrol show node -o")],
)
def test_limits_come_first_where_those_overtaken_lost_most(no_reason: float, words: str) -> None:
    slurm = known(dialects=("sacct",), reasons=1.0)
    of = replace(unfair(), known=slurm, causes=causes(none=no_reason, earlier=0.9))
    assert trust_text.next_source(of).words == words


def test_the_agreement_of_a_replay_is_stated_where_it_was_used() -> None:
    of = facts(agreement=1.0, tried=8)
    assert "Replay: it matches 100 % of the decisions." in [
        line.plain for line in trust_text.lines(of)
    ]
    missed = trust_text.lines(replace(of, untested="not_reproduced"))
    assert not any(line.plain.startswith("Replay") for line in missed)


@pytest.mark.parametrize(
    ("because", "text"),
    [
        (Because.FEW_STARTS, "Start times are missing."),
        (Because.FEW_ARRIVALS, "Submission times are missing."),
    ],
)
def test_times_that_are_missing_are_not_complete(because: Because, text: str) -> None:
    of = facts(decision=decision(Word.CANNOT_TELL, because))
    first = trust_text.steps(of)[0]
    assert (first.mark, first.text.plain) == ("half", text)
    assert dict(lines(of))["Trust"].startswith("some times, sizes")


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (
            0.496,
            "Close: just under half of the waiting cannot be judged (47 to 52 %); from half on",
        ),
        (0.48, "Close: 48 % of the waiting cannot be judged (47 to 52 %); from half on"),
    ],
)
def test_a_share_just_under_a_bound_is_not_written_as_the_bound(share: float, text: str) -> None:
    of = facts(decision=decision(not_judged=share), not_judged=(0.47, 0.52))
    assert trust_text.lines(of)[-1].plain == f"{text} there is no verdict."

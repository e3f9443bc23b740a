"""Commands that answer a question: ``explain``, ``when`` and ``sshare``."""

import os
import sys
import tempfile
import time
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typer import Argument, Option

from audit.cli import options as opt
from audit.cli.analyst import Published
from audit.cli.options import at_work, say, show, warn
from audit.errors import UsageError, no_database
from audit.progress import printable
from audit.words import Algorithm, AnswerFormat

if TYPE_CHECKING:
    from audit.oneoff.before import BeforeAnswer, JobShape
    from audit.oneoff.sshare.inputs import SshareRequest
    from audit.oneoff.when import WhenAnswer

ShareFormat = StrEnum("ShareFormat", ["psv", "csv"])
StoryFormat = StrEnum("StoryFormat", ["text", "html", "json"])


def _request(
    *, sacct: list[Path] | None, assoc: Path | None, by_partition: bool | None, **given: Any
) -> Any:
    from audit.oneoff.sshare.inputs import SshareRequest

    return SshareRequest(
        sacct=sacct or (),
        associations=assoc,
        by_partition=bool(by_partition),
        reading=opt.reading(zone=None, **opt.taken(given, opt.READING.keys() - {"zone"})),
        **given,
    )


OfSshare: TypeAlias = Annotated[
    "SshareRequest",
    opt.OptionGroup(
        _request,
        opt.options(
            sacct=opt.file("Output of 'sacct -X -D -P'; default: the database.", list[Path])
        )
        | opt.SLURM_FILES
        | opt.options(
            as_of=opt.optional(
                str, "Instant of the figures; default: the last known.", metavar="TIME"
            ),
            half_life=opt.optional(str, "New half-life, such as 14-0.", metavar="LENGTH"),
            algorithm=opt.optional(Algorithm, "Fairshare algorithm; default: that of slurm.conf."),
            phase=opt.optional(str, "Time of one recalculation by slurmctld.", metavar="TIME"),
            sample=opt.file("Output of sshare, to infer when slurmctld recalculates."),
            sample_time=opt.optional(str, "Time of --sample; default: --as-of.", metavar="TIME"),
            cluster=opt.ClusterName,
            by_partition=opt.optional(
                bool, "Show partitions, as 'sshare -m' does.", "--partition-column", "-m"
            ),
        )
        | opt.READING,
    ),
]


@opt.grouped
def sshare(
    *,
    request: OfSshare,
    form: Annotated[ShareFormat, Option("--format", help="Output format.")] = ShareFormat.psv,
    explain: Annotated[
        str | None, Option(metavar="USER", help="Explain why this user's FairShare changed.")
    ] = None,
    since: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help="With --explain: begin of the change; default: one half-life earlier.",
        ),
    ] = None,
    back_at: Annotated[
        float | None,
        Option(
            min=0, max=1, help="With --explain: FairShare to return to; default: that at --since."
        ),
    ] = None,
    want: Annotated[
        float | None,
        Option(min=0, max=1, help="With --explain: find RawShares for this FairShare."),
    ] = None,
    job: Annotated[
        str | None,
        Option(
            metavar="NAME=VALUE,…",
            help="With --explain: what a job costs that starts now: "
            "cpus=64,mem=128G,gpus=2,walltime=4h,partition=batch,qos=normal.",
        ),
    ] = None,
    site: opt.Configured,
) -> None:
    """Print fairshare as Slurm's 'sshare -alP' does, for any instant and any settings."""
    from audit.oneoff.sshare import explain as explained
    from audit.oneoff.sshare import recompute

    if explain is None and any(one is not None for one in (since, back_at, want, job)):
        raise UsageError("sshare: --since, --back-at, --want and --job require --explain")
    if explain is not None:
        question = explained.FairShareQuestion(explain, since, back_at, want, job)
        with at_work() as progress:
            lines, facts, warnings = explained.explain(
                request, question, site.config, site.folder, progress.update
            )
        say(*facts)
        warn(warnings)
        show(*lines)
        return
    with at_work() as progress:
        outcome = recompute.recompute(request, site.config, site.folder, progress.update)
    say(*outcome.facts)
    warn(outcome.warnings)
    write = recompute.psv if form is ShareFormat.psv else recompute.comma_separated
    sys.stdout.write(write(outcome))


@opt.grouped
def explain(
    *,
    job: Annotated[str, Argument(metavar="JOB", help="Id of the job, as written in the log.")],
    attempt: Annotated[
        int | None,
        opt.Count(help="Number of the attempt; default: that with the longest wait."),
    ] = None,
    db: Published = None,
    form: Annotated[StoryFormat, Option("--format", help="Output format.")] = StoryFormat.text,
    no_fit: opt.NoFit = False,
    logs: opt.OfSomeLogsAndNodes,
    site: opt.Configured,
) -> None:
    """Explain why one job waited: a timeline of causes, similar jobs, and a model if it fits.

    Without logs and without a database, sacct is asked.
    """
    from audit.oneoff.explain import sacct, shown
    from audit.oneoff.explain.explain import explain as explain_wait

    if os.path.exists(job) and not logs.logs:  # noqa: PTH110 - False for impossible names
        raise UsageError(f"explain: {printable(job)!r} is a file: give the id of the job before it")
    with at_work() as progress, tempfile.TemporaryDirectory(prefix="fairaudit-") as folder:
        database = site.database(db)
        if not logs.logs and db is None and not database.is_file() and sacct.is_there():
            say(f"{database}: no such database; asking sacct about job {job} and those around it")
            found = sacct.fetched(job, Path(folder, "sacct.txt"))
            logs = replace(logs, logs=[found], zone="UTC")
        session = site.session(logs, progress, database=database, fit=not no_fit)
        story = explain_wait(session, job, attempt)
    write = {"text": shown.as_text, "html": shown.as_html, "json": shown.as_json}[form]
    sys.stdout.write(write(story))


def _shape(*, node_count: str | None, compare: list[str] | None, **given: str | None) -> Any:
    from audit.oneoff.before import JobShape

    shape = JobShape(nodes=node_count, **given)
    return (shape, compare or []) if any(shape) or compare else None


OfShape: TypeAlias = Annotated[
    "tuple[JobShape, list[str]] | None",
    opt.OptionGroup(
        _shape,
        opt.options(
            cpus=opt.optional(str, "CPUs of a job that might be submitted now.", metavar="N"),
            node_count=opt.optional(str, "The number of its nodes.", metavar="N"),
            gpus=opt.optional(str, "Its GPUs, such as 2 or a100:2.", metavar="[TYPE:]N"),
            mem=opt.optional(str, "Its memory, such as 64G.", metavar="SIZE"),
            walltime=opt.optional(str, "Its time limit: 4:00:00, 4h, 2-0.", metavar="LENGTH"),
            partition=opt.optional(str, "Its partition; default: the most used one."),
            compare=opt.optional(
                list[str],
                "Compare such jobs, as in walltime=1h,2h,4h; repeatable.",
                metavar="NAME=VALUE,…",
            ),
        ),
    ),
]


@opt.grouped
def when(
    *,
    job: Annotated[
        str | None,
        Argument(
            metavar="[JOB]",
            help="Id of a pending job, or the first log; default: all pending jobs.",
        ),
    ] = None,
    user: Annotated[
        str | None, Option(help="Only this user's pending jobs; or who would submit the job.")
    ] = None,
    form: opt.OfAnswer = AnswerFormat.text,
    no_fit: opt.NoFit = False,
    db: Published = None,
    shape: OfShape,
    logs: opt.OfSomeLogsAndNodes,
    site: opt.Configured,
) -> None:
    """Predict when pending jobs will start, or a job that is not yet submitted (--cpus …).

    Each prediction is an 80 % interval, and holds for the time of the newest records.
    """
    from audit import json_answers
    from audit.oneoff import before
    from audit.oneoff import when as predicted

    if job is not None and os.path.exists(job):  # noqa: PTH110 - False for impossible names
        logs, job = replace(logs, logs=[Path(job), *logs.logs]), None
    if job is not None and (user is not None or shape is not None):
        raise UsageError("when: give either JOB or --user, or a job's request (--cpus …)")
    database = site.database(db)
    if job is not None and not logs.logs and not database.is_file():
        why = f"when: there is no file {printable(job)!r}"
        raise UsageError(f"{why}; if it is a job: {no_database(database)}")
    asked: list[JobShape] = []
    if shape is not None:
        asked = before.shapes(shape[0]._replace(user=user), shape[1])
    with at_work() as progress:
        session = site.session(logs, progress, database=database, fit=not no_fit)
        answer: WhenAnswer | BeforeAnswer = (
            before.before(session, asked) if asked else predicted.when(session, job, user)
        )
    warn(predicted.stale(answer.as_of, answer.zone, int(time.time())))
    if form is AnswerFormat.json:
        print(json_answers.written(answer), end="")
    elif shape is not None and isinstance(answer, before.BeforeAnswer):
        compared = list(dict.fromkeys(text.partition("=")[0] for text in shape[1]))
        show(*before.lines(answer, asked, compared))
    elif isinstance(answer, predicted.WhenAnswer):
        show(*predicted.lines(answer, user))

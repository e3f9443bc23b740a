"""Asks sacct about a job and about what was submitted or ran around it, where there is no database.

The commands only read. Their output is a log as any other.
"""

import os
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from audit.errors import UsageError
from audit.progress import printable

AROUND: Final = timedelta(days=7)
"""Time before the job's submission and after its end of which jobs are asked about."""
REMEDY: Final = "there is no database: make one with 'fairaudit audit LOG', or pass a log"
_JOB: Final = re.compile(r"[0-9]{1,18}(?:[_+.][0-9]{1,9}|_\[[-0-9,%]{1,200}\])?")
_STATES: Final = "BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,RS,RV,S,TO"
_TIMEOUT_S: Final = 600
_FORM: Final = "%Y-%m-%dT%H:%M:%S"
_SHOWN: Final = 200  # characters of a complaint


def is_there() -> bool:
    """Return whether sacct can be called here."""
    return shutil.which("sacct") is not None


def fetched(job: str, path: Path) -> Path:
    """Write what sacct knows of a job and of all jobs around it to a file, and return it.

    Times are asked for, and printed, in UTC.

    Raises UsageError if sacct fails or does not know the job.
    """
    if not _JOB.fullmatch(job):
        raise UsageError(f"explain: {printable(job)!r} is no id of a Slurm job; {REMEDY}")
    shown = "--format=Submit,Start,End"
    of_job = ("--duplicates", "--allocations", "--parsable2", "--noheader")
    spans = _sacct("--jobs", job, *of_job, "--starttime=1970-01-02", shown)
    times = [
        datetime.strptime(cell, _FORM).replace(tzinfo=UTC)
        for line in spans.splitlines()
        for cell in line.split("|")
        if re.fullmatch(r"[0-9-]{10}T[0-9:]{8}", cell)
    ]
    if not times:
        raise UsageError(f"explain: sacct knows no job {printable(job)!r}; {REMEDY}")
    since, until = min(times) - AROUND, max(times) + AROUND
    now = datetime.now(UTC)
    window = (f"--starttime={since:{_FORM}}", f"--endtime={min(until, now):{_FORM}}")
    every = ("--allusers", "--duplicates", "--allocations", "--parsable2", "--delimiter=\x1f")
    path.write_text(_sacct(*every, "--format=ALL", f"--state={_STATES}", *window))
    return path


def _sacct(*words: str) -> str:
    """Return the output of sacct, with times in UTC."""
    environment = {**os.environ, "TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}
    try:
        done = subprocess.run(  # noqa: S603 (a fixed program, and a job id of digits)
            ["sacct", *words],  # noqa: S607 (the site's own)
            capture_output=True,
            check=False,
            env=environment,
            text=True,
            errors="backslashreplace",
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = printable(str(error))[:_SHOWN]
        raise UsageError(f"explain: sacct cannot be called: {why}; {REMEDY}") from error
    if done.returncode:
        why = printable(done.stderr.strip())[:_SHOWN]
        raise UsageError(f"explain: sacct failed: {why}; {REMEDY}")
    return done.stdout

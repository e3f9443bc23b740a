"""Texts about jobs that were held as the log shows (SPEC §11)."""

from audit.report import wording
from audit.scenario.releases.chains import OwnEnd


def after_own_end(job_id: str, end: OwnEnd, user: str) -> str:
    """Return after which job of the user a job started.

    Args:
        user: in words, e.g. ``the same user``.
    """
    after = f"{wording.duration(end.after_s)} after" if end.after_s > 0 else "when"
    job, other = (wording.name(name, 40) for name in (job_id, end.job_id))
    return f"Job {job} started {after} job {other} of {user} ended: a dependency or a limit."

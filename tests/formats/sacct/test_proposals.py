"""Proposed columns of a log without header row: usage of steps, memory, and ids."""

from collections.abc import Sequence

from audit.formats.sacct import proposals

DAY = "2026-01-01T"
JOB = {
    "JobID": "{job}",
    "State": "COMPLETED",
    "Submit": DAY + "00:{job}:00",
    "Start": DAY + "01:{job}:00",
    "End": DAY + "02:{job}:00",
    "ReqMem": "4G",
    "ReqTRES": "cpu=2,mem=4G,node=1",
    "AllocTRES": "billing=2,cpu=2,mem=4G,node=1",
    "NCPUS": "2",
}
STEP = {**JOB, "JobID": "{job}.batch", "ReqMem": "", "ReqTRES": ""}
USAGE = {
    "MaxDiskRead": "0.{job}M",
    "MaxRSS": "{job}164K",
    "TRESUsageInMax": "cpu=00:00:{job},energy=0,fs/disk=2012,mem=1K,pages=0,vmem=3K",
    "TRESUsageInMin": "energy=0,fs/disk={job},mem=1K,pages=0,vmem=3K",
    "TRESUsageOutTot": "energy=0,fs/disk={job},mem=1K",
}
"""Values in rows of steps only; {job} is two digits."""


def proposed(names: Sequence[str], steps: bool = True) -> dict[str, str]:
    """Return the proposal for each column of a log of 20 jobs, and of one step of each."""
    lines = []
    for job in range(10, 30):
        rows = [{**dict.fromkeys(USAGE, ""), **JOB}, {**USAGE, **STEP}]
        for row in rows[: 1 + steps]:
            lines.append("|".join(row[name].format(job=job) for name in names))
    sniffed = proposals.sniff(lines)
    assert sniffed is not None
    return dict(zip(names, proposals.propose(sniffed), strict=True))


def test_usage_of_steps_is_no_request() -> None:
    found = proposed([*USAGE, *JOB])
    assert [name for name in USAGE if found[name] != "_"] == []
    assert [name for name in JOB if found[name] != name] == []


def test_usage_is_not_taken_for_what_the_log_lacks() -> None:
    for lacking in ("ReqMem", "ReqTRES", "AllocTRES"):
        names = [name for name in (*JOB, *USAGE) if name != lacking]
        assert [name for name in USAGE if proposed(names)[name] != "_"] == []
    bare = [name for name in (*USAGE, *JOB) if name not in {"ReqMem", "ReqTRES", "AllocTRES"}]
    assert [name for name in USAGE if proposed(bare)[name] != "_"] == []


def test_memory_is_no_id() -> None:
    found = proposed(["MaxDiskRead", "JobID", "State", "Start", "End"])
    assert found["MaxDiskRead"] == "_"
    assert found["JobID"] == "JobID"


def test_a_log_of_jobs_alone() -> None:
    found = proposed([*USAGE, *JOB], steps=False)
    assert {name: found[name] for name in JOB} == {name: name for name in JOB}

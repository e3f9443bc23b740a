"""Requests for the files of the Slurm lab, and the output of ``sshare`` there."""

import re
from dataclasses import replace
from typing import Any

from audit import config
from audit.oneoff.sshare.inputs import SshareRequest
from audit.oneoff.sshare.recompute import SshareResult
from audit.oneoff.sshare.recompute import recompute as recompute_with
from tests.places import SLURM

TAKEN = "2026-11-21T04:06:43"
TICK = "1795234198"
"""Time of one recalculation in the lab with decay."""


def request(lab: str = "plain", **changes: Any) -> SshareRequest:
    folder = SLURM / lab
    whole = SshareRequest(
        sacct=[folder / "sacct.txt"],
        associations=folder / "assoc.psv",
        qos=folder / "qos.psv",
        partitions=folder / "partitions.txt",
        slurm_conf=folder / "config.txt",
        as_of=TAKEN,
    )
    return replace(whole, **changes)


def recompute(request: SshareRequest) -> SshareResult:
    return recompute_with(request, config.Config())


def samples(lab: str = "decay") -> list[tuple[str, str]]:
    whole = (SLURM / lab / "sshare_samples.txt").read_text()
    parts = re.split(r"^== (\d+)\n", whole, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def raw(outcome: SshareResult) -> dict[tuple[str, str], float]:
    return {(row["Account"].strip(), row["User"]): row["RawUsage"] for row in outcome.rows}

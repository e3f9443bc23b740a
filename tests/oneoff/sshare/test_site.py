"""Accounts and settings from the files of the flags."""

from pathlib import Path

import pytest

from audit.errors import UsageError
from tests.oneoff.sshare.lab import raw, recompute, request


def test_without_weights_cpus_are_billed() -> None:
    found = recompute(request(partitions=None))
    assert "without --partitions jobs are billed their CPUs" in found.warnings
    assert raw(found)["root", ""] < raw(recompute(request()))["root", ""]


def test_weights_of_slurm_conf(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    weights = 'TRESBillingWeights="CPU=1.0,Mem=0.25G,GRES/gpu=8.0"'
    conf.write_text(
        "ClusterName=lab\nPriorityDecayHalfLife=0\nPriorityUsageResetPeriod=YEARLY\n"
        f"PartitionName=DEFAULT {weights}\nPartitionName=batch\nPartitionName=short\n"
    )
    found = recompute(request(partitions=None, slurm_conf=conf))
    assert raw(found) == raw(recompute(request()))


def test_all_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "assoc").write_text("Account|User|Share|ParentName\nroot||x|\na||y|root\n")
    (tmp_path / "conf").write_text("PriorityDecayHalfLife=soon\n")
    with pytest.raises(UsageError) as caught:
        recompute(request(associations=tmp_path / "assoc", slurm_conf=tmp_path / "conf"))
    assert len(str(caught.value).splitlines()) == 4
    assert f"{tmp_path / 'assoc'}:3: share 'y'" in str(caught.value)

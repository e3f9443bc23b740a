"""Accounts and settings from the files of the flags."""

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from audit.errors import UsageError
from audit.oneoff.sshare.inputs import text_of
from audit.periods import instant
from tests.oneoff.sshare.lab import raw, recompute, request


def test_without_weights_cpus_are_billed() -> None:
    found = recompute(request(partitions=None))
    assert "without --partitions, jobs are billed their CPUs" in found.warnings
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


def test_all_faults_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "assoc").write_text("Account|User|Share|ParentName\nroot||x|\na||y|root\n")
    (tmp_path / "conf").write_text("PriorityDecayHalfLife=soon\n")
    with pytest.raises(UsageError) as caught:
        recompute(request(associations=tmp_path / "assoc", slurm_conf=tmp_path / "conf"))
    assert len(str(caught.value).splitlines()) == 4
    assert f"{tmp_path / 'assoc'}:3: share 'y'" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1795234198", 1795234198),
        ("2026-11-21", 1795215600),  # midnight in Berlin is 23:00 UTC
        ("2026-11-21T04:06", 1795230360),
        ("2026-11-21T04:06:43", 1795230403),
        ("2026-11-21T04:06:43Z", 1795234003),
    ],
)
def test_instants_are_in_the_zone_unless_they_name_another(text: str, at: int) -> None:
    assert instant(text, ZoneInfo("Europe/Berlin"), "--as-of") == at
    with pytest.raises(UsageError, match="--phase 'noon': write it as"):
        instant("noon", ZoneInfo("UTC"), "--phase")


def test_a_missing_file_is_named_and_odd_bytes_are_escaped(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: cannot be read: No such file"):
        text_of(tmp_path / "none")
    (tmp_path / "odd").write_bytes(b"a\xff")
    assert text_of(tmp_path / "odd") == "a\\xff"

"""When slurmctld recalculated, and how usage decays."""

from pathlib import Path

import pytest

from audit.errors import UsageError
from audit.oneoff.sshare.table import psv
from tests.oneoff.sshare.lab import recompute, request, samples


def test_one_sample_tells_the_ticks_of_all(tmp_path: Path) -> None:
    (first, printed), (last, expected) = samples()[5], samples()[-1]
    sample = tmp_path / "sample.psv"
    sample.write_text(printed)
    asked = request("decay", as_of=last, sample=sample, sample_time=first)
    found = recompute(asked)
    assert psv(found) == expected
    assert any("7 of 7 users agree" in fact for fact in found.facts)


def test_no_decay_needs_a_reset() -> None:
    with pytest.raises(UsageError, match="never be forgotten"):
        recompute(request("decay", half_life="0"))

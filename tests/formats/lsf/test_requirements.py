"""What jobs asked for, as LSF writes it."""

import pytest

from audit.formats.lsf.requirements import amounts

MB = 1 << 20


@pytest.mark.parametrize(
    ("text", "memory", "gpus"),
    [
        ("", None, 0),
        ("select[type == any] order[r15s:pg] ", None, 0),
        ("rusage[mem=100.00]", 200 * MB, 0),
        ("rusage[mem=100,swp=5] span[hosts=1]", 200 * MB, 0),
        ("rusage[mem=1GB/job]", 1 << 30, 0),
        ("rusage[mem=2K/task:ngpus_physical=1.00]", 8 * 2_048, 2),
        ("rusage[ngpus_physical=1:mem=1:ngpus=9]", 2 * MB, 2),
        ("rusage[ngpus_excl_p=3/job]", None, 3),
        ("rusage[ngpus=1/TASK]", None, 8),
        ("rusage[mem=500:lic=1 || mem=400:lic2=1]", 1_000 * MB, 0),
        ("rusage[mem=x:ngpus=]", None, 0),
        ("rusage[mem=99999999T]", None, 0),
        ("rusage[mem=1:duration=10] rusage[ngpus=1]", 2 * MB, 2),
        ("2*{rusage[mem=5]}+{rusage[mem=1]}", None, None),
        ("myrusage[mem=5]", None, 0),
    ],
)
def test_requirements(text: str, memory: int | None, gpus: int | None) -> None:
    assert amounts(text, nodes=2, slots=8) == (memory, gpus)

"""What jobs asked for, as Grid Engine writes it."""

import pytest

from audit.formats.gridengine.requests import Asked, asked


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ("NONE", (None, None, 0)),
        ("-l h_rt=36000 -pe mype 1", (36_000, None, 0)),
        ("-u ana,staff -q long -l h_rt=1:02:03,gpu=2", (3_723, None, 2)),
        ("-l h_rt=:10:", (None, None, 0)),
        ("-l h_rt=:10:0", (600, None, 0)),
        ("-l s_rt=100,h_rt=200", (200, None, 0)),
        ("-l s_rt=100", (100, None, 0)),
        ("-l h_rt=INFINITY,h_vmem=INFINITY", (None, None, 0)),
        ("-l h_rt=0", (None, None, 0)),
        ("-l mem_free=1.000T,s_vmem=1.024t", (None, 1 << 40, 0)),
        ("-l s_vmem=1.024t", (None, 1_024 * 10**9, 0)),
        ("-l h_vmem=2k,mem_free=9G", (None, 2_000, 0)),
        ("-l m_mem_free=.5G,h_vmem=9G", (None, 1 << 29, 0)),
        ("-l h_vmem=100", (None, 100, 0)),
        ("-l h_vmem=99999999T", (None, None, 0)),
        ("-l gpus=1.000000", (None, None, 1)),
        ("-l gpu=99999999", (None, None, 0)),
        ("-soft -l h_rt=5,gpu=3", (None, None, 0)),
        ("-l a=1 -l h_rt=7", (7, None, 0)),
        ("-l hostname=a-l h_rt=5", (None, None, 0)),
        ("-l =,,h_rt", (None, None, 0)),
        (f"-l h_rt={'9' * 5_000}", (None, None, 0)),
    ],
)
def test_requests(category: str, expected: tuple[int | None, int | None, int]) -> None:
    assert asked(category) == Asked(*expected)

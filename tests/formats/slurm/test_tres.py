"""Lists of trackable resources: units, types, weights."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.slurm.tres import amounts, columns, weights


def test_amounts() -> None:
    listed = "billing=56,cpu=16,gres/gpu:a100=4,gres/gpu=4,mem=62.50G,node=1,gres/shard=2K"
    assert amounts(listed) == {
        "billing": 56.0, "cpu": 16.0, "gres/gpu:a100": 4.0, "gres/gpu": 4.0, "mem": 64_000.0,
        "node": 1.0, "gres/shard": 2048.0,
    }  # fmt: skip
    assert amounts("mem=1536M,mem=512K") == {"mem": 0.5}
    assert amounts("") == {}
    assert amounts("cpu=many,=3,node") == {"": 3.0}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CPU=1.0,Mem=0.25G,GRES/gpu=8.0", {"cpu": 1.0, "mem": 0.25 / 1024, "gres/gpu": 8.0}),
        ("mem=.25", {"mem": 0.25}),
        ("Mem=1T", {"mem": 1 / 1024**2}),
        ("Mem=2M", {"mem": 2.0}),
        ("Mem=2K", {"mem": 2.0}),  # below the base unit: does nothing
        ("CPU=1K", {"cpu": 1 / 1024}),
        ("bb/x=1G", {"bb/x": 1 / 1024}),
        ("", {}),
        (" CPU = 2 , ", {"cpu": 2.0}),
    ],
)
def test_weights(text: str, found: dict[str, float]) -> None:
    assert weights(text) == found


@pytest.mark.parametrize("text", ["CPU", "CPU=", "CPU=x", "=3", "CPU=-1", "Mem=1Q", "CPU=nan"])
def test_weights_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="no weight"):
        weights(text)


def test_8_gib_as_the_manual_page_bills_them() -> None:
    """slurm.conf: "mem=.25" on 8 GB is billed 2048 units, "mem=.25G" 2."""
    (allocated,) = amounts("mem=8G").values()
    assert allocated * weights("mem=.25")["mem"] == 2048
    assert allocated * weights("mem=.25G")["mem"] == 2


@given(st.lists(st.one_of(st.none(), st.sampled_from(["cpu=1", "cpu=2,mem=1G", "", "odd"]))))
def test_columns_are_amounts_row_by_row(texts: list[str | None]) -> None:
    found = columns(pl.Series(texts, dtype=pl.String), ["cpu", "mem"])
    for name, series in found.items():
        assert series.to_list() == [amounts(text or "").get(name, 0.0) for text in texts]

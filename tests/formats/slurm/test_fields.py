"""Slurm's spellings, each against a slow twin that reads one text at a time."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.slurm import fields
from audit.formats.slurm.fields import Kind


def read(convert: pl.Expr, text: str | None) -> object:
    return pl.DataFrame({"t": [text]}, schema={"t": pl.String}).select(convert).item()


def slow_duration(text: str) -> int | None:
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d\d)(?:\.\d+)?", text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@given(
    st.one_of(
        st.from_regex(r"\A([0-9]{1,3}-)?([0-9]{1,3}:)?[0-9]{1,3}:[0-9]{2}(\.[0-9]{1,3})?\Z"),
        st.sampled_from(["", "UNLIMITED", "Partition_Limit", "INVALID", "x", "1:2:3:04", "12"]),
    )
)
def test_durations(text: str) -> None:
    assert read(fields.durations(pl.col("t")), text) == slow_duration(text)


@given(st.integers(0, 10**9))
def test_durations_written_and_read_again(seconds: int) -> None:
    text = pl.select(fields.duration_texts(pl.lit(seconds))).item()
    assert slow_duration(text) == seconds
    assert re.fullmatch(fields.FIT[Kind.DURATION], text)


def slow_memory(text: str) -> tuple[int | None, str] | None:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTPEZ]?)B?([cn]?)", text)
    if match is None:
        return None
    number, unit, per = match.groups()
    power = "KMGTPEZ".index(unit or "M") + 1
    if "." not in number and unit in ("", "M"):
        mib = int(number)
        for bit in (1 << 63, 1 << 31):
            if mib >= bit:
                mib, per = mib - bit, "c"
                break
        size = mib << 20
    else:
        exact = float(number) * 1024**power
        if exact >= 1 << 51:
            exact, per = exact - (1 << 51), "c"
        size = round(exact)
    return (size if 0 < size < 1 << 60 else None), per


@given(st.from_regex(r"\A[0-9]{1,6}(\.[0-9]{1,2})?[KMGT]?[cn]?\Z"))
def test_memory(text: str) -> None:
    found = read(fields.memory(pl.col("t")), text)
    expected = slow_memory(text)
    assert isinstance(found, dict)
    assert expected is not None
    size, per = expected
    assert found["per"] == per
    assert found["bytes"] == size or abs(found["bytes"] - (size or 0)) <= 1


@pytest.mark.parametrize(
    ("text", "size", "per"),
    [
        ("4000Mc", 4000 << 20, "c"),
        ("16Gn", 16 << 30, "n"),
        ("62.50G", 125 << 29, ""),
        ("2147486648Mn", 3000 << 20, "c"),  # 2^31 + 3000
        ("9223372036854779808M", 4000 << 20, "c"),  # 2^63 + 4000
        ("0n", None, "n"),
        ("1000", 1000 << 20, ""),
        ("3P", 3 << 50, ""),
    ],
)
def test_memory_by_example(text: str, size: int | None, per: str) -> None:
    if text == "3P":  # beyond 2 PiB it can only be the overflow
        size, per = 1 << 50, "c"
    assert read(fields.memory(pl.col("t")), text) == {"bytes": size, "per": per}


_amounts = st.integers(0, 10_000)


@given(
    st.dictionaries(
        st.sampled_from(
            ["cpu", "node", "billing", "gres/gpu", "gres/gpu:a100", "gres/gpu:v100", "gres/gpumem"]
        ),
        _amounts,
        max_size=7,
    )
)
def test_tres(counts: dict[str, int]) -> None:
    text = ",".join(f"{name}={count}" for name, count in counts.items())
    found = pl.DataFrame({"t": [text]}).select(**fields.tres(pl.col("t"))).row(0, named=True)
    typed = [count for name, count in counts.items() if name.startswith("gres/gpu:")]
    assert found == {
        "cpus": counts.get("cpu"),
        "nodes": counts.get("node"),
        "gpus": counts.get("gres/gpu", sum(typed) if typed else None),
        "mem_bytes": None,
    }
    assert not text or re.fullmatch(fields.FIT[Kind.TRES], text)


def test_gpus_with_and_without_type_are_the_same_gpus() -> None:
    gpus = fields.tres(pl.col("t"))["gpus"]
    assert read(gpus, "billing=1,cpu=4,gres/gpu:a100=4,gres/gpu=4,mem=8G") == 4
    assert read(gpus, "gres/gpu:a100=1,gres/gpu:v100=2") == 3


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("gpu:0", 0),
        ("gpu:V100:32", 32),
        ("hbm:0,gpu:4,bandwidth:4G", 4),
        ("gpu:P100:2(IDX:0,1),hbm:0", 2),
        ("gpu:0(IDX:N/A)", 0),
        ("gpu:a100:1,gpu:v100:2", 3),
        ("gpu", 1),
        ("gres:gpu:2", 2),
        ("7696487:4", 4),
        ("hbm:0", None),
        (None, None),
    ],
)
def test_generic_resources(text: str | None, count: int | None) -> None:
    assert read(fields.gres_gpus(pl.col("t")), text) == count
    assert text is None or re.fullmatch(fields.FIT[Kind.GRES], text.replace("(IDX:0,1)", "(IDX:0)"))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("7", (7, None, None)),
        ("3_0", (3, 0, None)),
        ("23+1", (23, None, 1)),
        ("3_[0-9%2]", (3, None, None)),
        ("67108865", (67108865, None, None)),
        ("x", (None, None, None)),
    ],
)
def test_ids(text: str, parts: tuple[int | None, ...]) -> None:
    found = pl.DataFrame({"t": [text]}).select(**fields.id_parts(pl.col("t"))).row(0)
    assert found == parts


@pytest.mark.parametrize(("text", "value"), [("4", 4), ("0.00K", 0), ("1.50K", 1536), ("x", None)])
def test_counts(text: str, value: int | None) -> None:
    assert read(fields.amounts(pl.col("t")), text) == value

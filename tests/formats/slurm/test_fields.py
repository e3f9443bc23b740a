"""Slurm's spellings, each against a slow twin that reads one text at a time."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.slurm import fields
from audit.formats.slurm.fields import FieldKind, tres_amounts, tres_columns, tres_weights


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
    types = {name.removeprefix("gres/gpu:"): count for name, count in counts.items() if ":" in name}
    items = [f"{kind}:{count}" for kind, count in sorted(types.items()) if count]
    assert found == {
        "cpus": counts.get("cpu"),
        "nodes": counts.get("node"),
        "gpus": counts.get("gres/gpu", sum(typed) if typed else None),
        "gpu_types": ",".join(items) or None,
        "mem_bytes": None,
    }
    assert not text or re.fullmatch(fields.FIT[FieldKind.TRES], text)


def test_gpus_with_and_without_type_are_the_same_gpus() -> None:
    gpus = fields.tres(pl.col("t"))["gpus"]
    assert read(gpus, "billing=1,cpu=4,gres/gpu:a100=4,gres/gpu=4,mem=8G") == 4
    assert read(gpus, "gres/gpu:a100=1,gres/gpu:v100=2") == 3


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("gres/gpu=4,gres/gpu:a100=4", "a100:4"),
        ("gres/gpu:V100=1,cpu=4,gres/gpu:a100=2", "a100:2,v100:1"),
        ("gres/gpu:a100_1g.5gb=1,gres/gpu:1g.10gb=2", "1g.10gb:2,a100_1g.5gb:1"),  # MIG slices
        ("gres/gpu:a100=0,gres/gpu=0", None),
        ("gres/gpu=2,gres/mps:a100=100,gres/gpumem=4G", None),
    ],
)
def test_types_of_gpus(text: str, types: str | None) -> None:
    assert read(fields.tres(pl.col("t"))["gpu_types"], text) == types


@pytest.mark.parametrize(
    ("text", "count", "types"),
    [
        ("gpu:0", 0, None),
        ("gpu:V100:32", 32, "v100:32"),
        ("gpu:1080:2", 2, "1080:2"),
        ("gpu:a100_1g.5gb", 1, "a100_1g.5gb:1"),
        ("hbm:0,gpu:4,bandwidth:4G", 4, None),
        ("gpu:P100:2(IDX:0,1),hbm:0", 2, "p100:2"),
        ("gpu:0(IDX:N/A)", 0, None),
        ("gpu:v100:2,gpu:a100:1,gpu:h100:0", 3, "a100:1,v100:2"),
        ("gpu", 1, None),
        ("gres:gpu:2", 2, None),
        ("7696487:4", 4, None),
        ("hbm:0", None, None),
        ("gpumem:4", None, None),
        (None, None, None),
    ],
)
def test_generic_resources(text: str | None, count: int | None, types: str | None) -> None:
    found = fields.gres(pl.col("t"))
    assert (read(found["gpus"], text), read(found["gpu_types"], text)) == (count, types)
    assert text is None or re.fullmatch(
        fields.FIT[FieldKind.GRES], text.replace("(IDX:0,1)", "(IDX:0)")
    )


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


@pytest.mark.parametrize(
    ("line", "job", "found"),
    [
        ("sbatch --array=0-5%3 --time=4 run.sh", "3_1", (3, None, None)),
        ("sbatch -a 1,4-9:2%10 run.sh", "3_1", (10, None, None)),
        ("sbatch --array 1-9%2 run.sh", "3_[4-9]", (2, None, None)),
        ("sbatch --array=0-5%3 run.sh", "3", (None, None, None)),
        ("sbatch --array=0-5 run.sh", "3_1", (None, None, None)),
        ("sbatch run.sh", "3_[4-9%2]", (2, None, None)),
        (None, "3_[4-9%0]", (None, None, None)),
        ("sbatch -wn2 --nice run.sh", "4", (None, 100, "n2")),
        ("srun --nodelist n[1-2] --nice=-5 a", "4", (None, -5, "n[1-2]")),
        ("sbatch --nice=300 --wrap=run --nodelist=n1 --array=1%2", "5_1", (None, 300, None)),
        ("sbatch run-w n1.sh --nicely", "4", (None, None, None)),
        (None, "4", (None, None, None)),
    ],
)
def test_what_only_the_call_of_sbatch_says(
    line: str | None, job: str, found: tuple[object, ...]
) -> None:
    frame = pl.DataFrame({"line": [line], "job": [job]}, schema_overrides={"line": pl.String})
    read_of = frame.select(**fields.submitted(pl.col("line"), pl.col("job")))
    assert read_of.select("array_throttle", "nice", "required_nodes").row(0) == found


@pytest.mark.parametrize(("text", "value"), [("4", 4), ("0.00K", 0), ("1.50K", 1536), ("x", None)])
def test_counts(text: str, value: int | None) -> None:
    assert read(fields.amounts(pl.col("t")), text) == value


def test_amounts() -> None:
    listed = "billing=56,cpu=16,gres/gpu:a100=4,gres/gpu=4,mem=62.50G,node=1,gres/shard=2K"
    assert tres_amounts(listed) == {
        "billing": 56.0, "cpu": 16.0, "gres/gpu:a100": 4.0, "gres/gpu": 4.0, "mem": 64_000.0,
        "node": 1.0, "gres/shard": 2048.0,
    }  # fmt: skip
    assert tres_amounts("mem=1536M,mem=512K") == {"mem": 0.5}
    assert tres_amounts("") == {}
    assert tres_amounts("cpu=many,=3,node") == {"": 3.0}


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
    assert tres_weights(text) == found


@pytest.mark.parametrize("text", ["CPU", "CPU=", "CPU=x", "=3", "CPU=-1", "Mem=1Q", "CPU=nan"])
def test_weights_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="not a weight"):
        tres_weights(text)


def test_8_gib_as_the_manual_page_bills_them() -> None:
    """slurm.conf: "mem=.25" on 8 GB is billed 2048 units, "mem=.25G" 2."""
    (allocated,) = tres_amounts("mem=8G").values()
    assert allocated * tres_weights("mem=.25")["mem"] == 2048
    assert allocated * tres_weights("mem=.25G")["mem"] == 2


@given(st.lists(st.one_of(st.none(), st.sampled_from(["cpu=1", "cpu=2,mem=1G", "", "odd"]))))
def test_columns_are_amounts_row_by_row(texts: list[str | None]) -> None:
    found = tres_columns(pl.Series(texts, dtype=pl.String), ["cpu", "mem"])
    for name, series in found.items():
        assert series.to_list() == [tres_amounts(text or "").get(name, 0.0) for text in texts]


@pytest.mark.parametrize(
    ("job_id", "pending", "tasks", "array_tasks", "cut"),
    [
        ("3", None, 1, None, False),
        ("3_4", None, 1, None, False),
        ("3_[0-9%2]", "4", 10, "0-9", False),
        ("3_[1-9:4]", None, 3, "1-9:4", False),
        ("3_[1,3,5,...]", None, 3, "1,3,5", True),
        ("3_[1,3,5,...%2]", "10", 10, "1,3,5,+7", False),
        ("3_[1,3,5,...]", "2", 3, "1,3,5", True),
        ("3_[...]", "7", 7, "+7", False),
        ("3_[0-9,1", None, 10, "0-9", True),
        ("3_[0-99999999]", None, 1, None, True),
        ("3_[0,...]", "99999999", 4_000_001, "0,+4000000", False),
        (None, None, 1, None, False),
    ],
)
def test_tasks_of_one_row(
    job_id: str | None, pending: str | None, tasks: int, array_tasks: str | None, cut: bool
) -> None:
    ids, numbers = (pl.Series([text, "3_[0-1]"], dtype=pl.String) for text in (job_id, pending))
    found = fields.waiting_tasks(ids, numbers.set(pl.Series([False, True]), None))
    assert found.row(0, named=True) == {"array_tasks": array_tasks, "tasks": tasks, "cut": cut}
    assert found.row(1, named=True) == {"array_tasks": "0-1", "tasks": 2, "cut": False}

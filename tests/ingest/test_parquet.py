"""The text of a Parquet file, which identifies it and must not change."""

import hashlib
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import LogError
from audit.ingest import parquet, streams
from tests.examples import examples
from tests.places import DATA

INSTANT: Final = datetime(2020, 5, 5, 6, 2, 15, 999_999)  # noqa: DTZ001 (a wall clock)

EVERY_TYPE: Final = pl.DataFrame(
    {
        "text": ["a,b", "", None, 'q"|x', "l\nm\rn\0o\x1fp", "ü"],
        "whole": pl.Series([1, -5, None, 2**63 - 1, 0, 7], dtype=pl.Int64),
        "unsigned": pl.Series([1, 5, None, 2**64 - 1, 0, 7], dtype=pl.UInt64),
        "real": [1.0, -0.5, None, 1e22, float("nan"), 0.1 + 0.2],
        "small": pl.Series([1.5, 2.25, None, -0.0, 1e-9, 123456.789], dtype=pl.Float32),
        "flag": [True, False, None, True, True, False],
        "zoned": pl.Series([INSTANT] * 6).dt.replace_time_zone("Europe/Berlin"),
        "local": pl.Series([INSTANT, None] * 3, dtype=pl.Datetime("ns")),
        "day": [date(2020, 2, 29)] * 6,
        "length": [timedelta(days=1, seconds=1.5)] * 6,
        "names": [["n1", "n2"], [], None, ["x"], [None, "y"], ["a\nb"]],
        "numbers": [[1, 2], [], None, [3], [None, 4], [5]],
        "choice": pl.Series(["a", "b", "a", None, "a", "b"], dtype=pl.Categorical),
        "reals": [[0.5]] * 6,
        "pair": [{"a": 1}] * 6,
        "raw": [b"x"] * 6,
        "nothing": pl.Series([None] * 6, dtype=pl.Null),
    }
)


def text_of(frame: pl.DataFrame, folder: Path, **options: Any) -> bytes:
    path = folder / "t"
    frame.write_parquet(path, **options)
    return read(path)


def read(path: Path) -> bytes:
    with streams.opened(path) as stream:
        return b"".join(iter(lambda: stream.read(1000), b""))


def test_each_type_has_its_text(tmp_path: Path) -> None:
    lines = text_of(EVERY_TYPE, tmp_path).decode().split("\n")
    assert lines[0].split(parquet.SEPARATOR) == EVERY_TYPE.columns
    columns = list(zip(*(line.split(parquet.SEPARATOR) for line in lines[1:-1]), strict=True))
    found = dict(zip(EVERY_TYPE.columns, columns, strict=True))
    assert found == {
        "text": ("a,b", "", "", 'q"|x', r"l\nm\rn\0o p", "ü"),
        "whole": ("1", "-5", "", str(2**63 - 1), "0", "7"),
        "unsigned": ("1", "5", "", str(2**64 - 1), "0", "7"),
        "real": ("1", "-0.500000", "", "1e+22", "", "0.300000"),
        "small": ("1.500000", "2.250000", "", "0", "0", "123456.789062"),
        "flag": ("true", "false", "", "true", "true", "false"),
        "zoned": ("2020-05-05T04:02:15Z",) * 6,
        "local": ("2020-05-05T06:02:15", "") * 3,
        "day": ("2020-02-29",) * 6,
        "length": ("86401",) * 6,
        "names": ("n1,n2", "", "", "x", "y", r"a\nb"),
        "numbers": ("1,2", "", "", "3", "4", "5"),
        "choice": ("a", "b", "a", "", "a", "b"),
        **dict.fromkeys(("reals", "pair", "raw", "nothing"), ("",) * 6),
    }


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        (
            "pm100/job_table.parquet",
            "d6d192599fa8e893711c4c4074f5915b5504fca4835487a599e5e29ccf0b2a3b",
        ),
        (
            "fugaku-fdata/21_04.parquet",
            "ed78e979b01e673ae1be07dbaf1d36da3a0120504b25fee4898189aebf073a32",
        ),
    ],
)
def test_the_text_never_changes(name: str, digest: str) -> None:
    """A change makes every Parquet log of every store a new one: think twice."""
    assert hashlib.sha256(read(DATA / "tables" / name)).hexdigest() == digest


def test_the_text_of_every_type_never_changes(tmp_path: Path) -> None:
    found = hashlib.sha256(text_of(EVERY_TYPE, tmp_path)).hexdigest()
    assert found == "221ee45a4eef5a5f467541e0d17585ecdb8eeba9a6126df3455acbfe5b44517c"


@settings(max_examples=examples(20), deadline=None)
@given(rows=st.integers(0, 300), group=st.sampled_from([1, 7, 100, None]))
def test_the_text_does_not_depend_on_groups_of_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: int, group: int | None
) -> None:
    frame = pl.DataFrame({"n": range(rows), "t": [f"x{n}" for n in range(rows)]})
    found = text_of(frame, tmp_path_factory.mktemp("p"), row_group_size=group)
    assert found == b"n\x1ft\n" + b"".join(b"%d\x1fx%d\n" % (n, n) for n in range(rows))


def test_pieces_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = text_of(EVERY_TYPE, tmp_path)
    monkeypatch.setattr(parquet, "_ROWS", 2)
    assert text_of(EVERY_TYPE, tmp_path) == whole


@pytest.mark.parametrize("kept", [4, 10, 100, -10])
def test_damage_is_reported(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "t"
    EVERY_TYPE.write_parquet(path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(LogError, match=r"t: damaged Parquet: .*; fetch it again"):
        read(path)


def test_no_byte_of_a_file_makes_more_than_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "t"
    EVERY_TYPE.write_parquet(path)
    whole = path.read_bytes()
    for place in range(4, len(whole), max(1, len(whole) // 150)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            read(path)
        except LogError as error:
            assert "damaged Parquet" in str(error)  # noqa: PT017

"""Columns of texts → typed columns, and the records of a block → ``Parsed``.

A dialect makes one table of a block, with the columns of ``RECORDS`` that it can fill. This module
holds the converters that dialects share; ``instants`` converts times.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl

from audit import arrays
from audit.formats.dialects import Header, Parsed
from audit.formats.instants import LATEST
from audit.formats.lines import NEWLINE, Block, Lines, Offsets
from audit.hostlists import LONGEST, NAME
from audit.model import RECORDS, REFUSALS, RefusalCode

LARGEST: Final = 1 << 28
"""Largest number of CPUs, nodes or GPUs: products with seconds stay within int64."""
LARGEST_ID: Final = 1 << 53  # largest job or user number that is read exactly
MIB: Final = 1 << 20
ENDS_WITHIN: Final = "the log ends within this record"  # reason of ``RefusalCode.CUT``
MOST_MEMORY: Final = 1 << 47  # maximum memory of a node, in bytes (128 TiB)
IMPLAUSIBLE: Final = "memory of more than 128 TiB per node is ignored"
SHOWN: Final = 40  # number of characters of a value that a refusal shows
_SHORT: Final = 60
_PYTHON_LIST: Final = r"""^\[[^\[\]]*['" ][^\[\]]*\]$"""

Fault = tuple[pl.Expr, RefusalCode, pl.Expr | str]
"""When a record is refused, its code, and the reason."""

REFUSED: Final = pl.Schema({"number": pl.Int64, "problem": pl.String, "code": pl.String})
"""Unreadable records: ``number`` of the span, the reason, and a ``RefusalCode``."""


def positive(name: str) -> pl.Expr:
    """Return a column, null where it is not above 0."""
    return pl.when(pl.col(name) > 0).then(name)


def case(*cases: tuple[pl.Expr, str | pl.Expr], otherwise: str | pl.Expr | None = None) -> pl.Expr:
    """Return the value of the first condition that holds; a ``str`` is that text."""
    chosen = pl.lit(otherwise) if isinstance(otherwise, str | None) else otherwise
    for condition, value in reversed(cases):
        text = pl.lit(value) if isinstance(value, str) else value
        chosen = pl.when(condition).then(text).otherwise(chosen)
    return chosen


def clock(text: pl.Expr, pattern: str) -> pl.Expr:
    """Return seconds; the groups of ``pattern`` are days, hours, minutes and seconds."""
    parts = text.str.extract_groups(pattern)
    whole = [parts.struct.field(str(n)).cast(pl.Int64, strict=False) for n in range(1, 5)]
    factors = (86_400, 3_600, 60)
    larger = (part.fill_null(0) * f for part, f in zip(whole[:3], factors, strict=True))
    return pl.when(whole[3].is_not_null()).then(sum(larger, start=whole[3]))


@lru_cache(maxsize=64)
def _of_no_text(convert: Callable[[pl.Series], pl.DataFrame]) -> pl.DataFrame:
    """Return the empty result of ``convert``: most possible columns are not in a log."""
    return convert(pl.Series(dtype=pl.String))


def by_distinct(text: pl.Series, convert: Callable[[pl.Series], pl.DataFrame]) -> pl.DataFrame:
    """Apply ``convert`` once to each distinct text: columns repeat the same few values."""
    if text.null_count() == len(text):
        return _of_no_text(convert).clear(len(text))
    distinct = text.drop_nulls().unique()
    values = convert(distinct).with_columns(text=distinct)
    joined = text.to_frame("text").join(values, on="text", how="left", maintain_order="left")
    return joined.drop("text")


def task_counts(lists: pl.Series) -> pl.Series:
    """Return how many tasks each list of an array's tasks names (``arrays``); null: it is none."""
    return by_distinct(lists, _task_counts)["tasks"]


def _task_counts(lists: pl.Series) -> pl.DataFrame:
    counts = [arrays.count(text) for text in lists]
    return pl.DataFrame({"tasks": pl.Series(counts, dtype=pl.Int64)})


def table(rows: Iterable[Sequence[int | None]], names: Sequence[str]) -> pl.DataFrame:
    """Return rows of whole numbers as columns."""
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    pairs = zip(names, columns, strict=True)
    return pl.DataFrame([pl.Series(name, column, dtype=pl.Int64) for name, column in pairs])


def keyed(
    rows: Offsets, keys: pl.Series, values: pl.Series, names: Sequence[str], height: int
) -> pl.DataFrame:
    """Return pairs of keys and values as a table with ``height`` rows and a column for each name.

    ``rows`` are the rows of the pairs. Other keys are skipped; of equal ones the last counts.
    """
    place = keys.replace_strict(
        {name: number for number, name in enumerate(names)}, default=-1, return_dtype=pl.Int64
    )
    known = np.flatnonzero(place.to_numpy() >= 0)
    places = place.gather(known).to_numpy()
    occurs = np.bincount(places, minlength=len(names)) > 0
    there = np.flatnonzero(occurs)
    last = np.full((len(there), height), -1, dtype=np.int64)
    last[(np.cumsum(occurs) - 1)[places], rows[known]] = known
    chosen = pl.Series(last.reshape(-1))
    found = values.gather(chosen.set(chosen < 0, None))
    columns = {
        names[name]: found.slice(k * height, height) for k, name in enumerate(there.tolist())
    }
    nothing = values.clear(height)
    return pl.DataFrame({name: columns.get(name, nothing) for name in names})


def single_node(name: pl.Expr) -> pl.Expr:
    """Return the hostlist of a node; null where its name cannot be written."""
    good = name.str.contains(f"^{NAME}$") & (name.str.len_chars() <= LONGEST)
    return pl.when(good).then(name)


def hostlist(nodes: pl.Expr) -> pl.Expr:
    """Return a list of nodes that Python wrote (['n1', 'n2'], [1, 2]) as a hostlist."""
    plain = nodes.str.replace_all(r"""[\[\]'" ]""", "")
    return pl.when(nodes.str.contains(_PYTHON_LIST)).then(plain).otherwise(nodes)


def short(text: str) -> str:
    """Return a text for messages, quoted and cut off."""
    return repr(text if len(text) <= _SHORT else f"{text[:_SHORT]}…")


def unreadable(where: str) -> str:
    """Return the remark about records in which an optional value, ``where``, cannot be read."""
    return f"{where} cannot be read, and counts as unknown"


def remarks(*doubts: tuple[pl.Series, str]) -> pl.Expr:
    """Return the ``remarks`` of each record: the texts whose condition holds; null: it does not."""
    texts = [pl.when(holds).then(pl.lit(text)) for holds, text in doubts if holds.any()]
    return pl.concat_list(texts) if texts else pl.lit([], pl.List(pl.String))


class Texts:
    """The text columns of a log, and the problems found in them."""

    def __init__(self, texts: pl.DataFrame, label: str) -> None:
        """``label`` is the word for a column in refusals."""
        self._texts = texts
        self._label = label
        self._found: list[tuple[pl.Series, pl.Series]] = []
        self.doubts: list[tuple[pl.Series, str]] = []  # see ``remarks``
        self._nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(texts))

    def __contains__(self, name: str) -> bool:
        return name in self._texts.columns

    def text(self, name: str) -> pl.Series:
        """Return a column; nulls where the log lacks it."""
        return self._texts[name] if name in self else self._nothing

    def check(
        self,
        name: str,
        bad: pl.Series,
        what: str | pl.Series,
        code: RefusalCode = RefusalCode.VALUE,
    ) -> None:
        """Record a problem with a column in the rows that are ``bad``; null counts as good."""
        if bad.any():
            reason = pl.lit(what) if isinstance(what, str) else what
            value = pl.lit(self.text(name).fill_null("").str.slice(0, SHOWN))
            column = pl.lit(f"{self._label} {name}")
            self.note(bad, pl.format("{}: '{}' {}", column, value, reason), code)

    def note(
        self, bad: pl.Series, reason: pl.Expr | str, code: RefusalCode = RefusalCode.VALUE
    ) -> None:
        """Record a problem with the rows that are ``bad``; null counts as good."""
        if bad.any():
            why = pl.lit(reason) if isinstance(reason, str) else reason
            found = pl.select(bad=pl.lit(bad.fill_null(value=False)), why=why, code=pl.lit(code))
            reasons, codes = (
                found[name].zip_with(found["bad"], self._nothing) for name in ("why", "code")
            )
            self._found.append((reasons, codes))

    def doubt(self, name: str, bad: pl.Series) -> None:
        """Remark that an optional column cannot be read in the rows that are ``bad``."""
        if bad.any():
            self.doubts.append((bad, unreadable(f"{self._label} {name}")))

    def faults(self) -> dict[str, pl.Series]:
        """Return ``problem`` and ``code`` of each row's first problem; null: none."""
        both = zip(*self._found, strict=True) if self._found else ([self._nothing],) * 2
        return {
            name: pl.coalesce(*(one.alias(str(n)) for n, one in enumerate(some)), eager=True)
            for name, some in zip(("problem", "code"), both, strict=True)
        }


def faulted(faults: Iterable[Fault], *known: str) -> dict[str, pl.Expr]:
    """Return ``problem`` and ``code``: those in ``known``, else of the first fault that holds."""
    cases = [
        (pl.when(bad), pl.lit(code.value), pl.lit(why) if isinstance(why, str) else why)
        for bad, code, why in faults
    ]
    return {
        "problem": pl.coalesce(*known[:1], *(bad.then(why) for bad, _, why in cases)),
        "code": pl.coalesce(*known[1:], *(bad.then(code) for bad, code, _ in cases)),
    }


def ends_early(names: str, start: str = "start_time", end: str = "end_time") -> Fault:
    """Return the fault of records that end before they start; ``names`` are the log's columns."""
    early, late = pl.col(end), pl.col(start)
    why = pl.format(f"ends {{}} s before it starts ({names})", late - early)
    return early < late, RefusalCode.ORDER, why


def beyond_range(labels: dict[str, str]) -> list[Fault]:
    """Return the faults of times after ``LATEST``; ``labels`` name each column in refusals."""
    return [
        (
            pl.col(name) > LATEST,
            RefusalCode.TIME,
            pl.format(f"{label}: {{}} lies beyond 2242", name),
        )
        for name, label in labels.items()
    ]


def refused(rows: Iterable[tuple[int, str, RefusalCode]]) -> pl.DataFrame:
    """Return rows of ``REFUSED``."""
    return pl.DataFrame([(n, why, code.value) for n, why, code in rows], REFUSED, orient="row")


def shaped(
    block: Block,
    spans: Lines,
    found: pl.DataFrame | Sequence[pl.DataFrame],
    *,
    steps: int = 0,
    header: Header | None = None,
    schema: pl.Schema = RECORDS,
    by_line: bool = False,
) -> Parsed:
    """Return the records and refusals of a block.

    Args:
        block, steps, header: as in ``Parsed``.
        spans: where each record begins and ends; those without a row in ``found`` are dropped.
        found: columns of ``REFUSED`` and of ``RECORDS``, in one frame or several, and maybe
            ``remarks``, a list of texts (``Parsed``). Missing columns are unknown; others are
            dropped.
        schema: of the records.
        by_line: whether each record is a line, so that one without a line end may have been cut.
    """
    if not isinstance(found, pl.DataFrame):
        found = pl.concat(found, how="diagonal")
    if not found["number"].is_sorted():
        found = found.sort("number")
    begins = spans.starts[found["number"].to_numpy()]
    breaks = np.flatnonzero(np.frombuffer(block.data, dtype=np.uint8) == NEWLINE)
    # sequentially: threads cost more than this takes
    placed = found.with_columns_seq(
        line=pl.Series(np.searchsorted(breaks, begins) + block.first_line, dtype=pl.Int64),
        byte_offset=pl.Series(begins + block.byte_offset, dtype=pl.Int64),
    )
    refusals = pl.DataFrame(schema=REFUSALS)
    if placed["problem"].null_count() < placed.height:
        bad = placed.filter(pl.col("problem").is_not_null())
        bad = _cut_off(bad, block, spans) if by_line else bad
        texts = [block.data[spans.starts[n] : spans.ends[n]] for n in bad["number"]]
        shown = [text.rstrip(b"\r\n").decode("utf-8", "backslashreplace") for text in texts]
        text = pl.Series(shown, dtype=pl.String)
        refusals = bad.select_seq(
            "line", "byte_offset", "code", reason="problem", text=text
        ).match_to_schema(REFUSALS)
        placed = placed.filter(pl.col("problem").is_null())
    remarks: dict[str, int] = {}
    if "remarks" in placed.columns:
        said = placed["remarks"].explode().drop_nulls()
        remarks = dict(said.value_counts(sort=True).iter_rows())
    records = placed.match_to_schema(schema, missing_columns="insert", extra_columns="ignore")
    if "tasks" in records.columns:  # what started is one task
        waited = pl.when(pl.col("start_time").is_null())
        records = records.with_columns(
            waited.then("tasks").fill_null(1), waited.then("array_tasks").alias("array_tasks")
        )
    records, ignored = _plausible(records)
    remarks |= {IMPLAUSIBLE: ignored} if ignored else {}
    return Parsed(records, refusals, steps, header, remarks)


def _cut_off(bad: pl.DataFrame, block: Block, spans: Lines) -> pl.DataFrame:
    """Return refused records; one that ends where a log without a line end does was cut there."""
    if block.data.endswith(b"\n"):
        return bad
    last = pl.Series(spans.ends[bad["number"].to_numpy()] == len(block.data))
    shape = pl.col("code").is_in([RefusalCode.SHAPE.value, RefusalCode.VALUE.value])
    at_end = pl.lit(last) & shape
    return bad.with_columns(
        problem=pl.when(at_end).then(pl.lit(ENDS_WITHIN)).otherwise("problem"),
        code=pl.when(at_end).then(pl.lit(RefusalCode.CUT.value)).otherwise("code"),
    )


def _plausible(records: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return records without amounts of memory that no node has, and how many had one."""
    nodes = pl.coalesce(positive("nodes"), positive("cpus"), 1)
    wrong = (pl.col("mem_bytes") // MOST_MEMORY >= nodes).fill_null(value=False)
    number = int(records.select(wrong.sum()).item())
    if number:
        names = ("mem_bytes", "node_amounts")
        records = records.with_columns(pl.when(~wrong).then(name).alias(name) for name in names)
    return records, number

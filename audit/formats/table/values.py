"""Texts of columns → fields of a record, as a mapping says (``config.table``).

A row is refused for its id, for a mapped time that cannot be read, or because it ends before it
starts. Any other value that cannot be read is unknown, and counted.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from audit.config import table
from audit.formats import shaping
from audit.formats.instants import LATEST, UNKNOWN, Instants, instants
from audit.formats.sacct.repeated import UNDECIDED, settled
from audit.hostlists import expand
from audit.model import RecordKind, RefusalCode

LAST: Final = "#last"
"""Column that is not null in the last record of an object."""

_KINDS: Final = {
    "job": RecordKind.EXECUTION,
    "execution": RecordKind.EXECUTION,
    "run": RecordKind.RUN,
    "task": RecordKind.TASK,
}
_CLOCK: Final = r"^(?:([0-9]+)[-:])??(?:([0-9]+):)?([0-9]+):([0-9]{1,2})(?:\.[0-9]+)?$"
_COUNTED: Final = r"^([0-9]{1,15})\.[0-9]{1,9}$"  # 123.0, of HTCondor or a fraction
_NUMBERED: Final = r"(?:^|[^0-9A-Za-z])([0-9]{1,15})$"
_TASK: Final = r"^([0-9]{1,15})_([0-9]{1,15})$"
_MOMENT: Final = (
    r"^([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\.[0-9]+)?)?"
    r" ?(UTC|GMT|Z|[+-][0-9]{2}:?[0-9]{2})?$"
)
_LONGEST_S: Final = 1 << 33
_MOST_BYTES: Final = 1 << 62
_LATE: Final = "elapsed is not end − start, and is not used"
_LENGTHS: Final = {"walltime": "walltime_s", "suspended": "suspended_s"}
_SLURM_TIMES: Final = dict(zip(table.TIMES, ("Submit", "Eligible", "Start", "End"), strict=True))


def moments(text: pl.Series, zone: str) -> Instants:
    """Convert a column of times as ``instants`` does.

    Also read are slashes (2026/01/31), times without seconds, and UTC at the end.
    """
    read = instants(text, zone)
    if read.problem.null_count() == len(text):
        return read
    parts = text.str.extract_groups(_MOMENT)
    day = pl.concat_str([parts.struct.field(n) for n in "123"], separator="-")
    seconds, offset = (parts.struct.field(n) for n in "56")
    offset = offset.replace({"UTC": "Z", "GMT": "Z"})
    whole = pl.concat_str(
        [day, pl.lit("T"), parts.struct.field("4"), seconds.fill_null(":00"), offset.fill_null("")]
    )
    return instants(pl.select(pl.coalesce(whole, pl.lit(text))).to_series(), zone)


def records(texts: pl.DataFrame, mapping: table.TableMapping, zone: str) -> pl.DataFrame:
    """Convert rows; return columns of ``REFUSED`` and ``RECORDS``.

    ``texts`` holds ``number`` and the columns of the mapping, null where unknown.
    """
    return _RowReader(texts, mapping, zone).records()


def added(texts: pl.DataFrame, mapping: table.TableMapping) -> pl.DataFrame:
    """Convert columns that a dialect has beside its own; return ``number``, fields, ``remarks``."""
    rows = _RowReader(texts, mapping, "UTC")
    columns = rows.columns()
    frame = pl.DataFrame({"number": texts["number"], **columns}).rename(_LENGTHS, strict=False)
    return frame.with_columns(remarks=shaping.remarks(*rows.given.doubts))


class _RowReader:
    def __init__(self, texts: pl.DataFrame, mapping: table.TableMapping, zone: str) -> None:
        self.texts, self.mapping, self.zone = texts, mapping, zone
        self.given = shaping.Texts(texts, "column")
        self.fields = mapping.fields
        self.amounts: dict[str, pl.Series] = {}
        self.nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(texts))

    def records(self) -> pl.DataFrame:
        ids = self.raw(self.fields["job_id"])
        name = self.fields["job_id"].column or ""
        self.given.check(name, ids.is_null(), "is not a job id")
        columns = self.columns()
        numbers = ids.str.extract(_COUNTED).fill_null(ids.str.extract(_NUMBERED)).cast(pl.Int64)
        times = self.times(columns, numbers)
        named = {"number": self.texts["number"], "job_number": numbers}
        frame = pl.DataFrame({**named, **columns, **times, **self.given.faults()})
        return self.whole(frame.drop("elapsed", "wait", strict=False))

    def columns(self) -> dict[str, pl.Series]:
        """Return the fields that are no times."""
        columns: dict[str, pl.Series] = {
            name: self.raw(of)
            for name, of in self.fields.items()
            if name in table.TEXTS and name != "state"
        }
        if "state" in self.fields or self.mapping.state_when:
            columns["state"] = self.state()
        columns |= {name: self.duration(name) for name in table.DURATIONS if name in self.fields}
        columns |= {
            name: self.amount(name, shaping.LARGEST if name in table.COUNTS else _MOST_BYTES)
            for name in (*table.COUNTS, *table.MEMORY)
            if name in self.fields
        }
        return columns | {name: self.number(name) for name in table.NUMBERS if name in self.fields}

    def whole(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return rows with what follows from several fields."""
        of_array = [pl.col("job_id").str.extract(_TASK, n).cast(pl.Int64) for n in (1, 2)]
        frame = frame.with_columns(
            job_number=pl.coalesce(of_array[0], "job_number"), array_task=of_array[1]
        )
        for name in ("node_list", "required_nodes"):
            if name in frame.columns:
                text = frame.select(shaping.hostlist(pl.col(name))).to_series()
                good = shaping.by_distinct(text, _hostlists)["good"]
                frame = frame.with_columns(text.set(~good, None).alias(name))
                self.given.doubt(self.fields[name].column or "", text.is_not_null() & ~good)
        if "gpu_types" in frame.columns:
            kind, gpus = pl.col("gpu_types").str.to_lowercase(), pl.col("gpus")
            named = pl.when(gpus > 0).then(pl.format("{}:{}", shaping.single_node(kind), gpus))
            typed = kind.str.contains(":", literal=True)
            frame = frame.with_columns(gpu_types=pl.when(typed).then(kind).otherwise(named))
        ends = [name for name in ("start_time", "end_time") if name in self.fields]
        labels = [self.fields[name].column or name for name in ends]
        order = shaping.ends_early(f"columns {', '.join(labels)}")
        late = (pl.col("end_time") > LATEST, RefusalCode.TIME, "it ends after 2242")
        doubts = [(frame["undecided"], UNDECIDED), (frame["differs"], _LATE), *self.given.doubts]
        return frame.with_columns(
            kind=pl.lit(_KINDS[self.mapping.one]),
            remarks=shaping.remarks(*doubts),
            **shaping.faulted([order, late], "problem", "code"),
        ).rename(_LENGTHS, strict=False)

    def raw(self, of: table.Mapped) -> pl.Series:
        """Return the texts of a field's column, null where they mean unknown."""
        if of.column is None:
            return pl.Series([str(of.constant)]).new_from_index(0, len(self.texts))
        found = self.texts[of.column]
        if of.nulls:
            found = found.set(found.is_in(list(of.nulls)).fill_null(value=False), None)
        if of.pattern is not None:
            cut = found.str.extract(of.pattern)
            self.given.doubt(of.column, found.is_not_null() & cut.is_null())
            found = cut
        if of.values or of.otherwise is not None:
            listed = found.is_in(list(of.values))
            if of.otherwise is None:
                self.given.doubt(of.column, ~listed)
            found = found.replace_strict(
                of.values, default=of.otherwise, return_dtype=pl.String
            ).zip_with(found.is_not_null(), self.nothing)
        return found

    def number(self, name: str) -> pl.Series:
        """Return a field that is a number."""
        of = self.fields[name]
        text = self.raw(of)
        value = text.cast(pl.Float64, strict=False)
        value = value.set(~value.is_finite().fill_null(value=True), None)
        value = value.cast(pl.Int64, strict=False) if name == "nice" else value
        self.unread(of, text, value)
        return value

    def amount(self, name: str, most: int) -> pl.Series:
        """Return a field that is a whole number ≥ 0 and ≤ ``most``; parts of a byte are dropped."""
        if name not in self.amounts:
            self.amounts[name] = self._amount(self.fields[name], most)
        return self.amounts[name]

    def _amount(self, of: table.Mapped, most: int) -> pl.Series:
        text = self.raw(of)
        if of.unit == table.ITEMS:
            return text.str.count_matches(",", literal=True).cast(pl.Int64) + 1
        factor = table.FACTORS[of.unit] if of.unit else 1
        value = text.cast(pl.Int64, strict=False)
        odd = value.is_null() & text.is_not_null()
        if factor != 1 or odd.any():
            real = _scaled(text.cast(pl.Float64, strict=False), factor)
            real = real.ceil() if of.round == "up" else real
            real = real.round(6).floor() if most == _MOST_BYTES else real
            fits = (real.is_between(0, most) & (real == real.floor())).fill_null(value=False)
            value = real.set(~fits, None).cast(pl.Int64)
        value = value.set(~value.is_between(0, most).fill_null(value=True), None)
        self.unread(of, text, value)
        if of.per is None:
            return value
        each = self.amount("cpus" if of.per == "cpu" else "nodes", shaping.LARGEST)
        return value.set((value > most // each.clip(1)).fill_null(value=False), None) * each

    def duration(self, name: str) -> pl.Series:
        """Return a field in seconds ≥ 0; a walltime of 0 is unknown."""
        of = self.fields[name]
        text = self.raw(of)
        if of.unit == table.CLOCK:
            value = pl.select(shaping.clock(pl.lit(text), _CLOCK)).to_series().cast(pl.Int64)
        else:
            real = _scaled(text.cast(pl.Float64, strict=False), table.FACTORS[of.unit or "s"])
            real = real.round(6).floor()  # 2123.2 min are 127,392 s
            fits = real.is_between(0, _LONGEST_S).fill_null(value=False)
            value = real.set(~fits, None).cast(pl.Int64)
        self.unread(of, text, value)
        return value.set(value == 0, None) if name == "walltime" else value

    def unread(self, of: table.Mapped, text: pl.Series, value: pl.Series) -> None:
        """Count the values that cannot be read."""
        self.given.doubt(of.column or "", text.is_not_null() & value.is_null())

    def times(self, columns: Mapping[str, pl.Series], numbers: pl.Series) -> dict[str, pl.Series]:
        """Return the times, those that follow from durations, and doubts about them."""
        unknown = pl.Series([None], dtype=pl.Int64).new_from_index(0, len(self.texts))
        given = ("elapsed", "wait", "suspended")
        elapsed, wait, suspended = (columns.get(name, unknown) for name in given)
        known = [name for name in table.TIMES if name in self.fields]
        read = {_SLURM_TIMES[name]: self.instants(self.fields[name]) for name in known}
        found = settled(read, elapsed, suspended, numbers)
        times = {name: found[name].set(found[name] == 0, None) for name in table.TIMES}
        frame = pl.DataFrame(
            {**times, "undecided": found["undecided"], "elapsed": elapsed, "wait": wait}
        )
        start, end, spent = (pl.col(n) for n in ("start_time", "end_time", "elapsed"))
        ready = pl.coalesce("eligible_time", "submit_time")
        if "start_time" not in known:
            frame = frame.with_columns(start_time=pl.coalesce(ready + pl.col("wait"), end - spent))
        elif "eligible_time" not in known:
            frame = frame.with_columns(eligible_time=start - pl.col("wait"))
        if "end_time" not in known:
            frame = frame.with_columns(end_time=start + spent)
        frame = frame.with_columns(
            occupancy_s=pl.coalesce(end - start, spent),
            differs=((end - start - spent).abs() > 1).fill_null(value=False),
        )
        return frame.drop("elapsed", "wait").to_dict()

    def instants(self, of: table.Mapped) -> Instants:
        """Return a time; one that cannot be read refuses its row."""
        text = self.raw(of)
        if of.unit is not None or self.mapping.origin is not None:
            text = text.set(text.is_in(list(UNKNOWN)).fill_null(value=False), None)
            value = text.cast(pl.Int64, strict=False)
            if of.unit not in (None, "s") or value.null_count() > text.null_count():
                real = _scaled(text.cast(pl.Float64, strict=False), table.FACTORS[of.unit or "s"])
                value = real.floor().cast(pl.Int64, strict=False)
            value += self.mapping.origin_s
            value = value.set(~value.is_between(0, LATEST).fill_null(value=True), None)
            self.given.check(
                of.column or "",
                text.is_not_null() & value.is_null(),
                "is not a number of seconds, or lies before 1970 or beyond 2242",
                RefusalCode.TIME,
            )
            return Instants(value, value, self.nothing)
        read = moments(text, self.zone)
        wrong = read.problem.is_not_null()
        self.given.check(of.column or "", wrong, read.problem, RefusalCode.TIME)
        return read

    def state(self) -> pl.Series:
        """Return the state by the first rule that holds, else by its column."""
        state = self.nothing
        if of := self.fields.get("state"):
            state = self.raw(of)
            if not of.values and of.otherwise is None:
                state = state.str.to_uppercase().str.replace(r"^(CANCELLED) BY .*", "$1")
        for rule in reversed(self.mapping.state_when):
            holds = pl.lit(value=True)
            if rule.column is not None:
                among = [rule.among] if isinstance(rule.among, str) else [*(rule.among or ())]
                holds &= pl.col(rule.column).is_in(among)
            if rule.present is not None:
                holds &= pl.col(rule.present).is_not_null()
            if rule.absent is not None:
                holds &= pl.col(rule.absent).is_null()
            if rule.last is not None and LAST in self.texts.columns:
                holds &= pl.col(LAST).is_not_null() == rule.last
            chosen = pl.when(holds).then(pl.lit(rule.state)).otherwise(pl.lit(state))
            state = self.texts.select(state=chosen).to_series()
        return state


def _scaled(value: pl.Series, factor: float) -> pl.Series:
    """Return a value times a unit; small units divide, so that 3000 m are 3 exactly."""
    return value / round(1 / factor) if factor < 1 else value * factor


def _hostlists(lists: pl.Series) -> pl.DataFrame:
    return pl.DataFrame(
        {"good": [expand(text) is not None for text in lists]}, {"good": pl.Boolean}
    )

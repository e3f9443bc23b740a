"""HTCondor's history files, and the output of `condor_history -long`: `Attribute = value`.

    ClusterId = 5
    Owner = "ana"
    *** Offset = 0 ClusterId = 5 ProcId = 0 Owner = "ana" CompletionDate = 1795235666

Records end with a banner in the files of a schedd and of epochs, with an empty line in the output
of programs (also `condor_q -long`). The last of equal attributes counts; their order and the case
of their names do not matter. A record without its end was cut, unless it is the whole log, as in
the files of one job (PER_JOB_HISTORY_DIR).
"""

import re
from typing import Final

import numpy as np
import polars as pl

from audit.formats.dialects import HEAD_BYTES, Dialect, Header, Parsed, Reading
from audit.formats.htcondor.records import ATTRIBUTES, KEYS, NOTHING, typed
from audit.formats.lines import Block, Lines, Mask, Offsets, cut
from audit.formats.shaping import keyed, refused, shaped
from audit.model import RefusalCode

_MARKS: Final = [
    re.compile(rb"(?im)^%s[ \t]*=[ \t]*\d+[ \t\r]*$" % n) for n in (b"ClusterId", b"ProcId")
]
_END: Final = re.compile(rb"(?m)^(?:\r?|\*\*\*.*)\n")
_EPOCH: Final = r"^\*\*\* (?:([A-Z_]+) )?ClusterId=.*?(?: CurrentTime=([0-9]+))?\s*$"
_ATTRIBUTE: Final = r"^[A-Za-z_][^=]*="
_READ: Final = rf"(?i)^(?:{'|'.join(KEYS)})[ \t]*="
_OF_ONE: Final = ("ClusterId", "ProcId")  # attributes whose values differ between adjacent records


def recognises(head: bytes) -> bool:
    """Return whether a history begins with ``head``."""
    return all(mark.search(head) for mark in _MARKS)


def header(head: bytes, reading: Reading) -> Header:
    """Return whether the log is one record without an end (entry ``alone``)."""
    alone = len(head) < HEAD_BYTES and head.endswith(b"\n") and not _END.search(head)
    entries = {"alone": "yes"} if alone and len(_MARKS[0].findall(head)) == 1 else {}
    return Header(zone=reading.zone, entries=entries)


def whole(data: bytes, header: Header) -> int:
    """Return the length of ``data`` up to its last banner or empty line."""
    stop = data.rfind(b"\n") + 1
    after = max(data.rfind(mark, 0, stop) for mark in (b"\n***", b"\n\n", b"\n\r\n"))
    if after < 0:
        found = _END.match(data[:stop])
        return found.end() if found else 0
    return data.index(b"\n", after + 1, stop) + 1


def parse(block: Block, header: Header) -> Parsed:
    """Read whole records."""
    view = _LongView(block.data)
    ads, twofold = view.attributes()
    wrong = view.wrong(twofold, alone="alone" in header.entries)
    found, others = typed(ads.filter(~pl.col("number").is_in(list(wrong))))
    bad = refused((number, *reason) for number, reason in wrong.items())
    return shaped(block, view.spans, [found, bad], steps=others)


class _LongView:
    def __init__(self, raw: bytes) -> None:
        lines = cut(np.frombuffer(raw, dtype=np.uint8))
        data = np.frombuffer(raw + bytes(3), dtype=np.uint8)
        begins, ends = lines
        length = ends - begins
        text = pl.Series([raw.decode("utf-8", errors="backslashreplace")])
        self.lines = text.str.split("\n").explode().head(len(begins))
        empty = (length == 0) | ((length == 1) & (data[begins] == ord("\r")))
        # a banner with one damaged star is still a banner
        stars = np.sum([data[begins + n] == ord("*") for n in range(3)], axis=0, dtype=np.int8)
        banner = (length >= 3) & (stars >= 2) & (ends < len(raw))  # else it was cut
        self.over: Mask = empty | banner
        self.banners = self.lines.set(pl.Series(~banner), None)
        self.record: Offsets = np.cumsum(self.over) - self.over
        self.count = int(self.record[-1]) + 1 if len(begins) else 0
        places = np.searchsorted(self.record, np.arange(self.count + 1))
        self.spans = Lines(begins[places[:-1]], ends[places[1:] - 1])
        self.filled = self._any(~self.over)

    def _any(self, lines: Mask) -> Mask:
        return np.bincount(self.record[lines], minlength=self.count) > 0

    def attributes(self) -> tuple[pl.DataFrame, set[int]]:
        """Return ``number`` and ``ATTRIBUTES`` of each record that is not empty.

        Also return the numbers of records that run into each other.
        """
        there = np.flatnonzero(self.lines.str.contains(_READ))
        pairs = self.lines.gather(there).str.splitn("=", 2)
        key = pairs.struct.field("field_0").str.strip_chars_end(" \t").str.to_lowercase()
        value = pairs.struct.field("field_1").str.strip_chars()
        value = value.set(value.str.to_lowercase().is_in(NOTHING), None)
        record = self.record[there]
        ads = keyed(record, key, value, KEYS, self.count).rename(
            dict(zip(KEYS, ATTRIBUTES, strict=True))
        )
        twofold: set[int] = set()
        for name in _OF_ONE:
            at = np.flatnonzero(key == name.lower())
            same = value.gather(at).eq_missing(ads[name].gather(record[at]))
            twofold.update(record[at][~same.to_numpy()].tolist())
        ads = ads.with_columns(number=pl.int_range(pl.len(), dtype=pl.Int64))
        return self._with_banners(ads.filter(pl.Series(self.filled))), twofold

    def _with_banners(self, ads: pl.DataFrame) -> pl.DataFrame:
        """Add the kind of each ad and its time of writing, from the banners of epoch files."""
        banners = self.banners.str.extract_groups(_EPOCH).struct.rename_fields(["kind", "when"])
        stated = pl.DataFrame({"number": self.record, "line": self.banners, "banner": banners})
        stated = stated.filter(pl.col("line").str.contains(_EPOCH)).select(
            "number",
            kind=pl.format('"{}"', pl.col("banner").struct.field("kind").fill_null("EPOCH")),
            when=pl.col("banner").struct.field("when"),
        )
        joined = ads.join(stated, on="number", how="left", maintain_order="left")
        return joined.with_columns(
            EpochAdType=pl.coalesce("EpochAdType", "kind"),
            EpochWriteDate=pl.coalesce("EpochWriteDate", "when"),
        ).drop("kind", "when")

    def wrong(self, twofold: set[int], *, alone: bool) -> dict[int, tuple[str, RefusalCode]]:
        """Return the reason and code of each malformed record, by number."""
        odd = ~self.over & ~self.lines.str.contains(_ATTRIBUTE).to_numpy()
        found: dict[int, tuple[str, RefusalCode]] = {}
        for line in np.flatnonzero(odd)[::-1].tolist():
            reason = f"a line of it is not an attribute: {self.lines[line][:40]!r}"
            found[int(self.record[line])] = (reason, RefusalCode.SHAPE)
        for number in twofold:
            found[number] = ("two records run into each other", RefusalCode.SHAPE)
        cut = self.filled & ~self._any(self.over)
        for number in () if alone else np.flatnonzero(cut).tolist():
            found[number] = ("the log ends within this record", RefusalCode.CUT)
        return found


_TITLE: Final = "HTCondor's history (condor_history -long)"
DIALECT: Final = Dialect("htcondor", _TITLE, recognises, header, parse, whole, scheduler="HTCondor")

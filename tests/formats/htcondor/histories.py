"""HTCondor's dialects as the contract of all dialects wants them, and small ads."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import polars as pl
from hypothesis import strategies as st

from audit.formats import dialects
from audit.formats.dialects import Parsed
from audit.formats.htcondor import records
from bench.logs.writers.htcondor import Form, printed, write
from tests.formats import contract
from tests.formats.contract import EPOCH, Case

CARRIES = (
    *("job_id", "user", "account", "state", "submit_time", "start_time", "end_time"),
    *("suspended_s", "walltime_s", "cpus", "gpus", "mem_bytes", "node_list"),
)
IDS = ("7.0", "ap.lab#7.1", "8.0", "ap2.lab#7.1")

AD: dict[str, Any] = {
    "ClusterId": 7,
    "ProcId": 0,
    "JobStatus": 4,
    "QDate": EPOCH,
    "JobStartDate": EPOCH + 60,
    "CompletionDate": EPOCH + 100,
    "Owner": "ana",
}
"""The attributes that an ad must have, and few others."""


def case(dialect: str, form: Form, ends: bytes, returned: Callable[[str], str]) -> Case:
    """The contract over a log of three records, each of which ends with a match of ``ends``."""
    made = Case(
        dialects.table()[dialect],
        (),
        partial(write, form=form),
        CARRIES,
        names=("user", "account"),
        returned=returned,
        ids=IDS,
        changes={
            "nodes": st.just(1),
            "node_list": st.sampled_from(["n1", "n-17.site"]),
            "cpus": st.integers(1, 64),
            "mem_bytes": st.integers(1, 1 << 20).map(lambda mib: mib << 20),
        },
    )
    data = printed([{**AD, "ProcId": number} for number in range(3)], form)
    first = BEGINS[form](data)
    stops = [match.end() for match in re.finditer(ends, data)]
    pieces = [data[a:b] for a, b in pairwise([first, *stops])]
    return replace(made, records=tuple(pieces), head=data[:first], tail=data[stops[-1] :])


BEGINS: dict[Form, Callable[[bytes], int]] = {
    "long": lambda _: 0,
    "raw": lambda _: 0,
    "json": lambda data: data.index(b"{"),
    "jsonl": lambda _: 0,
    "xml": lambda data: data.index(b"<c>"),
}


def parse(data: bytes, *, dialect: str = "htcondor") -> Parsed:
    """A log in one block."""
    return contract.parsed(dialects.table()[dialect], data)


def long(*ads: dict[str, Any], end: str = "") -> bytes:
    """Ads in the long form; None leaves an attribute of ``AD`` out, texts stand as they are."""
    texts = []
    for ad in ads:
        whole = {name: value for name, value in {**AD, **ad}.items() if value is not None}
        if whole["Owner"] == AD["Owner"]:
            whole["Owner"] = '"ana"'
        texts.append("".join(f"{name} = {value}\n" for name, value in whole.items()) + f"{end}\n")
    return "".join(texts).encode()


def one(**ad: Any) -> dict[str, Any]:
    """The only record of a log."""
    return contract.only(parse(long(ad)))


def reason(**ad: Any) -> str:
    """Why the only record of a log is refused."""
    return contract.why(parse(long(ad)))


class Remembered:
    """``records.typed``, which asks for the same few ads when a log is cut at every byte."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[pl.DataFrame, int]] = {}

    def __call__(self, ads: pl.DataFrame) -> tuple[pl.DataFrame, int]:
        key = tuple(ads.rows())
        if key not in self._known:
            self._known[key] = records.typed(ads)
        return self._known[key]

"""Each made sample of a public data set, read by its preset, is what its ``expected.json`` says."""

import json
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
import pytest

from audit.config.table import TableMapping, presets
from audit.formats.dialects import Reading
from audit.ingest.logs import open_log, parsed_blocks
from audit.model import Standing
from audit.words import Resource
from tests.formats.without_store import described
from tests.places import DATA

SAMPLES: Final = DATA / "tables"


@dataclass(frozen=True)
class Sample:
    """A sample, and where its lines are counted from."""

    name: str
    file: str
    zone: str | None = None
    first: int = 0
    """The number that is subtracted from the line of a record."""
    objects: bool = False
    """Whether its lines are numbers of objects."""


TABLES: Final = (
    Sample("acme-kalos", "trace_kalos.csv"),
    Sample("alcf-djc", "ANL-ALCF-DJC-AURORA_20250127_20251031.csv"),
    Sample("alibaba-openb", "openb_pod_list_default.csv"),
    Sample("armada", "armada.csv"),
    Sample("frontier-swf", "frontier-2024.swf"),
    Sample("fugaku-fdata", "21_04.parquet", first=1),
    Sample("helios", "cluster_log.csv"),
    Sample("lassen-last", "final_csm_allocation_history_hashed.csv"),
    Sample("philly", "cluster_job_log", objects=True),
    Sample("pm100", "job_table.parquet", first=1),
)
NAMES: Final = {
    "submit": "submit_time",
    "eligible": "eligible_time",
    "start": "start_time",
    "end": "end_time",
}
OF_SWF: Final = {"group": "account"}
"""SWF's group is read as the account."""


def read(sample: Sample, mapping: TableMapping) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the attempts of a sample, described, and its refusals."""
    log = open_log(
        SAMPLES / sample.name / sample.file, None, Reading(zone=sample.zone, table=mapping)
    )
    parsed = [found for _, found in parsed_blocks(log)]
    records = pl.concat(found.records for found in parsed)
    attempts = described(records, resource=Resource.nodes).sort("line", "start_time")
    return attempts, pl.concat(found.refusals for found in parsed)


def told(attempt: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return what an attempt should be, by the names of a record; null where nothing is said."""
    return {names.get(key, key): value for key, value in attempt.items() if key != "line"}


@pytest.mark.parametrize("sample", TABLES, ids=lambda sample: sample.name)
def test_each_line_and_the_sums_are_what_is_expected(sample: Sample) -> None:
    expected = json.loads((SAMPLES / sample.name / "expected.json").read_text(encoding="utf-8"))
    found, refusals = read(sample, presets()[sample.name])
    wanted = expected["attempts"]
    assert found.height == len(wanted)
    lines = found["line"] - sample.first
    lines = lines.rank("dense").cast(pl.Int64) if sample.objects else lines
    if "line" in wanted[0]:
        assert lines.to_list() == [one["line"] for one in wanted]
    names = NAMES | (OF_SWF if sample.name == "frontier-swf" else {})
    keys = sorted({names.get(key, key) for one in wanted for key in one} - {"line"})
    for attempt, one in zip(found.iter_rows(named=True), wanted, strict=True):
        should = told(one, names)
        for key in keys:
            if key == "eligible_time" and key not in should:
                assert attempt[key] in (None, attempt["submit_time"], attempt["arrival_time"])
            elif key not in ("wait_s", "runtime_s") or key in should:
                assert attempt[key] == should.get(key), (one, key)
    reasons = [(one["line"], one["reason"]) for one in expected.get("refused", [])]
    assert refusals.select("line", "reason").rows() == reasons
    sums_are(expected["totals"], found)


def sums_are(totals: dict[str, int], found: pl.DataFrame) -> None:
    assert found.height == totals["attempts"]
    if "ended" not in totals:
        return
    standing = found["standing"]
    ended = found.filter(standing == Standing.ENDED)
    assert ended.height == totals["ended"]
    assert (standing == Standing.NEVER_STARTED).sum() == totals["never_started"]
    assert ended["wait_s"].sum() == totals["sum_wait_s"]
    assert ended["runtime_s"].sum() == totals["sum_runtime_s"]
    for resource in ("cpus", "nodes", "gpus"):
        spent = (ended[resource].fill_null(0) * ended["runtime_s"]).sum()
        assert spent == totals[f"{resource[:-1]}_seconds"]

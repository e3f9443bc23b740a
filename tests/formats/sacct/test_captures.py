"""Our own captures of one Slurm 22.05: all files contain the same jobs."""

from functools import partial

import polars as pl
import pytest

from audit.formats.dialects import PLAIN, Reading
from audit.formats.lines import Block
from audit.formats.sacct import json as sacct_json
from audit.formats.sacct import text as sacct
from audit.model import RECORDS
from tests.formats import contract
from tests.places import DATA

CAPTURES = DATA / "sacct"

parse = partial(contract.parsed, sacct.DIALECT)

SAME = ("x_d.psv", "all.psv", "epoch.psv", "noconvert.psv", "us.txt", "steps.psv")


def capture(name: str, reading: Reading = PLAIN) -> pl.DataFrame:
    parsed = parse((CAPTURES / name).read_bytes(), reading)
    assert parsed.refusals.is_empty()
    return parsed.records.drop("line", "byte_offset").sort("job_id", "submit_time", "start_time")


@pytest.mark.parametrize("name", SAME)
def test_captures_tell_of_the_same_jobs(name: str) -> None:
    expected = capture("x_d.psv")
    found = capture(name)
    own = [column for column in RECORDS if column in found.columns]
    if name == "all.psv":  # it has the group too
        own.remove("group")
    assert found.select(own).equals(expected.select(own))


def test_the_json_document_tells_of_the_same_jobs() -> None:
    data = (CAPTURES / "json.json").read_bytes()
    parsed = sacct_json.parse(Block(data, 0, 1), sacct_json.header(data, PLAIN))
    assert parsed.refusals.is_empty()
    found = parsed.records.sort("job_id", "submit_time", "start_time")
    expected = capture("x_d.psv")
    of_call = ("array_throttle", "nice", "required_nodes")  # SubmitLine, which 22.05's JSON lacks
    own = [column for column in expected.columns if column not in ("group", *of_call)]
    assert found.select(own).equals(expected.select(own))
    assert found["group"].equals(capture("all.psv")["group"])
    steps = (CAPTURES / "steps.psv").read_bytes()
    assert parsed.steps == parse(steps).steps


def test_a_capture_without_submit_times() -> None:
    shared = ["job_id", "state", "start_time", "end_time", "suspended_s", "cpus", "nodes", "gpus"]
    # without ReqCPUS the request of jobs that never started is unknown
    found, expected = (
        capture(name).filter(pl.col("start_time").is_not_null()).select(shared).sort(shared)
        for name in ("stepusage.psv", "x_d.psv")
    )
    assert found.equals(expected)


def test_a_capture_without_the_runs_before_a_requeue() -> None:
    expected = capture("x_d.psv").filter(pl.col("state") != "REQUEUED")
    assert capture("nodup.psv").equals(expected)


def test_a_capture_in_another_zone() -> None:
    times = ["submit_time", "start_time", "end_time"]
    found = capture("berlin.psv", Reading(zone="Europe/Berlin"))
    assert found.select(times).sort(times).equals(capture("x_d.psv").select(times).sort(times))


def test_a_capture_clipped_to_a_window() -> None:
    shared = ["job_id", "state", "submit_time"]
    whole, clipped = capture("window.psv"), capture("window_clipped.psv")
    assert clipped.select(shared).equals(whole.select(shared))
    assert clipped["start_time"].is_null().equals(whole["start_time"].is_null())

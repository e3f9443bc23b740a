"""How a log is cut, and how many records are resolved at once, changes nothing in the store."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.ingest import attempts, ingest
from audit.ingest.logs import Opened, open_logs, parsed_blocks
from audit.store import queries
from audit.store.database import rows
from tests import stores
from tests.examples import examples
from tests.formats import test_gridengine, test_near_swf, test_older_dialects
from tests.formats.lsf import test_reader as test_lsf
from tests.formats.pbs import test_reader as test_pbs
from tests.formats.sacct import test_job_table
from tests.ingest.test_events import ended, queued, started
from tests.ingest.test_sacct_logs import HEADER, row
from tests.logs import write

CASES = (
    *(test_older_dialects.SWF, test_older_dialects.SACCT, test_job_table.CASE, test_pbs.CASE),
    *(test_lsf.CASE, test_gridengine.CASE, test_near_swf.CASE),
)

WHOLE = (1 << 23, attempts.AT_ONCE, ingest.BATCH_ROWS)


def stored(log: Path, block_bytes: int, at_once: int, batch: int) -> list[object]:
    """All that a log leaves in a store, in the order of its tables."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(attempts, "AT_ONCE", at_once)
        patch.setattr(ingest, "BATCH_ROWS", batch)
        logs = [cut(opened, block_bytes) for opened in open_logs([log])]
        con = stores.new(Path(folder, "db"))
        found: list[object] = [ingest.take_in(con, "c", logs)]
        for table in ("records", "refused", "inputs", "doubtful"):
            found += rows(con, f"FROM {table}")
        assert queries.failed_checks(con) == {}
        con.close()
    return found


def cut(log: Opened, block_bytes: int) -> Opened:
    return log._replace(dialect=replace(log.dialect, block_bytes=block_bytes))


@pytest.mark.thorough
@settings(max_examples=examples(20))
@given(st.data())
def test_blocks_of_any_size_leave_the_same_store(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    bad = b"neither this nor that\n"  # fewer than records: else no log is recognised
    texts = st.sampled_from([*case.records, *(record + bad for record in case.records)])
    middle = b"".join(data.draw(st.lists(texts, min_size=1, max_size=12)))
    size = st.integers(1, len(case.sample) + len(middle))
    with TemporaryDirectory() as folder:
        log = Path(folder, "log")
        log.write_bytes(case.head + case.records[0] + middle + case.tail)
        parts = (data.draw(size), data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5)))
        assert stored(log, *parts) == stored(log, *WHOLE), parts


@pytest.mark.parametrize("block_bytes", [60, 150])
def test_records_of_a_job_in_several_blocks(tmp_path: Path, block_bytes: int) -> None:
    # requeued after 300; its dump comes twice; tasks 0 and 1 left the row of their array
    texts = [
        HEADER,
        *(row("1", "100 200 300", "REQUEUED"), row("1.batch", "100 200 300")),
        row("3_[0-3%2]", "150 Unknown Unknown", "PENDING"),
        *(row("2", "120 220 320"), row("3_0", "150 250 350"), row("1", "310 400 Unknown")),
        *(row("2", "120 220 320"), row("3_1", "150 260 360"), row("1", "310 400 500")),
    ]
    log = write(tmp_path / "a.psv", "\n".join([*texts, ""]))
    (opened,) = open_logs([log])
    con = stores.new(tmp_path / "db")
    small = cut(opened, block_bytes)
    assert len([*parsed_blocks(small)]) > 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempts, "AT_ONCE", 1)
        patch.setattr(ingest, "BATCH_ROWS", 1)
        (taken,) = ingest.take_in(con, "c", [small])
    assert (taken.records, taken.steps) == (9, 1)
    found = queries.run(con, "attempts", cluster="c", since=None, until=None)
    columns = ("job_id", "attempt", "tasks", "submit_time", "start_time", "end_time")
    assert found.select(columns).sort("job_id", "attempt").rows() == [
        ("1", 1, 1, 100, 200, 300),
        ("1", 2, 1, 310, 400, 500),
        ("2", 1, 1, 120, 220, 320),
        ("3_0", 1, 1, 150, 250, 350),
        ("3_1", 1, 1, 150, 260, 360),
        ("3_[0-3%2]", 1, 2, 150, None, None),
    ]
    con.close()


def test_the_events_of_a_job_in_several_blocks(tmp_path: Path) -> None:
    texts = [queued(100), started(150), ended(150, 200, kind="R"), started(250), ended(250, 300)]
    log = write(tmp_path / "a", "\n".join([*texts, ""]))
    con = stores.new(tmp_path / "db")
    ingest.take_in(con, "c", [cut(opened, 100) for opened in open_logs([log])])
    found = queries.run(con, "attempts", cluster="c", since=None, until=None)
    assert found.select("attempt", "start_time", "end_time").rows() == [
        (1, 150, 200),
        (2, 250, 300),
    ]
    con.close()

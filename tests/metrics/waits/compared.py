"""The walk beside its slow twin."""

import itertools

import pytest

from audit.metrics.attempts.contention import counted_resources
from audit.metrics.waits.opportunities import Opportunities
from audit.metrics.waits.queue import Queued
from audit.metrics.waits.walk import BOOKED, WaitSweep
from audit.model import Pool
from audit.registry.causes import FEATURES, LACKS
from audit.words import kind_of
from tests.naive import account as naive
from tests.naive.attempts import close


def assert_same_times(got: Opportunities | None, want: naive.Account, queue: Queued) -> None:
    """Compare when attempts could start, second by second, and what started."""
    assert got is not None
    keys = queue.rows.select("job_id", "attempt").rows()
    for spans, expected in ((got.possible, want.possible), (got.free, want.free)):
        rows = spans.tolist()
        assert rows == sorted(rows)
        seconds = [(keys[row], second) for row, *span in rows for second in range(*span)]
        assert len(set(seconds)) == len(seconds)
        assert set(seconds) == expected
    rows = got.possible.tolist()
    assert not any(a[0] == b[0] and a[2] == b[1] for a, b in itertools.pairwise(rows))
    assert len(got.started) == want.starts.starts


def assert_same(got: WaitSweep, want: naive.Account, queue: Queued, pool: Pool) -> None:
    """Compare all that both book."""
    assert got.starts._asdict() == want.starts._asdict()
    keys = queue.rows.select("job_id", "attempt", "waits").rows()
    for place, (job, attempt, waits) in enumerate(keys):
        if not waits:
            continue
        exact = want.attempts[job, attempt]
        for entry in (name for name in BOOKED if name != "rule_free"):
            ours, theirs = got.of(entry)[place], exact.parts[entry]
            assert close(ours, theirs), (job, entry, ours, float(theirs))
        assert got.of("rule_free")[place] == exact.rule_free
        assert (got.forbidden[:, place] > 0).any() == bool(exact.rules)
        assert got.lapsed[place] == exact.lapsed
        assert got.idle[place] == pytest.approx(float(exact.idle), rel=1e-9, abs=1e-9)
        names = [*map(kind_of, counted_resources(pool)), FEATURES, ""]
        for lack in LACKS if pool.nodes else ():
            seconds = zip(names, got.lacking[:, place], strict=True)
            ours = sum(int(s) for name, s in seconds if name == lack.resource)
            assert ours == exact.lacking[lack.resource or None], (job, lack.key)

"""Which cluster records are of, where a few of them say otherwise."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from audit.errors import SeveralClustersError
from audit.ingest.ingest import take_in_by_name
from audit.ingest.logs import open_logs
from audit.ingest.naming import Named, called_by
from audit.store import queries
from audit.store.database import fetch
from tests import stores
from tests.logs import write

HEADER = "JobID|Cluster|User|State|Submit|Start|End|AllocCPUS"


def row(job: int, cluster: str) -> str:
    times = "|".join(f"2026-01-01T0{hour}:00:00" for hour in (1, 2, 3))
    return f"{job}|{cluster}|ana|COMPLETED|{times}|1"


def naming(names: Sequence[str]) -> Named:
    called = called_by(None, names, "--cluster")
    return Named(called or "unnamed", "", called)


@pytest.mark.parametrize("place", [0, 7, 39])
@pytest.mark.parametrize("batch", [1, 1000])
def test_a_flipped_bit_makes_no_second_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int, batch: int
) -> None:
    monkeypatch.setattr("audit.ingest.ingest.BATCH_ROWS", batch)
    rows = [row(job, "blues" if job == place else "bluer") for job in range(40)]
    log = write(tmp_path / "a.psv", "\n".join([HEADER, *rows, ""]))
    con = stores.new(tmp_path / "db")
    named, (taken,), _ = take_in_by_name(con, open_logs([log]), naming)
    assert named.cluster == "bluer"
    assert (taken.records, taken.refused, taken.elsewhere) == (40, 1, 0)
    (refused,) = fetch(con, "SELECT * FROM refused_records").rows(named=True)
    assert (refused["line"], refused["text"], refused["code"]) == (
        place + 2,
        rows[place],
        "cluster",
    )
    assert "names the cluster 'blues', nearly all others 'bluer'" in refused["reason"]
    assert fetch(con, "SELECT count(*) FROM records").item() == 39
    assert queries.failed_checks(con) == {}
    con.close()


def test_more_than_a_few_are_another_cluster(tmp_path: Path) -> None:
    for few, of in ((3, 40), (1, 9)):
        rows = [row(job, "two" if job < few else "one") for job in range(of)]
        log = write(tmp_path / "a.psv", "\n".join([HEADER, *rows, ""]))
        con = stores.new(tmp_path / f"db{of}")
        with pytest.raises(SeveralClustersError, match="one, two"):
            take_in_by_name(con, open_logs([log]), naming)
        con.close()

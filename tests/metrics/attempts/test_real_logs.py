"""The public logs: the account of waits, and the figures of KTH-SP2 that SPEC §6 names."""

import gzip
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from audit.formats import swf
from audit.formats.lines import Block
from audit.ingest.attempts import resolve
from audit.metrics.attempts import users
from audit.metrics.attempts.account import OWN, RULE_FREE, account
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import overall, resource_equality
from audit.metrics.waits.plan import NONE, TRIED
from audit.model import ATTEMPTS, Pool, Resource
from audit.registry.causes import COLUMNS
from audit.rules import Window

LOGS = {"KTH-SP2-1996-2.1-cln": 100, "LANL-CM5-1994-4.1-cln": 1_024, "UniLu-Gaia-2014-1": 2_004}
"""Their capacities."""


KTH = "KTH-SP2-1996-2.1-cln"
WINDOWS = tuple(
    Window.model_validate({"hours": hours, "walltime_above_s": above})
    for above, hours in (
        (4 * 3_600, ["Mon-Fri 04-17"]),
        (3 * 3_600, ["Mon-Fri 14-17"]),
        (52_800, ["Mon-Thu", "Fri 00-17", "Sun 18-24"]),
    )
)
ACCOUNTS = {
    # shares of all waiting: unavailable, own queue, own running, claimed, kept, kept own, earlier,
    # later, cycle, unexplained, outside
    (KTH, ()): (
        *(0.029603, 0.003179, 0.025707, 0.003869, 0.025387, 0.000430, 0.312620, 0.129293),
        *(0.001445, 0.468417, 0.000050),
    ),
    (KTH, WINDOWS): (
        *(0.027298, 0.003569, 0.018491, 0.005543, 0.028846, 0.000203, 0.268257, 0.079839),
        *(0.001587, 0.202887, 0.000050),
    ),
    ("LANL-CM5-1994-4.1-cln", ()): (
        *(0.053843, 0.000440, 0.031809, 0.002220, 0, 0, 0.181650, 0.292903),
        *(0.001376, 0.435760, 0.000000),
    ),
    ("UniLu-Gaia-2014-1", ()): (
        *(0.003935, 0.007822, 0.001488, 0.000517, 0, 0, 0.000665, 0.000290),
        *(0.006784, 0.968842, 0.009655),
    ),
}
"""By four independent programs (SPEC §11)."""


@cache
def described(folder: Path, name: str) -> tuple[pl.DataFrame, Pool]:
    data = gzip.decompress((folder / "swf" / f"{name}.swf.gz").read_bytes())
    records = swf.parse(Block(data, 0, 1), swf.header(data[: 1 << 16])).records
    resolved = resolve(records.with_columns(cluster=pl.lit(name), input_id=pl.lit(name)))
    attempts = resolved.filter(~pl.col("superseded")).select(ATTEMPTS.names())
    pool = Pool(name, Resource.cpus, LOGS[name])
    return describe(attempts, [pool]), pool


def test_kth_sp2(real_logs: Path) -> None:
    attempts, _ = described(real_logs, "KTH-SP2-1996-2.1-cln")
    with_re = resource_equality(attempts, int(attempts["end_time"].to_numpy().max()))
    spread = users.dispersion(users.by_entity(with_re, "user"))
    assert spread.uwt == pytest.approx(39.5, abs=0.05)
    assert spread.deviation == pytest.approx(467, abs=0.5)
    assert (spread.entities, spread.single_job, spread.no_usage) == (187, 27, 0)
    # of the 28,475 whose size the log tells; over all 28,476 it would be 26,478.48
    assert overall(with_re) == pytest.approx(26_479.41, abs=0.01)


@pytest.mark.parametrize(("name", "windows"), ACCOUNTS)
def test_account(real_logs: Path, name: str, windows: tuple[Window, ...]) -> None:
    attempts, pool = described(real_logs, name)
    pool = pool._replace(windows=windows, zone="Etc/GMT-1")
    now = int(attempts["end_time"].drop_nulls().to_numpy().max())
    found = account(attempts, pool, now)
    assert found.plan == (TRIED if name == KTH else NONE)
    got = found.attempts.filter(pl.col("standing") == "ended", pl.col("size").is_not_null())
    rest = got.select(pl.sum_horizontal(COLUMNS) - pl.col("wait_s")).to_series().to_numpy()
    assert abs(rest).max() < 1e-6
    queue, running, kept = OWN
    columns = (
        *("cause_unavailable_s", queue, running, "cause_claimed_s"),
        *("cause_kept_s", kept, "cause_earlier_s", "cause_later_s", "cause_cycle_s"),
        *("cause_unexplained_s", "cause_outside_s"),
    )
    waited = got["wait_s"].to_numpy().sum()
    shares = [round(float(got[column].to_numpy().sum()) / waited, 6) for column in columns]
    assert tuple(shares) == ACCOUNTS[name, windows]
    if windows:
        rule, free = (float(got[c].to_numpy().sum()) for c in ("cause_rule_s", RULE_FREE))
        assert (round(free / waited, 6), round((rule - free) / waited, 6)) == (0.262397, 0.101033)

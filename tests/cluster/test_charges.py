"""Charges of attempts by the configured penalty and by others."""

from typing import Any

import polars as pl
import pytest

from audit import config
from audit.cluster import charges
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.setting import ClusterSettings
from audit.errors import ConfigError
from audit.metrics.attempts import population
from audit.model import ATTEMPTS, Period, Pool, Resource
from audit.periods import zone

GB = 10**9
WHOLE = Period("all", 0, 100)


def attempts(*rows: dict[str, Any]) -> pl.DataFrame:
    records = [
        {
            "cluster": "c",
            "job_id": str(number),
            "job_number": number,
            "attempt": 1,
            "kind": "job",
            "state": "COMPLETED",
            "submit_time": 0,
            "partition": "p",
            "account": "x",
            **row,
        }
        for number, row in enumerate(rows)
    ]
    return pl.DataFrame(records, schema={**ATTEMPTS})


LOG = attempts(
    # a tenth of the cpus and all of the memory ([M] §1's Zewura), for 100 s
    {"user": "zewura", "start_time": 0, "end_time": 100, "cpus": 1, "mem_bytes": 8 * GB, "gpus": 0},
    {"user": "cpu", "start_time": 0, "end_time": 100, "cpus": 4, "mem_bytes": 0, "gpus": 0},
    {"user": "gpu", "start_time": 50, "end_time": 150, "cpus": 1, "mem_bytes": 0, "gpus": 2},
    {"user": "idle", "start_time": None, "end_time": 20, "cpus": 9},
    {"user": "odd", "start_time": 90, "end_time": 110, "cpus": 20, "partition": "q"},
)


def setting(*pools: Pool) -> ClusterSettings:
    owner: dict[str | None, str] = {"p": pools[0].name, "q": pools[-1].name}
    return ClusterSettings("c", zone("UTC"), pools, owner, 200, (), ())


def pool(name: str = "a", **amounts: int) -> Pool:
    return Pool(name, Resource.cpus, amounts["cpus"], amounts=tuple(sorted(amounts.items())))


TEN = pool(cpus=10, mem_bytes=8 * GB, gpus=4)


def described(of: ClusterSettings) -> pl.DataFrame:
    return population.describe(LOG, of.pools, of.partition_pool)


def by_user(frame: pl.DataFrame, value: str = "penalty") -> dict[str, float]:
    return dict(frame.select("user", value).iter_rows())


def usage(**given: Any) -> FairshareInputs:
    return FairshareInputs(config.UsageConfig.model_validate(given))


def test_attempts_are_charged_relative_to_their_pool_in_order() -> None:
    two = setting(pool("a", cpus=10), pool("b", cpus=40))
    frame = described(two)
    got = charges.charged(frame, two, usage())
    assert got.columns == [*frame.columns, "penalty"]
    assert got.drop("penalty").equals(frame)
    assert by_user(got) == {"zewura": 0.1, "cpu": 0.4, "gpu": 0.1, "idle": 0.9, "odd": 0.5}


def test_weights_exemptions_and_nodes_reach_the_penalty() -> None:
    one = setting(TEN)
    weighted = charges.charged(
        described(one), one, usage(penalty="max_scaled", weights={"mem_bytes": 4.0})
    )
    assert by_user(weighted)["zewura"] == 1.0
    assert by_user(weighted)["cpu"] == pytest.approx(0.1)
    exempt = charges.charged(described(one), one, usage(penalty="root", exempt=("mem_bytes",)))
    assert 0 < by_user(exempt)["zewura"] < 1
    assert by_user(charges.charged(described(one), one, usage(penalty="root")))["zewura"] == 1.0
    nodes = setting(pool(cpus=10, nodes=5))
    with_nodes = described(nodes).with_columns(nodes=pl.lit(1, pl.Int64))
    by_node = charges.charged(with_nodes, nodes, usage(penalty="cpu", basis="node"))
    assert by_user(by_node)["zewura"] == pytest.approx(0.5 / 5)  # half of one of five nodes
    with pytest.raises(ConfigError, match=r"pool 'a': basis 'node' needs the number of nodes"):
        charges.charged(described(one), one, usage(basis="node"))


def test_what_requests_would_have_been_charged() -> None:
    """MaxMemPerCPU raises 8 CPUs to 14; a job gets all 16 CPUs of a node, with 4 GB for each."""
    log = attempts(
        {"cpus": 14, "req_cpus": 8, "mem_bytes": 28 * GB, "req_mem_bytes": 28 * GB},
        {"cpus": 16, "req_cpus": 2, "mem_bytes": 64 * GB, "req_mem_bytes": 8 * GB},
        {"cpus": 16, "req_cpus": 16, "mem_bytes": 2 * GB, "req_mem_bytes": 4 * GB},
        {"cpus": 8, "req_cpus": 2, "mem_bytes": 2 * GB},
        {"cpus": 16, "mem_bytes": 64 * GB, "req_mem_bytes": 8 * GB},
    )
    one = setting(pool(cpus=64, mem_bytes=256 * GB))
    jobs = population.describe(log, one.pools, one.partition_pool)
    weights = {"cpus": 1.0, "mem_bytes": 0.5 / GB}

    def beyond(frame: pl.DataFrame, **given: Any) -> list[float | None]:
        chosen = usage(penalty="billing", billing_weights=weights, **given)
        charged = charges.charged(frame, one, chosen)
        got = charges.beyond_requests(charged, one, chosen)
        assert got.drop("beyond_penalty").equals(charged)
        return got["beyond_penalty"].to_list()

    assert beyond(jobs) == [6.0, 14.0 + 28.0, 0.0, 6.0, None]
    # only the greatest term: of the first its memory, whatever its CPUs are
    assert beyond(jobs, max_tres=True) == [0.0, 32.0 - 4.0, 0.0, 6.0, None]
    assert beyond(jobs.filter(pl.col("cpus") <= pl.col("req_cpus"))) == [None]


def test_billing_by_weights_here_and_by_partition() -> None:
    one = setting(TEN)
    here = usage(penalty="billing", billing_weights={"cpus": 1.0, "gpus": 8.0})
    assert by_user(charges.charged(described(one), one, here))["gpu"] == 17.0
    most = usage(penalty="billing", billing_weights={"cpus": 1.0, "gpus": 8.0}, max_tres=True)
    assert by_user(charges.charged(described(one), one, most))["gpu"] == 16.0
    per_byte = usage(penalty="billing", billing_weights={"cpus": 0.3, "mem_bytes": 0.7 / GB})
    zewura = described(one).filter(user="zewura").row(0, named=True)
    by_hand = zewura["cpus"] * 0.3 + zewura["mem_bytes"] * (0.7 / GB)
    assert by_user(charges.charged(described(one), one, per_byte))["zewura"] == by_hand
    by_partition = FairshareInputs(
        config.UsageConfig(penalty="billing", partitions="partitions.txt"),
        partitions={"p": {"cpu": 2.0, "mem": 0.25 / 1024}},
    )
    billed = charges.charged(described(one), one, by_partition)
    assert billed.columns == [*described(one).columns, "penalty"]
    got = by_user(billed)
    assert got["cpu"] == 8.0
    assert got["zewura"] == pytest.approx(2 + 0.25 * 8 * GB / 2**30)
    assert got["odd"] == 20.0  # a partition without weights: its cpus


def test_only_method_slurm_applies_usage_factors() -> None:
    one = setting(TEN)
    frame = described(one).with_columns(qos=pl.lit("free"))
    chosen = {"penalty": "billing", "billing_weights": {"cpus": 1.0}}
    slurm = FairshareInputs(
        config.UsageConfig.model_validate({**chosen, "method": "slurm"}), factors={"free": 0.25}
    )
    assert by_user(charges.charged(frame, one, slurm))["cpu"] == 1.0
    windows = FairshareInputs(config.UsageConfig.model_validate(chosen), factors={"free": 0.25})
    assert by_user(charges.charged(frame, one, windows))["cpu"] == 4.0


def compared(
    of: ClusterSettings, chosen: FairshareInputs, period: Period = WHOLE
) -> charges.PenaltyComparison:
    charged = charges.charged(described(of), of, chosen)
    ((_, of_period),) = charges.compare(charged, of, chosen, [period])
    return of_period


def parts(found: charges.PenaltyComparison, penalty: str) -> dict[str, float]:
    return by_user(
        found.penalties.filter(penalty=penalty, entity_kind="user").rename({"entity": "user"}),
        "usage_fraction",
    )


def test_using_all_of_a_scarce_resource_changes_most() -> None:
    # Within 100 s: zewura 0.1 of the cpus and all memory, cpu 0.4, gpu 50 s of 0.1 and half of the
    # gpus, odd 10 s of all cpus.
    found = compared(setting(TEN), usage())
    cpu = {"zewura": 10, "cpu": 40, "gpu": 5, "odd": 10}
    assert parts(found, "cpu") == {
        name: pytest.approx(seconds / 65) for name, seconds in cpu.items()
    }
    greatest = {"zewura": 100, "cpu": 40, "gpu": 25, "odd": 10}
    assert parts(found, "max") == {
        name: pytest.approx(seconds / 175) for name, seconds in greatest.items()
    }
    assert parts(found, "root")["zewura"] > parts(found, "sum")["zewura"] > 10 / 65
    assert set(found.penalties["penalty"]) == {"cpu", "max", "sum", "root"}
    assert found.penalties.filter("configured")["penalty"].unique().to_list() == ["cpu"]
    assert set(found.penalties["entity_kind"]) == {"user", "account"}
    for name in ("cpu", "max", "sum", "root"):
        assert sum(parts(found, name).values()) == pytest.approx(1.0)


def test_only_what_was_used_within_the_period_counts() -> None:
    found = compared(setting(TEN), usage(), Period("late", 120, 200))
    assert parts(found, "cpu") == {"gpu": 1.0}


def test_amounts_and_unknown_requests_are_reported() -> None:
    found = compared(setting(TEN), usage(penalty="root")).charges
    assert found.filter(resource="mem_bytes").rows(named=True) == [
        {
            "pool": "a",
            "resource": "mem_bytes",
            "available": 8e9,
            "inferred": False,
            "charged": True,
            "attempts": 4,
            "unknown": 1,  # odd's
            "clipped": 0,
            "first_start": 0,
        }
    ]
    assert found.filter(resource="cpus")["clipped"].item() == 1  # odd had 20 of 10
    alone = compared(setting(TEN), usage()).charges
    assert alone.filter("charged")["resource"].to_list() == ["cpus"]


def test_peaks_in_use_replace_unconfigured_amounts() -> None:
    found = compared(setting(pool(cpus=10)), usage())
    known = found.charges.rows_by_key("resource", named=True, unique=True)
    assert known["mem_bytes"]["available"] == 8e9
    assert known["gpus"]["available"] == 2.0
    assert [name for name, row in known.items() if row["inferred"]] == ["mem_bytes", "gpus"]
    assert parts(found, "max")["zewura"] == pytest.approx(100 / (100 + 40 + 50 + 10))


def test_with_one_resource_there_is_nothing_to_compare() -> None:
    one = setting(pool(cpus=10))
    frame = described(one).with_columns(mem_bytes=pl.lit(None, pl.Int64), gpus=pl.lit(0, pl.Int64))
    charged = charges.charged(frame, one, usage())
    ((period, found),) = charges.compare(charged, one, usage(), [WHOLE])
    assert period == WHOLE
    assert found.penalties.is_empty()
    assert found.penalties.schema == charges.PENALTIES
    assert found.charges["resource"].to_list() == ["cpus"]
    ((_, nobody),) = charges.compare(charged.clear(), one, usage(), [WHOLE])
    assert nobody.charges["attempts"].to_list() == [0]

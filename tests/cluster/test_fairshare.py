"""Usage and shares of a configured run, with the files that config.toml names."""

import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from audit import config
from audit.cluster import charges, fairshare
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.setting import ClusterSettings, configured
from audit.config.places import Site
from audit.errors import ConfigError
from audit.formats.slurm.sacctmgr import Association
from audit.formats.slurm.slurm_conf import SlurmConf
from audit.metrics.attempts import population
from audit.metrics.fairshare.history import tree_history
from audit.metrics.slurm.usage import SlurmUsage
from audit.model import Period
from audit.nightly.run import run
from audit.oneoff.verify import verify
from audit.store import queries
from tests import stores
from tests.logs import write
from tests.nightly.test_run import NOW, month, published, site
from tests.places import SLURM

FILES = {
    "associations": "assoc.psv",
    "qos": "qos.psv",
    "partitions": "partitions.txt",
    "slurm_conf": "config.txt",
}
AS_SLURM = {"method": "slurm", "penalty": "billing", "operator": "fair_tree", **FILES}


def usage(**given: Any) -> config.UsageConfig:
    return config.UsageConfig.model_validate(given)


def test_files_are_read_as_slurm_prints_them() -> None:
    found = fairshare.read(usage(**AS_SLURM), SLURM / "decay", "lab")
    assert found.tree is not None
    assert {"phys_theory", "chem", "lab_ana"} <= set(found.tree.names)
    assert (found.half_life_s, found.period_s, found.reset) == (300.0, 60, "none")
    assert found.factors["normal"] == 1.0
    assert found.partitions["batch"]["gres/gpu"] > 0
    assert set(found.in_force) == {*FILES, "priorities"}
    alone = fairshare.read(usage(), SLURM, "lab")
    assert (alone.tree, alone.in_force) == (None, {})


def test_a_dump_gives_the_same_tree() -> None:
    listed = fairshare.read(usage(associations="assoc.psv"), SLURM / "plain", "lab").tree
    dumped = fairshare.read(usage(associations="dump.cfg"), SLURM / "plain", "lab").tree
    assert listed is not None
    assert dumped is not None
    assert listed.names == dumped.names
    np.testing.assert_array_equal(listed.shares, dumped.shares)


def test_lower_priorities() -> None:
    """Those of most others are higher: of two users of four, and of an account of three."""

    def row(account: str, user: str | None, priority: int | None) -> Association:
        parent = None if user or account == "root" else "root"
        return Association(account, user, None, parent, 1, "", None, 0, {}, priority)

    rows = [
        *(row("root", None, None), row("a", None, 5), row("b", None, None), row("c", None, 9)),
        *(row("a", "ann", 7), row("a", "bob", None), row("b", "cem", None), row("c", "ann", None)),
        *(row("c", "dot", 1), row("a", "eva", 5)),
    ]
    # ann 9, bob 5, cem 0, dot 1, eva 5; a 7, b 0, c 9
    lower = fairshare.lower_priorities(rows)
    assert lower == {"user": {"cem", "dot"}, "account": {"b"}}
    assert fairshare.lower_priorities([row._replace(priority=None) for row in rows]) == {
        "user": set(),
        "account": set(),
    }
    site = FairshareInputs(usage(), tuple(rows))
    assert site.lower_priority == lower
    weighed = SlurmConf(priority_type="priority/multifactor", weights={"assoc": 10})
    assert replace(site, conf=weighed).lower_priority == lower
    for conf in (replace(weighed, weights={"age": 10}), replace(weighed, priority_type="basic")):
        assert replace(site, conf=conf).lower_priority == {}


def test_shares_of_everything() -> None:
    def row(account: str, user: str | None, share: float) -> Association:
        return Association(account, user, None, None if user else "root", share, "", None, 0)

    tree = fairshare.share_tree(
        [
            row("physics", None, 3),
            row("history", None, 1),
            row("physics", "ann", 1),
            row("physics", "bob", 2),
            row("history", "ann", 5),
            row("history", "cem", math.nan),
        ]
    )
    assert FairshareInputs(usage()).of_all == {"user": {}, "account": {}}
    found = fairshare.shares_of_all(tree)
    assert found["account"] == {"physics": 0.75, "history": 0.25}
    assert found["user"] == {"ann": 0.5, "bob": 0.5}
    flat = FairshareInputs(usage(users={"ann": 0.3, "bob": 0.7}))
    assert flat.of_all["user"] == {"ann": 0.3, "bob": 0.7}


def test_all_faults_of_all_files_are_reported_by_key_and_line(tmp_path: Path) -> None:
    (tmp_path / "assoc.psv").write_text(
        "Cluster|Account|User|Partition|Share|ParentName|GrpTRESMins\n"
        "lab|root|||1||\nlab|a|||1|b|\nlab|b|||1|a|\nlab|a|anna||many||\n"
    )
    (tmp_path / "qos.psv").write_text("Name|Priority|UsageFactor\nnormal|0|-3\n")
    (tmp_path / "partitions.txt").write_text("nothing of the kind\n")
    with pytest.raises(ConfigError) as caught:
        fairshare.read(usage(**AS_SLURM), tmp_path, "lab")
    said = str(caught.value)
    assert caught.value.exit_code == 2
    for key, rest in (
        ("associations", r"assoc\.psv:5: share 'many'"),
        ("qos", r"qos\.psv:2: QOS 'normal'"),
        ("partitions", r"partitions\.txt: no partition in it"),
        ("slurm_conf", r"config\.txt: No such file"),
    ):
        assert re.search(rf"clusters\.usage\.{key} of cluster 'lab': \S*{rest}", said), said


def test_a_tree_with_a_cycle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "assoc.psv").write_text(
        "Cluster|Account|User|Partition|Share|ParentName|GrpTRESMins\n"
        "lab|root|||1||\nlab|a|||1|b|\nlab|b|||1|a|\n"
    )
    with pytest.raises(ConfigError, match=r"associations of cluster 'lab'.*assoc\.psv"):
        fairshare.read(usage(associations="assoc.psv"), tmp_path, "lab")


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fairshare, "LARGEST", 10)
    (tmp_path / "qos.psv").write_text("Name|Priority|UsageFactor\n")
    with pytest.raises(ConfigError, match="not a file of Slurm"):
        fairshare.read(usage(qos="qos.psv"), tmp_path, "lab")


def test_usage_that_never_decreases_is_refused(tmp_path: Path) -> None:
    shutil.copytree(SLURM / "plain", tmp_path, dirs_exist_ok=True)
    conf = tmp_path / "slurm.conf"
    conf.write_text("PriorityDecayHalfLife=0\n")
    with pytest.raises(ConfigError, match="PriorityDecayHalfLife is 0"):
        fairshare.read(usage(**{**AS_SLURM, "slurm_conf": "slurm.conf"}), tmp_path, "lab")
    conf.write_text("PriorityDecayHalfLife=0\nPriorityUsageResetPeriod=WEEKLY\n")
    found = fairshare.read(usage(**{**AS_SLURM, "slurm_conf": "slurm.conf"}), tmp_path, "lab")
    assert (found.half_life_s, found.reset) == (0.0, "weekly")


# --- against the real sshare ---------------------------------------------------------------------


def samples() -> list[tuple[int, list[dict[str, str]]]]:
    text = (SLURM / "decay" / "sshare_samples.txt").read_text()
    parts = re.split(r"^== (\d+)\n", text, flags=re.MULTILINE)[1:]
    found = []
    for at, table in zip(parts[::2], parts[1::2], strict=True):
        titles, *rows = [line.split("|") for line in table.splitlines()]
        found.append((int(at), [dict(zip(titles, row, strict=True)) for row in rows]))
    return found


@pytest.fixture(scope="module")
def lab(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[pl.DataFrame, ClusterSettings, FairshareInputs]:
    """The lab's attempts, taken in by a configured run, its setting and shares."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(SLURM / "decay", folder, dirs_exist_ok=True)
    pools = ({"name": "all", "capacity": {"cpus": 64, "gpus": 8, "nodes": 4}},)
    settings = site(
        folder,
        name="lab",
        zone="UTC",
        period="day",
        usage=AS_SLURM,
        pools=pools,
        sources=({"files": "sacct.txt"},),
    )
    done = run(Site(settings, folder), NOW, stages=("ingest", "compute", "publish"))
    assert done.failures == []
    with stores.published(folder / "fairaudit.duckdb") as con:
        attempts = queries.run(con, "attempts", cluster="lab", since=None, until=None)
    setting = configured(settings.clusters[0], attempts, {})
    described = population.describe(attempts, setting.pools, setting.partition_pool)
    shares = fairshare.read(settings.clusters[0].usage, folder, "lab")
    return charges.charged(described, setting, shares), setting, shares


@pytest.mark.thorough
def test_histories_equal_sshare(lab: tuple[pl.DataFrame, ClusterSettings, FairshareInputs]) -> None:
    charged, setting, shares = lab
    assert shares.tree is not None
    method = fairshare.decay_method(shares, setting)
    assert isinstance(method, SlurmUsage)
    ticks = SlurmUsage(half_life_s=method.half_life_s, period_s=60, phase_s=1795234198)
    seen = samples()
    assert len(seen) == 27
    # slurmctld books usage at ends and ticks, and ranks at ticks alone
    instants = sorted({at for at, _ in seen} | {ticks.tick(at) for at, _ in seen})
    got = tree_history(
        charged, shares.tree, ticks, instants, setting.now, operator="fair_tree"
    ).with_columns(pl.col("parent").fill_null("root"))
    rows = got.rows_by_key(["as_of", "entity_kind", "parent", "entity"], named=True, unique=True)
    accounts = got.filter(entity_kind="account").rows_by_key(
        ["as_of", "entity"], named=True, unique=True
    )
    compared = 0
    for at, printed in seen:
        for row in printed[1:]:
            account, user = row["Account"].strip(), row["User"]
            key = ("user", account, user)
            mine = rows[at, *key] if user else accounts[at, account]
            assert int(mine["usage"]) == int(row["RawUsage"])
            # also of fairshare=parent, where sshare shows the account's, and no LevelFS
            assert f"{mine['share']:.6f}" == row["NormShares"]
            assert (mine["share_of_all"] is None) == (row["RawShares"] == "parent")
            ranked = rows[ticks.tick(at), *key] if user else accounts[ticks.tick(at), account]
            assert f"{ranked['usage_fraction']:.6f}" == row["EffectvUsage"]
            level_fs = "" if ranked["level_fs"] is None else f"{ranked['level_fs']:.6f}"
            assert level_fs == row["LevelFS"]
            if user:
                assert f"{ranked['priority']:.6f}" == row["FairShare"]
            compared += 1
    assert compared == 27 * 11


def test_a_configured_run_keeps_the_history_of_the_tree(
    lab: tuple[pl.DataFrame, ClusterSettings, FairshareInputs],
) -> None:
    charged, setting, shares = lab
    day = Period("2026-11-21", 1795219200, 1795305600)
    rows = pl.concat(fairshare.histories(charged, setting, day, shares))
    assert rows["method"].unique().to_list() == ["slurm:billing:fair_tree"]
    assert rows["parent"].drop_nulls().n_unique() > 1
    users = rows.filter(pl.col("entity_kind") == "user")
    assert users["rank"].min() == 1


# --- nights --------------------------------------------------------------------------------------


def test_a_wrong_file_fails_its_cluster_alone(tmp_path: Path) -> None:
    settings = site(tmp_path, usage={"associations": "none.psv"})
    write(tmp_path / "logs" / "1.swf", month(0))
    done = run(Site(settings, tmp_path), NOW)
    (failure,) = done.failures
    assert isinstance(failure, ConfigError)
    assert "clusters.usage.associations of cluster 'c'" in str(failure)
    assert done.reports == []


@pytest.mark.thorough
def test_the_report_of_a_share_tree_is_recreated_byte_for_byte(tmp_path: Path) -> None:
    shutil.copytree(SLURM / "decay", tmp_path, dirs_exist_ok=True)
    settings = site(
        tmp_path,
        name="lab",
        zone="UTC",
        period="day",
        usage={
            "method": "half_life",
            "half_life_days": 0.01,
            "penalty": "root",
            "operator": "sigmoid",
            "associations": "assoc.psv",
        },
        pools=({"name": "all", "capacity": {"cpus": 64, "gpus": 8, "mem_bytes": 1 << 38}},),
        sources=({"files": "sacct.txt"},),
    )
    done = run(Site(settings, tmp_path), NOW)
    assert done.failures == []
    (report,) = done.reports
    page = report.read_text(encoding="utf-8")
    for text in (
        "half_life:root:sigmoid",
        "In the share tree, each account divides",
        "Above and below target",
        "Use of each resource",
        "Effect of the penalty",
        '<span class="muted">of <bdi>phys_theory</bdi></span>',
    ):
        assert text in page, text
    verdict = verify(report, None, settings, tmp_path)
    assert verdict.same, verdict.text
    asked = "SELECT DISTINCT penalty FROM penalty_usage WHERE configured"
    assert published(tmp_path, asked) == [("root",)]

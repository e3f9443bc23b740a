"""Names that went: none exists any more, each heir does, and the version before migrates."""

import lzma
from contextlib import closing
from pathlib import Path

import pytest

from audit import config, resources
from audit.config.places import Site
from audit.errors import ConfigError
from audit.nightly.keeping import backup
from audit.registry import columns, gone
from audit.registry.measures import FIDELITY, SUMMARY
from audit.store import database, migrations
from tests.places import ROOT

BEFORE = ROOT / "tests" / "data" / "before"
"""A site of version 0.1.0: its configuration, log and backup, made before the columns went."""


def test_columns_that_went_are_dropped_by_a_script() -> None:
    scripts = {int(path.name[:3]): path for path in resources.files("sql/schema", ".sql")}
    for one in gone.COLUMNS:
        text = scripts[one.script].read_text(encoding="utf-8")
        assert f"ALTER TABLE {one.table} DROP COLUMN IF EXISTS {one.name};" in text
        assert columns.tables()[one.table].get(one.name) != one.type


def test_measures_that_went_have_heirs_that_exist() -> None:
    assert not {*gone.MEASURES} & {*SUMMARY, *FIDELITY}
    assert {*gone.MEASURES.values()} <= {*SUMMARY}


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("peer_ratio", "there is no measure 'peer_ratio'; the nearest one is 'excess_wait'"),
        ("wait_meen", "there is no measure 'wait_meen'; the nearest one is 'wait_mean'"),
        ("xyz", "there is no measure 'xyz' (docs/metrics.md lists all)"),
    ],
)
def test_a_threshold_of_an_unknown_measure_is_an_error(
    tmp_path: Path, metric: str, message: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[[thresholds]]\nmetric = "{metric}"\nabove = 1\n')
    with pytest.raises(ConfigError) as refused:
        config.load(file)
    assert f"thresholds[0].metric: {message}" in str(refused.value).replace("Value error, ", "")


def test_a_backup_of_the_version_before_is_restored_and_migrates(tmp_path: Path) -> None:
    (packed,) = BEFORE.glob("backup-*.tar.xz")
    (tmp_path / "old.tar").write_bytes(lzma.decompress(packed.read_bytes()))
    settings = (BEFORE / "config.toml").read_text(encoding="utf-8")
    (tmp_path / "config.toml").write_text(settings)
    with pytest.raises(ConfigError, match="verdict: overtaken is no longer a bound"):
        config.load(tmp_path / "config.toml")
    kept = [line for line in settings.splitlines() if not line.startswith("overtaken")]
    (tmp_path / "config.toml").write_text("\n".join(kept))
    site = Site(config.load(tmp_path / "config.toml"), tmp_path)
    assert backup.restore(site, tmp_path / "old.tar", force=False).rows["records"] == 40
    with migrations.of_site(site, "test") as con:
        present = {
            (table, name): kind
            for table, name, kind in database.rows(
                con, "SELECT table_name, column_name, data_type FROM duckdb_columns()"
            )
        }
        assert not {(one.table, one.name, one.type) for one in gone.COLUMNS} & {
            (*key, kind) for key, kind in present.items()
        }
        assert database.rows(con, "SELECT count(*) FROM job_fairness") == [(40,)]
        assert database.rows(con, "SELECT count(excess_wait_s) FROM user_fairness") == [(0,)]
    with closing(database.open_store(site.state / "store.duckdb")) as con:
        assert database.rows(con, "SELECT DISTINCT definition FROM published_block") in ([], [(1,)])

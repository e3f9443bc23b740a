"""Old data is removed, the rest is kept; a reader's database does not change."""

from pathlib import Path

import pytest

from audit import config
from audit.config.places import Site
from audit.nightly import history
from audit.nightly.run import run
from audit.nightly.stages import Night
from audit.store import database, migrations, publish
from tests import processes
from tests.logs import write
from tests.nightly.test_run import DAY, FIGURES, NOW, month, published, site


def keeping(folder: Path, **keep: object) -> config.Config:
    return config.Config.model_validate({**site(folder).model_dump(), "retention": keep})


def reports(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "fairaudit-reports" / "c").iterdir())


@pytest.mark.thorough
def test_old_reports_go_and_are_not_recreated(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for number in range(3):
        write(tmp_path / "logs" / f"{number}.swf", month(number, jobs=9))
    run(Site(site(tmp_path), tmp_path), NOW)
    (tmp_path / "fairaudit-reports" / "c" / "2026-01" / "notes.txt").write_text("mine")
    assert reports(tmp_path) == ["2026-01", "2026-02", "2026-03"]
    for _ in range(2):
        done = run(Site(keeping(tmp_path, reports=1), tmp_path), NOW)
        assert done.reports == []
        assert reports(tmp_path) == ["2026-01", "2026-03"]
        left = (tmp_path / "fairaudit-reports" / "c" / "2026-01").iterdir()
        assert [path.name for path in left] == ["notes.txt"]
    run(Site(keeping(tmp_path, reports_days=1), tmp_path), NOW)
    assert reports(tmp_path) == ["2026-01"]
    periods = published(tmp_path, "SELECT DISTINCT period FROM summary ORDER BY period")
    assert periods == [("2026-01",), ("2026-02",), ("2026-03",)]  # figures stay


@pytest.mark.thorough
def test_the_text_of_refused_lines_goes_their_number_stays(tmp_path: Path) -> None:
    settings = keeping(tmp_path, refused_days=30)
    write(tmp_path / "logs" / "1.swf", month(0) + "secret\n")
    run(Site(settings, tmp_path), NOW, stages=FIGURES)
    for later, text in ((29, "secret"), (31, "")):
        run(Site(settings, tmp_path), NOW + later * DAY, stages=FIGURES)
        assert published(tmp_path, "SELECT text FROM refused_records") == [(text,)]


def test_a_clock_that_is_far_ahead_removes_nothing(tmp_path: Path) -> None:
    settings = keeping(tmp_path, reports_days=4_000, refused_days=30)
    write(tmp_path / "logs" / "1.swf", month(0) + "secret\n")
    stages = (*FIGURES, "report")
    run(Site(settings, tmp_path), NOW, stages=stages)
    for ahead in (20 * 365, 20 * 365 + 1):  # also the next night, until the clock is corrected
        done = run(Site(settings, tmp_path), NOW + ahead * DAY, stages=FIGURES)
        said = "nothing was removed ([retention]): the clock shows 2053-"
        assert said in "\n".join(done.warnings)
    for right in (1_000, NOW + 2 * DAY):  # a clock that is behind removes nothing either
        done = run(Site(settings, tmp_path), right, stages=FIGURES)
        assert "nothing was removed" not in "\n".join(done.warnings)
    assert reports(tmp_path) == ["2026-01"]
    assert published(tmp_path, "SELECT text FROM refused_records") == [("secret",)]
    assert len(history.read(tmp_path / "fairaudit-state")) > 12


def test_drafts_of_publishers_that_were_killed_go(tmp_path: Path) -> None:
    dead = write(tmp_path / ".fairaudit.duckdb.999999999", "x")
    other = write(tmp_path / ".fairaudit.duckdb.old", "x")
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    run(Site(settings, tmp_path), NOW, stages=FIGURES)
    assert not dead.exists()
    assert other.exists()


def test_a_store_that_is_mostly_free_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    con = database.open_store(path)
    migrations.migrate(con)
    database.execute(con, "CREATE TABLE big AS SELECT random() AS x FROM range(2000000)")
    database.execute(con, "CREATE TABLE small AS SELECT 7 AS x")
    database.execute(con, "CHECKPOINT")
    database.execute(con, "DROP TABLE big")
    size = publish.free(con)
    con.close()
    assert size.free > size.whole // 2
    assert not size.worth_it  # 16 MB: not worth a copy
    before = path.stat().st_size
    write(tmp_path / ".store.duckdb.draft", "of one that was killed")
    publish.compact(path)
    assert path.stat().st_size < before // 2
    assert [left.name for left in tmp_path.iterdir()] == ["store.duckdb"]
    con = database.open_store(path)
    migrations.migrate(con)  # views and migrations are as they were
    assert database.fetch(con, "SELECT x FROM small").item() == 7
    con.close()


READER = """
import sys
from pathlib import Path
from audit.store import database, snapshots
con = snapshots.open_snapshot(Path(sys.argv[1]))
for _ in range(2):
    print(database.fetch(con, "SELECT count(DISTINCT period) FROM summary").item(), flush=True)
    sys.stdin.readline()
"""


@pytest.mark.thorough
def test_a_run_compacts_and_readers_keep_what_they_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    run(Site(settings, tmp_path), NOW, stages=FIGURES)
    store = tmp_path / "fairaudit-state" / "store.duckdb"
    inode = store.stat().st_ino
    with processes.talking(READER, tmp_path / "fairaudit.duckdb", says="1") as reader:
        with monkeypatch.context() as eager:
            eager.setattr(publish.Size, "worth_it", property(lambda _: True))
            assert run(Site(settings, tmp_path), NOW, stages=FIGURES) == Night()
        assert store.stat().st_ino != inode
        write(tmp_path / "logs" / "2.swf", month(1, jobs=9))
        assert run(Site(settings, tmp_path), NOW, stages=FIGURES).published
        assert reader.communicate("\n\n", timeout=60)[0] == "1\n"
    assert published(tmp_path, "SELECT count(DISTINCT period) FROM summary") == [(2,)]

"""Logs that are opened together, and their messages."""

from pathlib import Path

import pytest

from audit.config import Config
from audit.errors import UsageError
from audit.ingest.logs import open_logs
from audit.pipeline.opening import ClusterFinder, LogRequest, open_log, take_in
from audit.store import migrations
from tests.logs import busy, write

SACCT = "JobID|User|State|Submit|Start|End|AllocTRES\n" + "".join(
    f"{job}|u{job % 3}|COMPLETED|{1_000_000_000 + job}|{1_000_000_100 + job}|{1_000_000_900 + job}"
    f"|cpu=4,mem={'45P' if job < 2 else '4G'},node=1\n"
    for job in range(50)
)


def test_logs_of_several_schedulers_are_one_cluster_only_on_request(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.psv", SACCT), write(tmp_path / "b.swf", busy())]
    for opened in (LogRequest(logs=paths).open, LogRequest(logs=paths).open_each):
        with pytest.raises(UsageError, match=r"several schedulers \(Slurm: a.psv; SWF: b.swf\)"):
            opened()
    assert len(LogRequest(logs=paths, cluster="both").open()) == 2
    assert len(LogRequest(logs=[paths[0]] * 2).open()) == 2


def test_a_log_that_grew_while_it_was_read_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.psv", SACCT)
    logs = open_logs([path])
    write(path, SACCT + SACCT)
    with migrations.temporary() as con:
        taken = take_in(con, logs, ClusterFinder(logs, "c", Config()), Config())
    assert taken.attempts.height == 50
    assert any(text.startswith("grew while") for text in taken.headers["a.psv"].problems)


def test_what_is_doubtful_in_records_is_a_warning(tmp_path: Path) -> None:
    log = open_log(LogRequest(logs=[write(tmp_path / "a.psv", SACCT + "50|u|COMPL")]), Config())
    said = [text for text in log.setting.warnings if text.startswith("a.psv: ")]
    assert said == [
        "a.psv: memory of more than 128 TiB per node is ignored (2 records)",
        "a.psv: ends within a record (line 52): it was cut, or is still being written; what "
        "follows is missing",
    ]


LOCAL = """\
JobID|Cluster|User|State|Submit|Start|End|AllocTRES
1|a|u|COMPLETED|2026-01-05T10:00:00|2026-01-05T10:00:00|2026-01-05T11:00:00|cpu=4,node=1
"""


def configured(**zones: str) -> Config:
    clusters = tuple(
        {"name": name, "zone": zone, "sources": ({"files": "x"},)} for name, zone in zones.items()
    )
    return Config.model_validate({"clusters": clusters})


def test_local_times_are_those_of_the_configured_zone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.psv", LOCAL)
    one = configured(a="Europe/Berlin")
    two = configured(a="Europe/Berlin", b="America/New_York")
    for request, config in (
        (LogRequest(logs=[path]), one),
        (LogRequest(logs=[path], cluster="a"), two),
    ):
        log = open_log(request, config)
        assert log.described["submit_time"].to_list() == [1_767_603_600]  # 09:00 UTC
        assert log.setting.warnings == ()
    with pytest.raises(UsageError, match="pass --cluster a, so that"):
        open_log(LogRequest(logs=[path]), two)


def of_server(job: str, day: int = 1) -> str:
    """A day's file of PBS with a job that ended."""
    return (
        f"10/0{day}/2017 00:10:00;E;{job};user=ana queue=q ctime=1506816000 start=1506816060 "
        "exec_host=n1/0 end=1506816600 Exit_status=0\n"
    )


def test_the_server_that_records_name_is_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    for day in (1, 2):
        write(tmp_path / "days" / f"2017100{day}", of_server(f"{day}.pbs-1", day))
    request = LogRequest(logs=[tmp_path / "days"])
    (cluster, *_) = open_log(request, Config()).setting.facts
    assert (cluster.value, cluster.source) == ("pbs-1", "the log's records")
    write(tmp_path / "days" / "20171003", of_server("3.other", 3))
    assert open_log(request, Config()).setting.facts[0].value == "20171001"


def test_a_folder_stands_for_the_files_in_it(tmp_path: Path) -> None:
    (tmp_path / "days" / "below").mkdir(parents=True)
    paths = [write(tmp_path / "days" / f"{name}.psv", SACCT) for name in "ba"]
    write(tmp_path / "days" / ".hidden", "no log")
    write(tmp_path / "days" / "below" / "c.psv", SACCT)
    assert LogRequest(logs=[tmp_path / "days"]).paths == sorted(paths)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="empty: no file in this folder; name a log"):
        LogRequest(logs=[tmp_path / "empty"]).open_each()

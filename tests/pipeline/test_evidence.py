"""Evidence on its way from files to attempts and nodes."""

from pathlib import Path

import polars as pl
import pytest

from audit.cluster.declared import NodeFiles
from audit.config import Config
from audit.errors import UsageError
from audit.ingest.evidence import given
from audit.metrics.attempts.recorded import recorded
from audit.pipeline.opening import LogRequest, open_log
from bench.modern.captured import CAPTURES, OF_NODES, Capture
from bench.modern.evidence import SQUEUE


def request(folder: Path, **files: str) -> LogRequest:
    """The recorded log, its nodes and their events, with files of evidence by option."""
    capture = Capture(CAPTURES / "north")
    for name in ("sacct.txt", *OF_NODES.values()):
        (folder / name).write_text(capture.text(name))
    nodes = NodeFiles(**{option: folder / name for option, name in OF_NODES.items()})
    paths = {}
    for option, text in files.items():
        (folder / option).write_text(text)
        paths[option] = [folder / option]
    return LogRequest(logs=[folder / "sacct.txt"], zone="UTC", files=nodes, evidence=given(**paths))


def test_options_bring_holds_limits_and_drains(tmp_path: Path) -> None:
    capture = Capture(CAPTURES / "north")
    log = open_log(
        request(
            tmp_path,
            squeue=f"{SQUEUE}\n{capture.text('squeue.txt')}",
            ctld_log=capture.text("slurmctld.log"),
        ),
        Config(),
    )
    kinds = {kind for *_, kind in recorded(log.described).rows()}
    assert {"array", "begin", "hold", "licence", "planned"} <= kinds
    assert "limit QOSMaxGRESPerUser" in kinds
    drains = [one.begin for one in log.setting.declared.absences if one.why == "drained"]
    assert drains == [1_795_534_030, 1_795_534_630]
    assert not any("may have begun earlier" in text for text in log.setting.warnings)


def test_a_file_without_use_is_a_warning_and_a_missing_one_an_error(tmp_path: Path) -> None:
    log = open_log(request(tmp_path, squeue="hello"), Config())
    assert any("date +%s; squeue" in text for text in log.setting.warnings)
    assert "recorded" not in log.described.columns
    asked = request(tmp_path, squeue="")
    (tmp_path / "squeue").unlink()
    with pytest.raises(UsageError, match="squeue"):
        open_log(asked, Config())


def test_the_last_priority_before_the_start_counts(tmp_path: Path) -> None:
    text = "1795533438\nJOBID|STATE|PRIORITY\n2|PENDING|77\n"
    log = open_log(request(tmp_path, squeue=text), Config())
    job = log.described.filter(pl.col("job_id") == "2")
    assert job["priority"].to_list() == [77.0]

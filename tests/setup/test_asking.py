"""What ``init --slurm`` asks, and what it makes of answers and failures."""

import re
import stat
import tomllib
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from audit.errors import AuditError, UsageError
from audit.setup import asking
from audit.setup.asking import CommandPlan, SlurmOutput
from audit.setup.init import infer, write
from tests.places import ROOT
from tests.setup import programs

NOW = datetime(2026, 11, 24, 17, tzinfo=UTC)


@pytest.fixture
def plan() -> CommandPlan:
    return asking.plan(NOW, 2, "UTC")


def ask(
    plan: CommandPlan,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    other: dict[str, str] | None = None,
) -> SlurmOutput:
    programs.install(folder / "site", monkeypatch, other)
    return asking.ask(plan, folder / "slurm")


def test_the_commands_and_their_order(plan: CommandPlan) -> None:
    shown = [query.shown for query in plan.queries]
    assert [line.split()[0] for line in shown] == (
        ["scontrol"] * 3 + ["sacctmgr"] * 4 + ["sinfo", "sacct"]
    )
    assert shown[0] == "scontrol show config > slurm/config.txt"
    assert "--starttime=2026-11-10T00:00:00 --endtime=2026-11-24T17:00:00" in shown[-1]
    assert r"$'--delimiter=\x1f'" in shown[-1]
    assert plan.source.since == date(2026, 11, 10)


def test_later_runs_use_the_command_of_the_shipped_configuration(plan: CommandPlan) -> None:
    shipped = (ROOT / "config.toml").read_text(encoding="utf-8")
    (example,) = re.findall(r"^# (command = \[\n(?:# .*\n)+?# \])", shipped, re.MULTILINE)
    command = tomllib.loads(example.replace("\n# ", "\n"))["command"]
    assert tuple(command) == plan.source.command == asking.JOBS


def test_answers_become_a_configuration(
    plan: CommandPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = ask(plan, tmp_path, monkeypatch)
    assert answers.warnings == ()
    assert len([*answers.files.given, *answers.machines.given]) == 7
    assert answers.machines.nodes == tmp_path / "slurm/nodes.txt"
    assert stat.S_IMODE((tmp_path / "slurm").stat().st_mode) == 0o700
    draft = infer([answers.log], answers.files, zone="UTC", machines=answers.machines)
    log = Path("/var/log/slurmctld.log")
    said = replace(answers, controller_log=log)
    draft = asking.pulled(draft, plan, said, zone_of_machine=True)
    cluster = draft.cluster
    assert [one.kind for one in cluster.evidence] == ["squeue", "ctld-log"]
    assert cluster.evidence[1].files == "/var/log/slurmctld.log*"
    assert (cluster.name, cluster.usage.method) == ("north", "slurm")
    assert cluster.sources == (plan.source,)
    assert str(cluster.hardware.events).endswith("slurm/events.psv")
    text = write(draft)
    assert "# From the clock of this machine." in text
    (source,) = tomllib.loads(text)["clusters"][0]["sources"]
    assert tuple(source["command"]) == asking.JOBS
    assert source["since"] == date(2026, 11, 10)
    squeue, log_of_slurm = tomllib.loads(text)["clusters"][0]["evidence"]
    assert tuple(squeue["command"]) == asking.QUEUE
    assert log_of_slurm["kind"] == "ctld-log"
    assert answers.repeated.startswith(f"fairaudit init {answers.log} --partitions ")
    assert f"--assoc {tmp_path}/slurm/assoc.psv" in answers.repeated
    assert f"--slurm-conf {tmp_path}/slurm/config.txt" in answers.repeated


def test_missing_answers_are_warnings(
    plan: CommandPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slurm").mkdir()
    (tmp_path / "slurm/qos.psv").write_text("of an earlier call", encoding="utf-8")
    failing = "echo one >&2; echo 'sacctmgr: error: Access denied' >&2; exit 3"
    other = {"scontrol show node": ":", "sacctmgr -P show qos": failing}
    answers = ask(plan, tmp_path, monkeypatch, other)
    assert answers.warnings == (
        "'scontrol show node' printed nothing; without it, nodes are described by sinfo",
        "'sacctmgr show qos' failed with exit code 3 (sacctmgr: error: Access denied); "
        "without it, limits and usage factors of QOS are unknown",
    )
    assert answers.machines.nodes == tmp_path / "slurm/sinfo.psv"
    assert answers.files.qos is None
    assert not (tmp_path / "slurm/qos.psv").exists()
    draft = infer([answers.log], answers.files, zone="UTC", machines=answers.machines)
    assert draft.name == "north"


def test_a_command_that_hangs_is_killed(
    plan: CommandPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = tuple(
        query._replace(timeout_s=0) if query.file == "events.psv" else query
        for query in plan.queries
    )
    hang = {"sacctmgr -P show event": "while :; do /bin/sleep 60; done"}
    answers = ask(plan._replace(queries=queries), tmp_path, monkeypatch, hang)
    assert answers.warnings == (
        "'sacctmgr show event' took longer than 0 s; without it, drained nodes count as available",
    )


def test_without_slurm_nothing_is_asked(
    plan: CommandPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="there is no program 'scontrol' in PATH; run --slurm"):
        asking.ask(plan, tmp_path / "slurm")
    assert [*(tmp_path / "slurm").iterdir()] == []


def test_jobs_are_needed(
    plan: CommandPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"'sacct' failed with exit code 1 \(no slurmdbd\)"):
        ask(plan, tmp_path, monkeypatch, {"sacct --allusers": "echo no slurmdbd >&2; exit 1"})


def test_hidden_jobs_are_a_warning(
    plan: CommandPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = {"scontrol show config": "echo 'PrivateData             = accounts,jobs'"}
    answers = ask(plan, tmp_path, monkeypatch, conf)
    assert "PrivateData hides other users' jobs" in answers.warnings[0]


@pytest.mark.parametrize(
    ("begin", "line"),
    [
        ("sacct --allusers", "/bin/head -c 5000 /bin/sh"),
        ("sacct --allusers", "echo nothing of sacct"),
        ("scontrol show partition", "/bin/head -c 5000 /bin/sh"),
        ("scontrol show node", "echo '<html>not scontrol</html>'"),
    ],
)
def test_hostile_output_is_refused(
    begin: str, line: str, plan: CommandPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = ask(plan, tmp_path, monkeypatch, {begin: line})
    with pytest.raises(AuditError) as refused:
        infer([answers.log], answers.files, zone="UTC", machines=answers.machines)
    assert programs.ASKED[begin] in str(refused.value)


@pytest.mark.parametrize(
    ("tz", "link", "text", "zone"),
    [
        ("Europe/Paris", None, None, "Europe/Paris"),
        (":/usr/share/zoneinfo/Asia/Tokyo", None, None, "Asia/Tokyo"),
        ("CET-1CEST", "/usr/share/zoneinfo/Europe/Oslo", None, "Europe/Oslo"),
        ("", None, "America/Lima\n", "America/Lima"),
        ("", "/nowhere", "\x00", "UTC"),
        ("", None, None, "UTC"),
    ],
)
def test_the_zone_of_the_machine(
    tz: str, link: str | None, text: str | None, zone: str, tmp_path: Path
) -> None:
    if link is not None:
        (tmp_path / "localtime").symlink_to(link)
    if text is not None:
        (tmp_path / "timezone").write_text(text, encoding="utf-8")
    assert asking.machine_zone({"TZ": tz}, tmp_path) == zone

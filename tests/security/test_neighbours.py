"""Attacks by another user of the machine: links, exchanged folders, and files placed in advance.

The neighbour is a process with user id 65534. fairaudit runs as root, where an attack can do most
harm.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from audit.config import Cluster, Config, Mail, PeopleConfig
from audit.errors import ConfigError, DeliveryError, UsageError
from audit.ingest import people
from audit.mail import transport
from audit.oneoff.audit import AuditOptions, audit
from audit.pipeline.opening import LogRequest, Session
from tests.cli import conftest
from tests.cli.command import Run
from tests.logs import busy, write

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="only root, with setpriv, can become a neighbour: NOT TRIED",
)
run = conftest.run
SETTINGS = Config.model_validate(
    {"uncertainty": {"resamples": 100}, "simulation": {"advice_budget_s": 0}}
)
PRECIOUS = ("report.html", "report.pdf", "audit.duckdb", "store.duckdb")


def neighbour(script: str, *arguments: object) -> int:
    """Run a shell script as the neighbour; return its exit code."""
    return subprocess.run(
        [
            *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
            *("env", "sh", "-c", script, "sh", *map(str, arguments)),
        ],
        check=False,
        stderr=subprocess.DEVNULL,
    ).returncode


def seen(folder: Path) -> dict[str, object]:
    """Return everything below a folder: mode, owner, inode and content."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        look = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
        found[str(path.relative_to(folder))] = (look.st_mode, look.st_uid, look.st_ino, content)
    return found


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that all users can enter, with one in it that only root can, full of files."""
    made = Path(tempfile.mkdtemp(prefix="neighbours-", dir="/tmp"))
    made.chmod(0o755)
    try:
        victim = made / "victim"
        victim.mkdir(mode=0o700)
        for name in PRECIOUS:
            (victim / name).write_text(f"precious {name}")
        yield made
    finally:
        shutil.rmtree(made)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "a.swf", busy(20))


UNSAFE = {
    "their own": (65534, 65534, 0o755),
    "open to all": (0, 0, 0o777),
    "of their group": (0, 65534, 0o770),
    "sticky": (0, 0, 0o1777),
}
"""Owner, group and mode of a folder."""
COMMANDS = (
    "audit {log} --no-pdf --out {out}",
    "audit {log} --no-pdf --out {out}/new/below",
    "audit {log} --no-pdf --out {root}/mine --db {out}/x.duckdb",
    "simulate {log} --out {out}/x.swf",
    "experiment operators --out {out}",
    "experiment users {log} --out {out}",
    "init {log} --name c --output {out}/config.toml",
    "run --config {site}",
    "backup {out} --config {site}",
)


@pytest.mark.parametrize(
    ("command", "unsafe"),
    [
        (command, unsafe)
        for command in COMMANDS
        for unsafe in UNSAFE
        if not ("below" in command and unsafe == "sticky")  # there a new folder is its maker's
    ],
)
def test_nothing_is_written_where_a_neighbour_can_exchange_it(
    run: Run, tmp_path: Path, place: Path, log: Path, command: str, unsafe: str
) -> None:
    out = place / "out"
    out.mkdir()
    user, group, mode = UNSAFE[unsafe]
    os.chown(out, user, group)
    out.chmod(mode)
    site = tmp_path / "site" / "config.toml"
    site.parent.mkdir()
    outputs = "" if "backup" in command else f'[output]\nreports = "{out}"\n'
    write(site, f'{outputs}[[clusters]]\nname = "c"\n')
    (site.parent / "fairaudit.duckdb").touch()
    before = seen(place)
    words = command.format(log=log, out=out, root=tmp_path, site=site).split()
    said = run(*words, check=2).stderr
    assert str(out) in said
    assert any(
        reason in said
        for reason in ("belongs to user nobody", "other users can change", "other users can write")
    )
    assert seen(place) == before
    assert not (tmp_path / "mine").exists()


@pytest.mark.thorough
def test_exchanging_folders_while_an_audit_runs_gains_nothing(place: Path, log: Path) -> None:
    """The folder is sticky, so that the neighbour can create files in it."""
    shared = place / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    before = seen(place / "victim")
    tried: list[int] = []

    def attack(what: str, done: int, of: int) -> None:
        for target in (".fairaudit", "report.html", ".audit.duckdb.lock", "audit.duckdb", ""):
            tried.append(
                neighbour('mv "$1" "$1.old" || ln -sfn "$2" "$1"', shared / "out" / target, victim)
            )

    victim = place / "victim"
    outcome = audit(
        Session(LogRequest(logs=[log]), SETTINGS, on_progress=attack, fit=False),
        AuditOptions(out=shared / "out", pdf=False),
    )
    assert len(tried) > 20
    assert 0 not in tried
    assert outcome.html.read_text().startswith("<!DOCTYPE html>")
    assert [path.name for path in shared.iterdir()] == ["out"]
    assert seen(victim) == before


def test_a_working_folder_cannot_be_exchanged_for_a_link(place: Path, log: Path) -> None:
    """The neighbour owns the output folder, which is therefore refused."""
    theirs = place / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    victim = place / "victim"
    before = seen(victim)

    def attack(what: str, done: int, of: int) -> None:
        neighbour('mv "$1" "$1.$$" && ln -s "$2" "$1"', theirs / ".fairaudit", victim)

    with pytest.raises(UsageError, match="belongs to user nobody"):
        audit(
            Session(LogRequest(logs=[log]), SETTINGS, on_progress=attack, fit=False),
            AuditOptions(out=theirs, pdf=False),
        )
    assert seen(victim) == before
    assert list(theirs.iterdir()) == []


PLACED = (
    *(".audit.duckdb.lock", ".report.html.lock", ".report.html.draft", ".audit.duckdb.PID"),
    *(".fairaudit", "audit.duckdb", "report.html", "report.pdf"),
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(name, kind, marks=pytest.mark.thorough if (n + 2 * k) % 8 else ())
        for k, kind in enumerate(("link", "link to a folder", "second name"))
        for n, name in enumerate(PLACED)
    ],
)
def test_files_placed_while_the_folder_was_open_are_not_written_through(
    place: Path, log: Path, name: str, kind: str
) -> None:
    """A folder that was open for a while may still contain files of the neighbour."""
    out, victim = place / "out", place / "victim"
    out.mkdir()
    out.chmod(0o777)
    placed = out / name.replace("PID", str(os.getpid()))
    if kind == "second name":
        placed.hardlink_to(victim / "report.html")  # some kernels let the neighbour do so
    else:
        target = victim if kind == "link to a folder" else victim / "report.html"
        assert neighbour('ln -s "$2" "$1"', placed, target) == 0
    out.chmod(0o755)
    before = seen(victim)
    with suppress(UsageError):  # or it replaces the file
        audit(
            Session(LogRequest(logs=[log]), SETTINGS, fit=False), AuditOptions(out=out, pdf=False)
        )
    assert seen(victim) == before


def test_a_folder_that_a_neighbour_made_first_is_refused(place: Path, log: Path) -> None:
    shared, victim = place / "shared", place / "victim"
    shared.mkdir()
    shared.chmod(0o1777)
    before = seen(victim)
    for script in ('mkdir "$1"', 'ln -s "$2" "$1"', 'ln -s "$2/new" "$1"'):
        out = shared / "out"
        assert neighbour(script, out, victim) == 0
        with pytest.raises(UsageError, match="belongs to user nobody"):
            audit(
                Session(LogRequest(logs=[log]), SETTINGS, fit=False),
                AuditOptions(out=out, pdf=False),
            )
        assert neighbour('rm -r "$1"', out) == 0
    assert seen(victim) == before


CONFIG = '[[clusters]]\nname = "c"\n[[clusters.sources]]\ncommand = ["touch", "{made}"]\n'


@pytest.mark.thorough
def test_a_config_that_a_neighbour_can_change_runs_no_command(run: Run, place: Path) -> None:
    site = place / "site"
    site.mkdir()
    config = write(site / "config.toml", CONFIG.format(made=place / "made"))
    for changed, mode in ((config, 0o666), (site, 0o777)):
        before = changed.stat().st_mode
        changed.chmod(mode)
        for command in ("run", "ingest", "report", "service"):
            said = run(command, "--config", config, check=2).stderr
            assert f"run 'chmod go-w {changed}'" in said
        said = run("doctor", "--config", config, check=2).stdout
        assert f"WRONG  permissions of config.toml: {config}" in said
        changed.chmod(before)
    assert sorted(path.name for path in site.iterdir()) == ["config.toml"]
    assert not (place / "made").exists()
    assert "ok     permissions of config.toml" in run("doctor", "--config", config).stdout


def test_doctor_reports_programs_and_secrets_that_others_can_use(run: Run, place: Path) -> None:
    program = write(place / "fetch", "#!/bin/sh\n")
    for name in ("key", "password"):
        write(place / name, "k" * 32)
    config = write(
        place / "config.toml",
        f'[[clusters]]\nname = "c"\n[[clusters.sources]]\ncommand = ["{program}"]\n'
        '[[clusters]]\nname = "d"\n[clusters.people]\nkey_file = "key"\n'
        '[mail]\nvia = "smtp"\nhost = "127.0.0.1"\nport = 1\nuser = "u"\nsecurity = "tls"\n'
        'password_file = "password"\nsender = "a@example.org"\ndomains = ["example.org"]\n',
    )
    program.chmod(0o777)
    for name in ("key", "password"):
        (place / name).chmod(0o604)
    said = run("doctor", "--config", config, check=2).stdout
    assert f"{program}: runs as this user, but other users can change {program}" in said
    assert f"{place / 'key'}: others can read the key: chmod o=" in said
    assert f"{place / 'password'}: others can read the password in it: chmod o=" in said


def test_a_link_in_a_folder_of_logs_publishes_no_secret(
    run: Run, tmp_path: Path, place: Path
) -> None:
    logs = place / "logs"
    logs.mkdir()
    logs.chmod(0o777)
    write(logs / "a.swf", busy(40))
    (place / "victim" / "shadow").write_text("root:$6$secretsecret:19000:0:99999:7:::\n" * 3)
    assert neighbour('ln -s "$1/victim/shadow" "$1/logs/b.swf"', place) == 0
    result = run("audit", str(logs), "--no-pdf", "--out", str(tmp_path / "out"), check=2)
    assert "b.swf" in result.stderr
    assert "a link of another user, which is not followed" in result.stderr
    shown = result.stdout + result.stderr
    for file in (tmp_path / "out").rglob("*"):
        shown += file.read_bytes().decode("latin-1") if file.is_file() else ""
    assert "secretsecret" not in shown

    (logs / "b.swf").unlink()
    shutil.copy(place / "victim" / "shadow", logs / "b.swf")  # not a log, and not a link
    result = run("audit", str(logs), "--no-pdf", "--out", str(tmp_path / "out2"), check=2)
    assert "not a log that fairaudit reads" in result.stderr
    assert "secretsecret" not in result.stdout + result.stderr


def test_secrets_and_names_of_another_user_are_not_read(place: Path) -> None:
    given = "0123456789abcdef-their-secret"
    for name in ("key", "password", "people.csv"):
        (place / name).write_text(given)
        (place / name).chmod(0o600)
        os.chown(place / name, 65534, 65534)
    belongs = "belongs to user"
    cluster = Cluster(name="c", people=PeopleConfig(key_file="key"))
    with pytest.raises(ConfigError, match=belongs):
        people.filter_of(cluster, place)
    with pytest.raises(ConfigError, match=belongs):
        people.read(place / "people.csv", ZoneInfo("UTC"))
    mail = Mail(host="localhost", user="u", password_file="password", sender="a@example.org")
    with pytest.raises(DeliveryError, match=belongs) as caught:
        transport.post(mail, place)
    assert given not in str(caught.value)

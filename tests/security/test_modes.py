"""Permissions of all files and folders that commands create, whatever the umask is."""

import os
import shutil
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from audit.nightly.keeping import archiving
from tests import processes
from tests.analyst.test_repl import talk
from tests.logs import write
from tests.nightly.test_run import month
from tests.nightly.test_service import begun, errors

CONFIG = """
[output]
shared_with_group = {shared}
[uncertainty]
resamples = 100
[simulation]
advice_budget_s = 0
[report]
pdf = false
[retention]
archive_months = 1
[mail]
via = "outbox"
sender = "fairaudit@example.org"
[[recipients]]
addresses = ["anna@example.org"]
[[clusters]]
name = "../../<b>c\\u0000"
pools = [{{ name = "all", capacity = {{ cpus = 8 }} }}]
[[clusters.sources]]
files = "logs/*.swf"
[[clusters.sources]]
command = ["sh", "-c", "find . -printf '%y %m %P\\n' > listing; cat logs/1.swf"]
"""
GIVEN = {"config.toml", "listing", "logs"}
"""Files of the test, or of the command of its source."""
SHARED = {"fairaudit-reports", "fairaudit-archive", "fairaudit.duckdb", "audited"}
"""Files and folders that ``output.shared_with_group`` lets the group read."""


@contextmanager
def under(umask: int) -> Iterator[None]:
    """Start processes with this umask while the block runs."""
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


def fairaudit(site: Path, *words: str) -> None:
    done = processes.python("-m", "audit", *words, cwd=site)
    assert done.returncode == 0, done.stderr


def everything(site: Path) -> list[tuple[str, int]]:
    """Return each path below a folder, with its mode and kind."""
    return [
        (str(path.relative_to(site)), path.lstat().st_mode)
        for path in site.rglob("*")
        if path.relative_to(site).parts[0] not in GIVEN
    ]


def listed(listing: Path) -> list[tuple[str, int]]:
    """Return the same as listed by the source's command during the run."""
    kinds = {"f": stat.S_IFREG, "d": stat.S_IFDIR}
    rows = (line.split(" ", 2) for line in listing.read_text().splitlines())
    return [
        (name, kinds[kind] | int(mode, 8))
        for kind, mode, name in rows
        if name and Path(name).parts[0] not in GIVEN
    ]


def wrong(found: list[tuple[str, int]], *, shared: bool) -> list[str]:
    """Return those that give others more rights, or the group fewer, than documented."""
    expected = {True: 0o050, False: 0o040} if shared else {True: 0, False: 0}

    def of_group(name: str) -> bool:
        return Path(name).parts[0] in SHARED and Path(name).name != archiving.CLAIM

    return [
        f"{mode:o} {name}"
        for name, mode in found
        if mode & 0o077 != (expected[stat.S_ISDIR(mode)] if of_group(name) else 0)
    ]


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(("umask", "shared"), [(0o000, False), (0o077, True)])
def test_what_commands_write_is_private_unless_shared(
    tmp_path: Path, umask: int, shared: bool
) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    (site / "logs").mkdir(parents=True)
    home.mkdir()
    for number in range(4):
        write(site / "logs" / f"{number}.swf", month(number, jobs=9))
    write(site / "config.toml", CONFIG.format(shared=str(shared).lower()))
    with under(umask):
        fairaudit(site, "run")
        during = listed(site / "listing")
        config, quick = ("--config", "config.toml"), ("--no-pdf", "--no-fit", "--no-advice")
        fairaudit(site, "audit", "logs/1.swf", *quick, "--out", "audited", *config)
        fairaudit(site, "simulate", "logs/1.swf", "--out", "schedule.swf")
        fairaudit(site, "experiment", "operators", "--bits", "3", "--out", "study")
        fairaudit(site, "init", "logs/1.swf", "--name", "x", "--output", "new.toml")
        fairaudit(site, "report", "--user", "1")
        with begun(site) as service:
            said = errors(service).readline()
            service.send_signal(signal.SIGTERM)
        assert "next run" in said
        talk(site / "fairaudit.duckdb", home / "new" / "state", [b"SELECT 1;\n"])
        fairaudit(site, "backup", "saved.tar")
        fairaudit(site, "erase", "--user", "2")
        found = everything(site)
        shutil.rmtree(site / "fairaudit-state")
        shutil.rmtree(site / "fairaudit-archive")
        fairaudit(site, "restore", "saved.tar")
    assert wrong(found, shared=shared) == []
    assert wrong(everything(site), shared=shared) == []
    assert wrong(during, shared=shared) == []
    assert wrong(everything(home), shared=False) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "site"]
    made = {Path(name).parts[0] for name, _ in found}
    assert made > SHARED
    assert {"fairaudit-outbox", "schedule.swf", "study", "new.toml", "saved.tar"} < made
    assert {name for name, _ in during} > {"fairaudit-state/.store.duckdb.lock"}

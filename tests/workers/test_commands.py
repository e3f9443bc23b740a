"""Each command gives its work to the workers in config.toml, with the same results."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from audit.workers import chosen
from audit.workers.executors import Stopped
from tests.logs import write
from tests.studies.commands import run
from tests.workers.scattered import Scattered, small_log

SITE = """\
[report]
pdf = false
[uncertainty]
resamples = 100
[[clusters]]
name = "c"
zone = "UTC"
[[clusters.sources]]
files = "small.swf"
[compute]
"""
ELSEWHERE = 'engine = "dask"\nworkers = 1\nalone_s = 0\n'

COMMANDS = {
    "audit": ("audit", "small.swf", "--no-pdf", "--out", "out", "--config", "config.toml"),
    "run": ("run", "--config", "config.toml"),
    "grid": (
        *("experiment", "grid", "small.swf", "--loads", "0.8", "--attempts", "60"),
        *("--out", "out", "--config", "config.toml"),
    ),
    "fit-policy": (
        *("fit-policy", "small.swf", "--out", "out"),
        *("--config", "config.toml"),
    ),
}


class Elsewhere(Scattered):
    """Notes what it was given."""

    given: list[str]
    where = "elsewhere"
    used: tuple[str, ...] = ()
    left_out: Mapping[str, str] = MappingProxyType(
        {"tls://10.0.0.3:4411": "it has too little memory"}
    )

    def each(
        self, prepare: Any, shared: Any, parts: Sequence[Any], stopped: Stopped = lambda: False
    ) -> Iterator[tuple[int, Any]]:
        self.given.append(f"{prepare.__module__.rpartition('.')[2]}")
        yield from super().each(prepare, shared, parts, stopped)

    def close(self) -> None:
        self.given.append("closed")


def made(folder: Path, compute: str, command: Sequence[str], patch: pytest.MonkeyPatch) -> object:
    """The pages and tables that a command writes, by name."""
    folder.mkdir()
    (folder / "config.toml").write_text(SITE + compute)
    write(folder / "small.swf", small_log())
    patch.chdir(folder)
    assert run(*command) == 0
    kinds = (".html", ".csv")
    found = {path for path in folder.rglob("*") if path.suffix in kinds and path.is_file()}
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(found)}


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_configured_workers_do_the_work_with_the_same_result(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = made(tmp_path / "here", "", COMMANDS[command], monkeypatch)
    elsewhere = Elsewhere()
    elsewhere.given = []
    monkeypatch.setattr(chosen, "Dask", lambda options, say: elsewhere)
    there = made(tmp_path / "there", ELSEWHERE, COMMANDS[command], monkeypatch)
    assert elsewhere.given[0] in ("executors", "fair_start")
    assert elsewhere.given[-1] == "closed"
    assert there == here
    assert here
    if command == "run":
        assert run("status", "--config", "config.toml") == 0
        [line] = [line for line in capsys.readouterr().out.splitlines() if " compute " in line]
        why = "worker tls://10.0.0.3:4411 was left out: it has too little memory"
        assert re.search(rf"\bdone +elsewhere: {why}$", line)

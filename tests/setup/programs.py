"""Stand-ins for Slurm's programs, which print what a real cluster printed (tests/data/modern)."""

import gzip
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.places import ROOT

NORTH: Final = ROOT / "tests/data/modern/north"
ASKED: Final = {
    "scontrol show config": "config.txt",
    "scontrol show partition": "partitions.txt",
    "scontrol show node": "nodes.txt",
    "sacctmgr -P show qos": "qos.psv",
    "sacctmgr -P show assoc": "assoc.psv",
    "sacctmgr -P show event": "events.psv",
    "sacctmgr -P show reservation": "reservations.psv",
    "sinfo": "sinfo.psv",
    "sacct --allusers": "sacct.txt",
}
"""Beginnings of commands, and the captures with their output."""


def write(folder: Path, seen_as: Path, other: Mapping[str, str] | None = None) -> Path:
    """Return a folder with the programs; their captures are read from ``seen_as``.

    ``other`` maps beginnings of commands to lines of sh.
    """
    lines = {}
    for begin, name in ASKED.items():
        capture = folder / name
        capture.parent.mkdir(parents=True, exist_ok=True)
        capture.write_bytes(gzip.decompress((NORTH / f"{name}.gz").read_bytes()))
        lines[begin] = f"exec /bin/cat {shlex.quote(str(seen_as / name))}"
    lines |= other or {}
    programs = folder / "bin"
    programs.mkdir()
    for program in {begin.split()[0] for begin in lines}:
        cases = "".join(
            f"  {shlex.quote(begin)}*) {line} ;;\n"
            for begin, line in lines.items()
            if begin.split()[0] == program
        )
        path = programs / program
        path.write_text(f'#!/bin/sh\ncase "{program} $*" in\n{cases}esac\n', encoding="utf-8")
        path.chmod(0o755)
    return programs


def install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, other: Mapping[str, str] | None = None
) -> None:
    """Make the programs the only ones in PATH."""
    monkeypatch.setenv("PATH", str(write(folder, folder, other)))


if __name__ == "__main__":  # .ci/test-installation
    write(Path(sys.argv[1]), Path(sys.argv[2]))

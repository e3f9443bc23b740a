"""Studies as the command line makes them."""

import csv
import sys
from pathlib import Path

import pytest

from audit.cli.app import main


def run(*arguments: object) -> int:
    """The exit code of the command."""
    given, sys.argv = sys.argv, ["fairaudit", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = given
    assert isinstance(ended.value.code, int)
    return ended.value.code


def table(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))

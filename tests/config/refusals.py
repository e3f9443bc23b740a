"""Messages about wrong settings."""

from pathlib import Path

import pytest

from audit import config
from audit.errors import ConfigError


def refusals(tmp_path: Path, text: str) -> list[str]:
    """The messages about a config.toml, without their indentation."""
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert caught.value.exit_code == 2
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


def usage_refusal(tmp_path: Path, keys: str, pools: str = "") -> list[str]:
    """The messages about keys of [clusters.usage]."""
    return refusals(tmp_path, f'[[clusters]]\nname = "c"\n[clusters.usage]\n{keys}\n{pools}')


def cases(table: str) -> list[tuple[str, str]]:
    """The lines ``KEYS => MESSAGE`` of a table; `` ; `` separates lines of KEYS."""
    pairs = (line.strip().split(" => ") for line in table.strip().splitlines())
    return [(keys.strip().replace(" ; ", "\n"), message) for keys, message in pairs]

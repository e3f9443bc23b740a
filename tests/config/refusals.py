"""What is said of wrong settings."""

from pathlib import Path

import pytest

from audit import config
from audit.errors import ConfigError


def usage_refusal(tmp_path: Path, keys: str, pools: str = "") -> list[str]:
    """What is said of these keys of [clusters.usage], below the line that counts them."""
    path = tmp_path / "my.toml"
    path.write_text(f'[[clusters]]\nname = "c"\n[clusters.usage]\n{keys}\n{pools}')
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert caught.value.exit_code == 2
    return str(caught.value).splitlines()[1:]

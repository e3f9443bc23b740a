"""config.toml: the shipped one is the defaults, and mistakes are all reported."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from audit import config, resources
from audit.errors import ConfigError


def test_the_shipped_file_shows_every_key_with_its_default() -> None:
    path = resources.path("config.toml")
    assert config.load(path) == config.Config()
    text = path.read_text()
    section = ""
    described: set[str] = set()
    comment = False
    for line in text.splitlines():
        if match := re.fullmatch(r"\[(\w+)\]", line):
            section = match[1]
        elif match := re.match(r"(\w+) = ", line):
            described.add(f"{section}.{match[1]}")
            assert comment or section == "sql", f"{section}.{match[1]} has no comment"
        comment = line.startswith("#")
    assert described == {
        f"{name}.{key}"
        for name, field in config.Config.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        for key in field.annotation.model_fields
    }


def test_three_mistakes_are_three(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[metrics]\ntau = 3\ntau_s = "x"\n[stor]\na = 1\n[store]\nmemory_limit = "all"')
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: 4 wrong:")
    assert "metrics.tau: no such key; did you mean metrics.tau_s?" in message
    assert "metrics.tau_s: Input should be a valid integer (it is 'x')" in message
    assert "stor: no such key; did you mean store?" in message
    assert 'store.memory_limit: must be an amount with its unit, such as "4GB"' in message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[metrics", "not valid TOML"),
        ("[metrics]\ntau_s = 0", "metrics.tau_s: Input should be greater than or equal to 1"),
        ("[metrics]\nzzz = 0", "known here: tau_s, "),
        ('[metrics]\nresource_equality_weights = "area"', "Input should be 'size' or 'jobs'"),
        ("[uncertainty]\nresamples = 99", "uncertainty.resamples"),
        ("metrics = 3", "metrics: "),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert said in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        config.load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(tmp_path / "binary.toml")


def test_the_digest_is_of_values_not_of_how_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[report]\nrows = 10\n[metrics]\ntau_s = 10\n")
    assert config.load(path).digest() == config.Config().digest()
    path.write_text("[metrics]\ntau_s = 1\n")
    assert config.load(path).digest() != config.Config().digest()

"""Names in a configuration whose records have pseudonyms."""

from pathlib import Path

import pytest

from audit import config
from audit.errors import ConfigError

PEOPLE = '[clusters.people]\nkey_file = "people.key"\n'


def said(tmp_path: Path, more: str) -> str:
    path = tmp_path / "my.toml"
    path.write_text(f'[[clusters]]\nname = "c"\n{more}')
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ("[clusters.usage]\nusers = { anna = 1.0 }\n", "clusters[0].usage.users.anna"),
        ("[clusters.usage]\naccounts = { phys = 1.0 }\n", "clusters[0].usage.accounts.phys"),
        (
            '[clusters.usage]\nshares = [{ account = "phys", share = 1 }]\n',
            "clusters[0].usage.shares[0].account",
        ),
        (
            '[[clusters.pools]]\nname = "p"\nlimits = [{ most = 2, user = "anna" }]\n',
            "clusters[0].pools[0].limits[0].user",
        ),
        ('[clusters.usage]\nassociations = "a.txt"\n', "clusters[0].usage.associations"),
    ],
)
def test_names_are_refused_where_records_have_pseudonyms(
    tmp_path: Path, more: str, where: str
) -> None:
    message = said(tmp_path, PEOPLE + more)
    assert where in message
    assert "records have pseudonyms" in message
    path = tmp_path / "my.toml"
    path.write_text(path.read_text().replace('key_file = "people.key"', 'file = "people.csv"'))
    config.load(path)  # without a key they are names


def test_pseudonyms_and_columns_that_are_kept_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(
        f'[[clusters]]\nname = "c"\n{PEOPLE}pseudonyms = ["user"]\n'
        '[clusters.usage]\nshares = [{ account = "phys", share = 1 }, '
        '{ account = "phys", user = "u-0123456789ab", share = 1 }]\n'
    )
    (cluster,) = config.load(path).clusters
    assert cluster.people.hidden == ("user",)
    assert "Input should be" in said(tmp_path, PEOPLE + 'pseudonyms = ["qos"]\n')

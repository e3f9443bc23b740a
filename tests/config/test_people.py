"""Names in a configuration whose records have pseudonyms."""

from pathlib import Path

import pytest

from audit import config
from tests.config.refusals import cases, refusals

PEOPLE = '[clusters.people]\nkey_file = "people.key"\n'
NAMES = """
[clusters.usage] ; users = { anna = 1.0 } => usage.users.anna: is a name, but records have pseudonyms
[clusters.usage] ; accounts = { phys = 1.0 } => usage.accounts.phys: is a name, but
[clusters.usage] ; shares = [{ account = "phys", share = 1 }] => usage.shares[0].account: is a name, but
[[clusters.pools]] ; name = "p" ; limits = [{ most = 2, user = "anna" }] => pools[0].limits[0].user: is a name
[clusters.usage] ; associations = "a.txt" => usage.associations: contains names, but records have
"""  # noqa: E501


@pytest.mark.parametrize(("keys", "message"), cases(NAMES))
def test_names_are_refused_if_records_have_pseudonyms(
    tmp_path: Path, keys: str, message: str
) -> None:
    text = f'[[clusters]]\nname = "c"\n{PEOPLE}{keys}\n'
    assert refusals(tmp_path, text)[0].startswith(f"clusters[0].{message}")
    path = tmp_path / "my.toml"
    path.write_text(text.replace('key_file = "people.key"', 'file = "people.csv"'))
    config.load(path)  # without a key they are names


def test_pseudonyms_and_columns_without_pseudonyms_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(
        f'[[clusters]]\nname = "c"\n{PEOPLE}pseudonyms = ["user"]\n'
        '[clusters.usage]\nshares = [{ account = "phys", share = 1 }, '
        '{ account = "phys", user = "u-0123456789ab", share = 1 }]\n'
    )
    (cluster,) = config.load(path).clusters
    assert cluster.people.hidden == ("user",)
    wrong = refusals(tmp_path, f'[[clusters]]\nname = "c"\n{PEOPLE}pseudonyms = ["qos"]\n')
    assert "Input should be" in wrong[0]

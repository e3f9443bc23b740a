"""A cluster: its keys, and the checks across its parts.

XXX Names in a configuration whose records have pseudonyms.
"""

from pathlib import Path

import pytest

from audit import config
from tests.config.refusals import cases, refusals, usage_refusal

POOL = '[[clusters.pools]] ; name = "a"'
REFUSED = f"""
zone = "Mars" => zone: time zone 'Mars'
perod = 3 => perod: no such key; did you mean clusters[0].period?
period = "year" => period: Input should be 'day', 'week' or 'month'
{POOL} ; capacity = {{ cpu = 1 }} => pools[0].capacity.cpu: no such key; did you mean clusters[0].pools[0].capacity.cpus?
{POOL} ; capacity = {{ cpus = 1, "gpus:A100" = 1 }} => pools[0].capacity.gpus:A100: no such key; did you mean clusters[0].pools[0].capacity.gpus?
{POOL} ; capacity = {{ cpus = 100000000000000000000 }} => pools[0].capacity.cpus: must be at most 4611686018427387904
{POOL} ; capacity = {{ "gpus:a100" = 0 }} => pools[0].capacity.gpus:a100: Input should be greater than or equal to 1
{POOL} ; capacity = 16 => pools[0].capacity: must be a table; write capacity = {{ … }} with its keys: cpus, nodes
{POOL} ; limits = [{{ most = 1, resource = "gpu" }}] => pools[0].limits[0].resource: Input should be 'cpus', 'mem_bytes', 'gpus', 'nodes' or 'gpus:TYPE', the type in lower case
{POOL} ; partitions = ["x"] ; [[clusters.pools]] ; name = "b" ; partitions = ["x"] => partitions in two pools: x
{POOL} ; [[clusters.pools]] ; name = "b" => only one pool may have no partitions
{POOL} ; partitions = ["x"] ; {POOL} => two pools have the same name
{POOL} ; steps = [{{ since = 2026-02-01, cpus = 1 }}, {{ since = 2026-01-01, cpus = 2 }}] => steps must be in the order of their days
{POOL} ; order = "nuwt" ; fair_order = "fairshare" => order = "nuwt" with fair_order = "fairshare"
[[clusters.sources]] => a source needs either files or a command, and not both
[[clusters.sources]] ; files = "a" ; command = ["b"] => a source needs either files or a command, and not both
[[clusters.sources]] ; command = [] => a command needs at least a program
[clusters.usage] ; half_life_days = 0.0 => usage.half_life_days: must be above 0; only method 'slurm' with a reset
[clusters.usage] ; half_life_days = -1.0 => usage.half_life_days: Input should be greater than or equal to 0
[clusters.usage] ; decay = nan => usage.decay: Input should be a finite number
"""  # noqa: E501


@pytest.mark.parametrize(("keys", "message"), cases(REFUSED))
def test_faults_are_reported_by_key_path(tmp_path: Path, keys: str, message: str) -> None:
    (found,) = refusals(tmp_path, f'[[clusters]]\nname = "c"\n{keys}\n')
    assert found.startswith("clusters[0]")
    assert message in found


def test_types_of_gpus_are_resources(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(
        '[[clusters]]\nname = "c"\n[[clusters.pools]]\nname = "all"\n'
        'capacity = { cpus = 4, "gpus:a100" = 8 }\n'
        'limits = [{ most = 2, resource = "gpus:a100_1g.5gb" }]\n'
        'steps = [{ since = 2026-01-01, "gpus:a100" = 4 }]\n'
    )
    (pool,) = config.load(path).clusters[0].pools
    assert pool.capacity.model_dump(exclude_none=True) == {"cpus": 4, "gpus:a100": 8}
    assert pool.steps[0].model_dump(include={"gpus:a100"}) == {"gpus:a100": 4}
    assert pool.limits[0].resource == "gpus:a100_1g.5gb"


def test_a_cluster_has_a_name(tmp_path: Path) -> None:
    (found,) = refusals(tmp_path, '[[clusters]]\nname = ""\n')
    assert found.startswith("clusters[0].name: String should have at least 1")


NODES = '[[clusters.pools]]\nname = "all"\nresource = "nodes"\ncapacity = { nodes = 4, gpus = 8 }'
CPUS = '[[clusters.pools]]\nname = "all"\ncapacity = { cpus = 4 }'
EXEMPT = "usage.exempt: every resource of pool 'all' is exempt: leave out"


@pytest.mark.parametrize(
    ("usage", "pools", "message"),
    [
        ("", NODES, "pools[0].capacity: usage.penalty 'cpu' needs the cpus"),
        ('penalty = "pe"', NODES, "pools[0].capacity: usage.penalty 'pe' needs the cpus"),
        ('penalty = "root"\nexempt = ["gpus", "nodes"]', NODES, EXEMPT),
        ('penalty = "root"\nbasis = "node"\nexempt = ["gpus"]', NODES, EXEMPT),
        ('basis = "node"', CPUS, "pools[0].capacity: usage.basis 'node' needs the number of nodes"),
    ],
)
def test_pools_must_have_what_is_charged(
    tmp_path: Path, usage: str, pools: str, message: str
) -> None:
    (found,) = usage_refusal(tmp_path, usage, pools)
    assert found.startswith(f"clusters[0].{message}")


ORDERS = """
operator = "relative" => needs shares for usage.operator 'relative'
alignment = "calendar" => needs usage.alignment "trailing"
operator = "classic" ; shares = [{ account = "a", share = 1 }] => needs another usage.operator than
method = "slurm" ; penalty = "billing" ; billing_weights = { cpus = 1.0 } ; half_life_days = 0 ; reset = "yearly" => needs a half-life; a reset alone defines no order
"""  # noqa: E501


@pytest.mark.parametrize("key", ["order", "fair_order"])
@pytest.mark.parametrize(("usage", "message"), cases(ORDERS))
def test_an_order_by_fairshare_needs_settings_that_define_one(
    tmp_path: Path, usage: str, message: str, key: str
) -> None:
    (found,) = usage_refusal(tmp_path, usage, f'{CPUS}\n{key} = "fairshare"')
    assert found.startswith(f"clusters[0].pools[0].{key}: {message}")


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

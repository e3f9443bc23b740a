"""What a cluster's parts need of each other, and mistakes in them."""

from pathlib import Path

import pytest

from audit import config
from audit.errors import ConfigError
from tests.config.refusals import usage_refusal


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ('zone = "Mars"', "clusters[0].zone: time zone 'Mars'"),
        ('zone = "Europe/Berlin"\nname = ""', "clusters[0].name: String should have at least 1"),
        ("perod = 3", "clusters[0].perod: no such key; did you mean clusters[0].period?"),
        ('period = "year"', "clusters[0].period: Input should be 'day', 'week' or 'month'"),
        (
            '[[clusters.pools]]\nname = "a"\ncapacity = { cpu = 1 }',
            "did you mean clusters[0].pools[0].capacity.cpus?",
        ),
        (
            '[[clusters.pools]]\nname = "a"\npartitions = ["x"]\n'
            '[[clusters.pools]]\nname = "b"\npartitions = ["x"]',
            "partitions in two pools: x",
        ),
        (
            '[[clusters.pools]]\nname = "a"\n[[clusters.pools]]\nname = "b"',
            "only one pool may leave out its partitions",
        ),
        (
            '[[clusters.pools]]\nname = "a"\n'
            "steps = [{ since = 2026-02-01, cpus = 1 }, { since = 2026-01-01, cpus = 2 }]",
            "steps must be in the order of their days",
        ),
        ("[[clusters.sources]]", "a source has either files or a command"),
        ('[[clusters.sources]]\nfiles = "a"\ncommand = ["b"]', "either files or a command"),
        ("[[clusters.sources]]\ncommand = []", "at least a program"),
        (
            "[clusters.usage]\nhalf_life_days = 0.0",
            "clusters[0].usage.half_life_days: must be above 0: 0 does not switch decay off",
        ),
        (
            "[clusters.usage]\nhalf_life_days = -1.0",
            "clusters[0].usage.half_life_days: Input should be greater than or equal to 0",
        ),
        ("[clusters.usage]\ndecay = nan", "clusters[0].usage.decay"),
    ],
)
def test_mistakes_in_a_cluster_are_said_by_key_path(
    tmp_path: Path, cluster: str, said: str
) -> None:
    path = tmp_path / "my.toml"
    name = "" if "\nname" in cluster and "clusters." not in cluster else 'name = "c"\n'
    path.write_text(f"[[clusters]]\n{name}{cluster}\n")
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert said in str(caught.value)


POOL = """
[[clusters.pools]]
name = "all"
resource = "nodes"
capacity = { nodes = 4, gpus = 8 }
"""


@pytest.mark.parametrize(
    ("usage", "key", "said"),
    [
        ("", "pools[0].capacity", "usage.penalty 'cpu' needs the cpus"),
        ('penalty = "pe"', "pools[0].capacity", "usage.penalty 'pe' needs the cpus"),
        (
            'penalty = "root"\nexempt = ["gpus", "nodes"]',
            "usage.exempt",
            "all that pool 'all' has is exempt: leave something",
        ),
        (
            'penalty = "root"\nbasis = "node"\nexempt = ["gpus"]',
            "usage.exempt",
            "all that pool 'all' has is exempt: leave something",
        ),
    ],
)
def test_pools_must_have_what_is_charged(tmp_path: Path, usage: str, key: str, said: str) -> None:
    (found,) = usage_refusal(tmp_path, usage, POOL)
    assert found.startswith(f"  clusters[0].{key}: ")
    assert said in found


@pytest.mark.parametrize("key", ["order", "fair_order"])
@pytest.mark.parametrize(
    ("usage", "said"),
    [
        ('operator = "relative"', "needs shares for usage.operator 'relative'"),
        ('alignment = "calendar"', 'needs usage.alignment "trailing"'),
        (
            'operator = "classic"\nshares = [{ account = "a", share = 1 }]',
            'needs another usage.operator than "classic"',
        ),
        (
            'method = "slurm"\npenalty = "billing"\nbilling_weights = { cpus = 1.0 }\n'
            'half_life_days = 0\nreset = "yearly"',
            "needs a half-life: a reset alone orders nothing",
        ),
    ],
)
def test_a_queue_by_fairshare_needs_settings_that_order(
    tmp_path: Path, usage: str, said: str, key: str
) -> None:
    pool = f'[[clusters.pools]]\nname = "all"\ncapacity = {{ cpus = 4 }}\n{key} = "fairshare"'
    (found,) = usage_refusal(tmp_path, usage, pool)
    assert found.startswith(f"  clusters[0].pools[0].{key}: {said}")


def test_parts_of_nodes_need_their_number(tmp_path: Path) -> None:
    pool = '[[clusters.pools]]\nname = "all"\ncapacity = { cpus = 4 }'
    (found,) = usage_refusal(tmp_path, 'basis = "node"', pool)
    assert found == "  clusters[0].pools[0].capacity: usage.basis 'node' needs the number of nodes"

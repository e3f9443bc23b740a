"""config.toml: the shipped one is the defaults, and mistakes are all reported."""

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from audit import config, resources
from audit.errors import ConfigError


def keys(section: type[BaseModel], prefix: str = "") -> set[str]:
    """Every key below a section, by path, and its sections themselves."""
    found = set()
    for name, field in section.model_fields.items():
        path = f"{prefix}{name}"
        found.add(path)
        inner = [part for part in (field.annotation, *get_args(field.annotation)) if part]
        for kind in inner:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                found |= keys(kind, f"{path}.")
    return found


def test_the_shipped_file_shows_every_key_with_its_default() -> None:
    path = resources.path("config.toml")
    shipped = config.load(path)
    examples = {"clusters", "recipients", "thresholds"}
    assert shipped.model_dump(exclude=examples) == config.Config().model_dump(exclude=examples)
    (cluster,) = shipped.clusters
    assert cluster.usage == config.Usage()
    section, shown, commented = "", set(), False
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"\[+([\w.]+)\]+", line):
            section = match[1]
            shown.add(section)
        elif match := re.match(r"(?:# )?(\w+) = (.*)", line):
            key = f"{section}.{match[1]}"
            shown.add(key)
            assert commented, f"{key} has no comment"
            shown |= {f"{key}.{name}" for name in re.findall(r"(\w+) = ", match[2])}
            continue
        commented = line.startswith("#") or (commented and bool(line))
    by_resource = ("clusters.pools.capacity", "clusters.pools.steps", "clusters.usage.weights")
    told_together = {
        f"{name}.{key}"
        for name in (*by_resource, "clusters.usage.billing_weights")
        for key in ("nodes", "gpus", "mem_bytes", "cpus")
    } | {f"clusters.usage.shares.{name}" for name in config.Share.model_fields}
    assert keys(config.Config) - shown <= told_together  # named together in a comment
    assert shown <= keys(config.Config)


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


def test_two_clusters_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[[clusters]]\nname = "c"\n[[clusters]]\nname = "c"\n')
    with pytest.raises(ConfigError, match="clusters: two clusters have the same name"):
        config.load(path)


POOL = """
[[clusters.pools]]
name = "all"
resource = "nodes"
capacity = { nodes = 4, gpus = 8 }
"""


def usage_refusal(tmp_path: Path, keys: str, pools: str = "") -> list[str]:
    """What is said of these keys of [clusters.usage], below the line that counts them."""
    path = tmp_path / "my.toml"
    path.write_text(f'[[clusters]]\nname = "c"\n[clusters.usage]\n{keys}\n{pools}')
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert caught.value.exit_code == 2
    return str(caught.value).splitlines()[1:]


BILLING = 'penalty = "billing"\nbilling_weights = { cpus = 1 }\n'


@pytest.mark.parametrize(
    ("usage", "key", "said"),
    [
        (
            'method = "slurm"\nhalf_life_days = 0.0\n' + BILLING,
            "half_life_days",
            "usage is never reset",
        ),
        ('reset = "daily"', "reset", "is of method 'slurm', not of 'windows'"),
        ('method = "slurm"', "penalty", "method 'slurm' charges what Slurm bills"),
        ('penalty = "dominant"', "penalty", "Input should be 'cpu', 'max'"),
        (
            'penalty = "root_weighted"\nweights = { gpus = 0 }',
            "weights.gpus",
            "Input should be greater than 0",
        ),
        (
            'penalty = "root_weighted"\nweights = { gpus = -1.5 }',
            "weights.gpus",
            "Input should be greater than 0",
        ),
        (
            'penalty = "root_weighted"\nweights = { gpu = 1 }',
            "weights.gpu",
            "no such key; did you mean clusters[0].usage.weights.gpus?",
        ),
        ("weights = { gpus = 1 }", "weights", "penalty 'cpu' has no weights"),
        ('penalty = "max"\nexempt = ["gpus"]', "exempt", "penalty 'max' knows no exempt resources"),
        (
            'penalty = "root"\nexempt = ["gpus", "cpus", "nodes", "mem_bytes"]',
            "exempt",
            "every resource is exempt: leave one",
        ),
        ('penalty = "billing"', "billing_weights", "penalty 'billing' needs weights"),
        (
            'penalty = "billing"\nbilling_weights = { cpus = 0, gpus = 0.0 }',
            "billing_weights",
            "none is above 0",
        ),
        (
            'penalty = "billing"\nbilling_weights = { cpus = -1 }',
            "billing_weights.cpus",
            "Input should be greater than or equal to 0",
        ),
        ("billing_weights = { cpus = 1 }", "billing_weights", "penalty 'cpu' does not read them"),
        (BILLING + 'basis = "node"', "basis", "knows no basis"),
        ('basis = "node"', "basis", "'node' needs pools with a number of nodes"),
        ("max_tres = true", "max_tres", "is of penalty 'billing', not of 'cpu'"),
        ("users = { anna = 0.5, ben = 0.4 }", "users", "must sum to 1, not 0.9"),
        ("accounts = { physics = 60, maths = 40 }", "accounts", "must sum to 1, not 100"),
        ("accounts = { physics = 1.5, maths = -0.5 }", "accounts", "parts of everything, 0 to 1"),
        (
            'users = { anna = 1 }\nassociations = "assoc.txt"',
            "users",
            "targets are given twice",
        ),
        (
            'associations = "a"\nshares = [{ account = "a", share = 1 }]',
            "associations",
            "the tree is given twice",
        ),
        ('operator = "fair_tree"', "operator", "'fair_tree' needs a share tree"),
        ('operator = "classic"\nusers = { a = 1 }', "operator", "'classic' needs a share tree"),
        ("recalculation_s = 0", "recalculation_s", "greater than or equal to 1"),
        (
            'shares = [{ account = "physics", share = 1 }, { account = "physic", user = "anna", '
            "share = 1 }]",
            "shares[1].account",
            "no such account among the shares; did you mean 'physics'?",
        ),
        (
            'shares = [{ account = "physics", parent = "science", share = 1 }]',
            "shares[0].parent",
            "no such account among the shares; each has an entry without user",
        ),
        (
            'shares = [{ account = "a", parent = "b", share = 1 }, '
            '{ account = "b", parent = "a", share = 1 }]',
            "shares[0].parent",
            "goes round in a circle: 'a' below 'b' below 'a'",
        ),
        (
            'shares = [{ account = "a", parent = "a", share = 1 }]',
            "shares[0].parent",
            "goes round in a circle: 'a' below 'a'",
        ),
        (
            'shares = [{ account = "a", share = 1 }, { account = "a", share = 2 }]',
            "shares[1]",
            "account 'a' is given 2 times",
        ),
        (
            'shares = [{ account = "a", share = 0 }, { account = "b", share = 0 }]',
            "shares",
            "no account has a share above 0",
        ),
        (
            'shares = [{ account = "a", share = 1 }, { account = "a", user = "u", share = 0 }]',
            "shares",
            "nothing below account 'a' has a share above 0",
        ),
        ('shares = [{ account = "a", share = -1 }]', "shares[0].share", "must be a number from 0"),
        ('shares = [{ account = "a", share = "all" }]', "shares[0].share", "must be a number"),
        ('shares = [{ account = "a", share = true }]', "shares[0].share", "must be a number"),
        ('shares = [{ account = "a", share = inf }]', "shares[0].share", "must be a number"),
        ('shares = [{ account = "a", share = "parent" }]', "shares[0].share", "only a user"),
        (
            'shares = [{ account = "a", share = 1, partition = "gpu" }]',
            "shares[0].partition",
            "only users have shares by partition",
        ),
        (
            'shares = [{ account = "a", share = 1 }, '
            '{ account = "a", user = "u", parent = "a", share = 1 }]',
            "shares[1].parent",
            "a user is below its account",
        ),
        ('shares = [{ account = "a" }]', "shares[0].share", "is missing"),
        (
            'shares = [{ account = "root", share = 1 }]',
            "shares[0].account",
            "stands for everything",
        ),
        ('shares = [{ acount = "a", share = 1 }]', "shares[0].acount", "did you mean"),
        ('associations = ""', "associations", "at least 1 character"),
    ],
)
def test_settings_that_switch_fairness_off_are_refused_by_key_path(
    tmp_path: Path, usage: str, key: str, said: str
) -> None:
    lines = usage_refusal(tmp_path, usage)
    (found,) = [line for line in lines if line.startswith(f"  clusters[0].usage.{key}: ")]
    assert said in found


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


def test_a_queue_and_what_is_fair_go_by_one_kind_of_owner(tmp_path: Path) -> None:
    pool = '[[clusters.pools]]\nname = "all"\norder = "nuwt"\nfair_order = "fairshare"'
    (found,) = usage_refusal(tmp_path, "", pool)
    assert 'order = "nuwt" with fair_order = "fairshare"' in found


def test_parts_of_nodes_need_their_number(tmp_path: Path) -> None:
    pool = '[[clusters.pools]]\nname = "all"\ncapacity = { cpus = 4 }'
    (found,) = usage_refusal(tmp_path, 'basis = "node"', pool)
    assert found == "  clusters[0].pools[0].capacity: usage.basis 'node' needs the number of nodes"


def test_mistakes_in_usage_are_said_all_at_once(tmp_path: Path) -> None:
    lines = usage_refusal(
        tmp_path,
        """
        penalty = "root"
        operator = "fair_tree"
        half_life_days = -1
        half_live = 3
        exempt = ["gpu"]
        weights = { cpus = 0 }
        reset = "weekly"
        users = { anna = 0.9 }
        accounts = { "{physics}" = 2 }
        """,
    )
    found = {line.split(": ")[0].removeprefix("  clusters[0].usage.") for line in lines}
    assert found == {
        *("operator", "half_life_days", "half_live", "exempt[0]", "weights.cpus", "reset"),
        *("users", "accounts"),
    }


def test_what_is_wrong_by_itself_is_not_judged_with_other_keys(tmp_path: Path) -> None:
    # Without its mistake, penalty might be one that has weights.
    (line,) = usage_refusal(tmp_path, 'penalty = "rooot"\nweights = { cpus = 2 }')
    assert line.startswith("  clusters[0].usage.penalty: ")


@pytest.mark.parametrize(
    "usage",
    [
        "users = { a = 0.333, b = 0.333, c = 0.334 }",
        "accounts = { a = 0.1, b = 0.2, c = 0.7 }\nusers = { a = 1 }",
        'method = "slurm"\nhalf_life_days = 0\nreset = "weekly"\n' + BILLING,
        'method = "slurm"\nhalf_life_days = 0\nslurm_conf = "slurm.conf"\n' + BILLING,
        'penalty = "billing"\npartitions = "partitions.txt"',
        'penalty = "root_weighted"\nweights = { gpus = 3 }\nexempt = ["gpus"]',
        'operator = "fair_tree"\nassociations = "assoc.txt"',
        'shares = [{ account = "a", share = 1 }, { account = "b", parent = "a", share = 0 }, '
        '{ account = "a", user = "u", share = "parent" }, '
        '{ account = "b", user = "u", share = 2.5, partition = "gpu" }, '
        '{ account = "b", user = "u", share = 2 }]',
    ],
)
def test_settings_that_go_together(tmp_path: Path, usage: str) -> None:
    path = tmp_path / "my.toml"
    path.write_text(f'[[clusters]]\nname = "c"\n[clusters.usage]\n{usage}\n')
    (cluster,) = config.load(path).clusters
    assert cluster.usage != config.Usage()

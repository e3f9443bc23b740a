"""Usage: settings that say nothing, or do not go together, are refused by key path."""

from pathlib import Path

import pytest

from audit import config
from tests.config.refusals import usage_refusal

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

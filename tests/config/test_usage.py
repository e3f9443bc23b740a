"""Usage: settings that have no effect, or conflict, are refused by key path."""

from pathlib import Path

import pytest

from audit import config
from tests.config.refusals import cases, usage_refusal

BILLING = 'penalty = "billing" ; billing_weights = { cpus = 1 }'
A = '{ account = "a", share = 1 }'
REFUSED = f"""
method = "slurm" ; half_life_days = 0.0 ; {BILLING} => half_life_days: is 0 and usage is never reset
reset = "daily" => reset: needs method 'slurm', not 'windows'
method = "slurm" => penalty: method 'slurm' charges what Slurm bills
penalty = "dominant" => penalty: Input should be 'cpu', 'max'
penalty = "root_weighted" ; weights = {{ gpus = 0 }} => weights.gpus: Input should be greater than 0
penalty = "root_weighted" ; weights = {{ gpus = -1.5 }} => weights.gpus: Input should be greater
weights = {{ gpu = 1 }} => weights.gpu: no such key; did you mean clusters[0].usage.weights.gpus?
weights = {{ gpus = 1 }} => weights: penalty 'cpu' does not use weights
penalty = "max" ; exempt = ["gpus"] => exempt: penalty 'max' has no exempt resources
penalty = "root" ; exempt = ["gpus", "cpus", "nodes", "mem_bytes"] => exempt: every resource is exempt
penalty = "billing" => billing_weights: penalty 'billing' needs weights
penalty = "billing" ; billing_weights = {{ cpus = 0, gpus = 0.0 }} => billing_weights: no weight is above 0
penalty = "billing" ; billing_weights = {{ cpus = -1 }} => billing_weights.cpus: Input should be greater than or
billing_weights = {{ cpus = 1 }} => billing_weights: penalty 'cpu' does not use them
{BILLING} ; basis = "node" => basis: penalty 'billing' has no basis
basis = "node" => basis: 'node' needs pools with a number of nodes
max_tres = true => max_tres: needs penalty 'billing', not 'cpu'
users = {{ anna = 0.5, ben = 0.4 }} => users: targets are parts of the whole, 0 to 1, and must sum to 1, not 0.9
accounts = {{ physics = 60, maths = 40 }} => accounts: targets are parts of the whole, 0 to 1, and must sum
accounts = {{ physics = 1.5, maths = -0.5 }} => accounts: targets are parts of the whole, 0 to 1
users = {{ anna = 1 }} ; associations = "assoc.txt" => users: targets are set twice
associations = "a" ; shares = [{A}] => associations: the tree is set twice
operator = "fair_tree" => operator: 'fair_tree' needs a share tree
operator = "classic" ; users = {{ a = 1 }} => operator: 'classic' needs a share tree
recalculation_s = 0 => recalculation_s: Input should be greater than or equal to 1
shares = [{A}, {{ account = "aa", user = "anna", share = 1 }}] => shares[1].account: no such account among the shares; did you mean 'a'?
shares = [{{ account = "x", parent = "science", share = 1 }}] => shares[0].parent: no such account among the shares; each needs
shares = [{{ account = "a", parent = "b", share = 1 }}, {{ account = "b", parent = "a", share = 1 }}] => shares[0].parent: is circular: 'a' below 'b' below 'a'
shares = [{{ account = "a", parent = "a", share = 1 }}] => shares[0].parent: is circular: 'a' below 'a'
shares = [{A}, {{ account = "a", share = 2 }}] => shares[1]: account 'a' occurs 2 times
shares = [{{ account = "a", share = 0 }}, {{ account = "b", share = 0 }}] => shares: no account has a share above 0
shares = [{A}, {{ account = "a", user = "u", share = 0 }}] => shares: nothing below account 'a' has a share above 0
shares = [{{ account = "a", share = -1 }}] => shares[0].share: must be a number of at least 0
shares = [{{ account = "a", share = "all" }}] => shares[0].share: must be a number
shares = [{{ account = "a", share = true }}] => shares[0].share: must be a number
shares = [{{ account = "a", share = inf }}] => shares[0].share: must be a number
shares = [{{ account = "a", share = "parent" }}] => shares[0].share: only users can have the share "parent"
shares = [{{ account = "a", share = 1, partition = "gpu" }}] => shares[0].partition: only users have shares by partition
shares = [{A}, {{ account = "a", user = "u", parent = "a", share = 1 }}] => shares[1].parent: a user has no parent
shares = [{{ account = "a" }}] => shares[0].share: is missing
shares = [{{ account = "root", share = 1 }}] => shares[0].account: is the whole tree
shares = [{{ acount = "a", share = 1 }}] => shares[0].acount: no such key; did you mean
associations = "" => associations: String should have at least 1 character
"""  # noqa: E501
ACCEPTED = f"""
users = {{ a = 0.333, b = 0.333, c = 0.334 }}
accounts = {{ a = 0.1, b = 0.2, c = 0.7 }} ; users = {{ a = 1 }}
method = "slurm" ; half_life_days = 0 ; reset = "weekly" ; {BILLING}
method = "slurm" ; half_life_days = 0 ; slurm_conf = "slurm.conf" ; {BILLING}
penalty = "billing" ; partitions = "partitions.txt"
penalty = "root_weighted" ; weights = {{ gpus = 3 }} ; exempt = ["gpus"]
operator = "fair_tree" ; associations = "assoc.txt"
shares = [{A}, {{ account = "a", user = "u", share = "parent" }}, {{ account = "b", parent = "a", share = 0 }}, {{ account = "b", user = "u", share = 2.5, partition = "gpu" }}, {{ account = "b", user = "u", share = 2 }}]
"""  # noqa: E501


@pytest.mark.parametrize(("keys", "message"), cases(REFUSED))
def test_wrong_settings_are_refused_by_key_path(tmp_path: Path, keys: str, message: str) -> None:
    found = usage_refusal(tmp_path, keys)
    assert sum(line.startswith(f"clusters[0].usage.{message}") for line in found) == 1, found


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
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
    assert {line.split(": ")[0].removeprefix("clusters[0].usage.") for line in lines} == {
        *("operator", "half_life_days", "half_live", "exempt[0]", "weights.cpus", "reset"),
        *("users", "accounts"),
    }


def test_a_wrong_key_is_not_compared_with_others(tmp_path: Path) -> None:
    # Corrected, the penalty might be one with weights.
    (line,) = usage_refusal(tmp_path, 'penalty = "rooot"\nweights = { cpus = 2 }')
    assert line.startswith("clusters[0].usage.penalty: ")


@pytest.mark.parametrize("keys", ACCEPTED.strip().splitlines())
def test_consistent_settings_are_accepted(tmp_path: Path, keys: str) -> None:
    path = tmp_path / "my.toml"
    lines = keys.replace(" ; ", "\n")
    path.write_text(f'[[clusters]]\nname = "c"\n[clusters.usage]\n{lines}\n')
    (cluster,) = config.load(path).clusters
    assert cluster.usage != config.UsageConfig()

"""[compute]: conflicts are refused by key, with a remedy."""

from pathlib import Path

import pytest

from audit import config
from tests.config.refusals import cases, refusals

SLURM = "slurm = { jobs = 2, cores = 4 } ; folder = '/shared'"
TLS = "tls = { ca_file = '/a', cert = '/b', key = '/c' }"
DASK = "engine = 'dask'"


@pytest.mark.parametrize(
    "keys",
    [
        "",
        f"{DASK} ; workers = 2",
        f"{DASK} ; {SLURM}",
        f"{DASK} ; folder = '/s' ; scheduler = 'tcp://head.example.org:8786'",
        f"{DASK} ; folder = '/s' ; scheduler = 'tls://10.0.0.1:8786' ; {TLS}",
        f"engine = 'local' ; workers = 2 ; {SLURM}",  # unused settings are allowed
    ],
)
def test_consistent_settings_are_accepted(tmp_path: Path, keys: str) -> None:
    path = tmp_path / "my.toml"
    lines = keys.replace(" ; ", "\n")
    path.write_text(f"[compute]\n{lines}")
    assert config.load(path).compute.engine in keys + "local"


REFUSED = rf"""
engine = 'ray' => engine: Input should be 'local' or 'dask'
{DASK} => engine: dask needs one of compute.workers (processes on this machine), compute.scheduler (an address) or compute.slurm (jobs of this site); it has none
{DASK} ; workers = 2 ; {SLURM} => engine: dask needs one of compute.workers (processes on this machine), compute.scheduler (an address) or compute.slurm (jobs of this site); it has workers and slurm
{DASK} ; slurm = {{}} => folder: is missing: name a folder that
{DASK} ; folder = '/s' ; scheduler = 'tls://h:1' => tls: is missing: a tls:// scheduler needs
scheduler = 'tcp://h:1' ; {TLS} => scheduler: is not encrypted, but
scheduler = 'head:8786' => scheduler: must be an address such as "tls://head.example.org:8786"
scheduler = 'ucx://head:8786' => scheduler: must be an address such as "tls://head.example.org:8786"; tls is encrypted, tcp is not
scheduler = 'tcp://head' => scheduler: must be an address
scheduler = 'tcp://h:1/x' => scheduler: must be an address
folder = 'shared' => folder: must be an absolute path
workers = 0 => workers: Input should be greater than or equal to 1
slurm = {{ partition = "a\n#SBATCH x" }} => slurm.partition: must be a name
slurm = {{ account = "a b" }} => slurm.account: must be a name
slurm = {{ account = "-a" }} => slurm.account: must be a name
slurm = {{ directives = ["qos"] }} => slurm.directives[0]: must be an option of sbatch
slurm = {{ directives = ["--qos=a\nrm -r x"] }} => slurm.directives[0]: must be one line of text
slurm = {{ prologue = ["a\nb"] }} => slurm.prologue[0]: must be one line
slurm = {{ walltime = "soon" }} => slurm.walltime: must be hours, minutes and seconds, such as "02:00:00"
slurm = {{ memory = "4" }} => slurm.memory: must be an amount with its unit
tls = {{ cert = "/b", key = "/c" }} => tls.ca_file: is missing
worker = 2 => worker: no such key; did you mean compute.workers?
"""  # noqa: E501


@pytest.mark.parametrize(("keys", "message"), cases(REFUSED))
def test_faults_are_reported_by_key(tmp_path: Path, keys: str, message: str) -> None:
    found = refusals(tmp_path, f"[compute]\n{keys}")
    assert found[0].startswith(f"compute.{message}")

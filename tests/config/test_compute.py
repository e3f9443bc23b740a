"""[compute]: what does not go together is refused by key, with what to do."""

from pathlib import Path

import pytest

from audit import config
from audit.errors import ConfigError

SLURM = "slurm = { jobs = 2, cores = 4 }\nfolder = '/shared'\n"
TLS = "tls = { ca_file = '/a', cert = '/b', key = '/c' }\n"


def read(tmp_path: Path, keys: str) -> config.Compute:
    path = tmp_path / "my.toml"
    path.write_text(f"[compute]\n{keys}")
    return config.load(path).compute


@pytest.mark.parametrize(
    "keys",
    [
        "",
        "engine = 'dask'\nworkers = 2\n",
        "engine = 'dask'\n" + SLURM,
        "engine = 'dask'\nfolder = '/s'\nscheduler = 'tcp://head.example.org:8786'\n",
        "engine = 'dask'\nfolder = '/s'\nscheduler = 'tls://10.0.0.1:8786'\n" + TLS,
        "engine = 'local'\nworkers = 2\n" + SLURM,  # what is switched off may stay
    ],
)
def test_what_goes_together(tmp_path: Path, keys: str) -> None:
    assert read(tmp_path, keys).engine in keys + "local"


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ("engine = 'ray'\n", "compute.engine", "'local' or 'dask'"),
        ("engine = 'dask'\n", "compute.engine", "needs one of compute.workers .*; it has none"),
        (
            "engine = 'dask'\nworkers = 2\n" + SLURM,
            "compute.engine",
            "needs one of .*; it has workers and slurm",
        ),
        ("engine = 'dask'\nslurm = {}\n", "compute.folder", "is missing: name a folder that"),
        (
            "engine = 'dask'\nfolder = '/s'\nscheduler = 'tls://h:1'\n",
            "compute.tls",
            "is missing: a tls:// scheduler needs",
        ),
        ("scheduler = 'tcp://h:1'\n" + TLS, "compute.scheduler", "is not encrypted, but"),
        ("scheduler = 'head:8786'\n", "compute.scheduler", 'such as "tls://head.example.org:8786"'),
        ("scheduler = 'ucx://head:8786'\n", "compute.scheduler", "tls is encrypted, tcp is not"),
        ("scheduler = 'tcp://head'\n", "compute.scheduler", "must be an address"),
        ("scheduler = 'tcp://h:1/x'\n", "compute.scheduler", "must be an address"),
        ("folder = 'shared'\n", "compute.folder", "must be a whole path, from / on"),
        ("workers = 0\n", "compute.workers", "greater than or equal to 1"),
        ("slurm = { partition = 'a\\n#SBATCH x' }\n", "compute.slurm.partition", "must be a name"),
        ('slurm = { account = "a b" }\n', "compute.slurm.account", "must be a name"),
        ('slurm = { directives = ["qos"] }\n', "compute.slurm.directives", "an option of sbatch"),
        (
            'slurm = { directives = ["--qos=a\\nrm -r x"] }\n',
            "compute.slurm.directives",
            "must be one line of text",
        ),
        ('slurm = { prologue = ["a\\nb"] }\n', "compute.slurm.prologue", "must be one line"),
        ('slurm = { walltime = "soon" }\n', "compute.slurm.walltime", "such as .02:00:00."),
        ('slurm = { memory = "4" }\n', "compute.slurm.memory", "an amount with its unit"),
        ('tls = { cert = "/b", key = "/c" }\n', "compute.tls.ca_file", "is missing"),
        ("worker = 2\n", "compute.worker", r"no such key; did you mean compute\.workers\?"),
    ],
)
def test_what_is_wrong_is_told_by_key(tmp_path: Path, keys: str, key: str, said: str) -> None:
    keys = keys.replace("'a\\n#SBATCH x'", '"a\\n#SBATCH x"')
    with pytest.raises(ConfigError, match=said) as caught:
        read(tmp_path, keys)
    assert str(caught.value).splitlines()[1].strip().startswith(key)

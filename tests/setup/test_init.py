"""A first config.toml: what is inferred and from what, and that it reads back the same."""

from pathlib import Path
from typing import Any

import pytest

from audit import config
from audit.cluster.inference import Fact
from audit.errors import UsageError
from audit.formats.dialects import Reading
from audit.nightly import sources
from audit.setup import doctor
from audit.setup import init as initial
from audit.setup.init import Draft, infer
from audit.setup.slurm import SlurmFiles
from tests.logs import busy, line, log, write

GIB = 1 << 30
COLUMNS = ("JobID", "Cluster", "User", "Partition", "State", "Submit", "Start", "End", "NCPUS")
PARTITIONS = """\
PartitionName=batch Nodes=n[1-4] TotalCPUs=64 TotalNodes=4 TRES=cpu=64,mem=250G,node=4,gres/gpu=16
PartitionName=short Nodes=n[1-4] TotalCPUs=64 TotalNodes=4 TRES=cpu=64,mem=250G,node=4,gres/gpu=16
PartitionName=fat Nodes=f1 TotalCPUs=128 TotalNodes=1 TRES=cpu=128,mem=1T,node=1
PartitionName=cloud Nodes=(null) TotalCPUs=0 TotalNodes=0
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def job(number: int, partition: str = "batch", cluster: str = "lab", separator: str = "|") -> str:
    """A row of sacct with ``COLUMNS``."""
    times = (f"2026-03-01T0{hour}:00:00" for hour in range(3))
    return separator.join([str(number), cluster, "ann", partition, "COMPLETED", *times, "4"])


def sacct(*rows: str, header: bool = True) -> str:
    return "".join(f"{row}\n" for row in (["|".join(COLUMNS)] if header else []) + [*rows])


def put(name: str, text: str) -> Path:
    return write(Path(name), text)


def from_partitions(text: str, name: str | None = "lab") -> Draft:
    return infer([], SlurmFiles(put("parts.txt", text)), name=name)


def fact(draft: Draft, what: str) -> Fact:
    (found,) = (one for one in draft.facts if one.what == what)
    return found


def loaded(draft: Draft) -> config.Cluster:
    """The cluster in the written file, whose other sections have their defaults."""
    path = Path("written.toml")
    path.write_text(initial.write(draft), encoding="utf-8")
    found = config.load(path)
    assert found.model_copy(update={"clusters": ()}) == config.Config()
    (cluster,) = found.clusters
    assert cluster == draft.cluster
    return cluster


def test_an_swf_log() -> None:
    draft = infer([put("mine.swf", busy(Computer="IBM SP2"))])
    cluster = loaded(draft)
    assert (cluster.name, cluster.zone) == ("IBM SP2", "Europe/Berlin")
    assert cluster.pools == (config.Pool(name="all", capacity=config.Amounts(cpus=4)),)
    assert cluster.sources == (config.Source(files="mine.swf"),)
    assert fact(draft, "cluster").source == "the log's header"
    assert fact(draft, "capacity of pool 'all'").value == "4 cpus"
    assert not any(one.warning for one in draft.facts)
    assert "# From the log's header.\ncapacity = { cpus = 4 }\n" in initial.write(draft)


def test_missing_values_are_left_out() -> None:
    draft = infer([put("mine.swf", log([line(1), line(2)]))])
    assert draft.name is None
    with pytest.raises(UsageError, match="--name"):
        initial.write(draft)
    draft = draft.named("mine")
    cluster = loaded(draft)
    assert (cluster.zone, cluster.pools) == ("UTC", (config.Pool(name="all"),))
    note = "Left out, since it is not in the log's header: each run uses the peak"
    assert note in initial.write(draft)


def test_a_header_that_the_log_contradicts_is_left_out() -> None:
    draft = infer([put("mine.swf", busy(MaxProcs=2))], name="mine")
    assert loaded(draft).pools == (config.Pool(name="all"),)
    warning = str(fact(draft, "capacity of pool 'all'").warning)
    assert "the log contradicts its header's 2 cpus" in warning


def test_a_log_of_sacct() -> None:
    draft = infer([put("a.psv", sacct(job(1), job(2, "short,fat")))])
    cluster = loaded(draft)
    assert (cluster.name, cluster.zone) == ("lab", "UTC")
    assert cluster.sources == (config.Source(files="a.psv"),)
    assert fact(draft, "partitions").value == "batch, fat, short"
    assert '# Seen in the log: ["batch", "fat", "short"]\npartitions = []' in initial.write(draft)
    assert "--zone" in str(fact(draft, "time zone").warning)
    draft = infer([Path("a.psv")], zone="Europe/Berlin")
    assert (fact(draft, "time zone").warning, loaded(draft).zone) == (None, "Europe/Berlin")


def test_partitions_that_share_nodes_form_a_pool() -> None:
    log_path = put("a.psv", sacct(job(1), job(2, "old")))
    draft = infer([log_path], SlurmFiles(put("parts.txt", PARTITIONS)), name="lab")
    batch = config.Amounts(cpus=64, nodes=4, gpus=16, mem_bytes=250 * GIB)
    fat = config.Amounts(cpus=128, nodes=1, mem_bytes=1024 * GIB)
    assert loaded(draft).pools == (
        config.Pool(name="batch", partitions=("batch", "short"), capacity=batch),
        config.Pool(name="fat", partitions=("fat",), capacity=fat),
    )
    assert fact(draft, "partitions without nodes").value == "cloud"
    assert fact(draft, "partitions in no pool").value == "old"
    assert fact(draft, "pool 'fat'").source == "scontrol (parts.txt)"
    assert initial.write(draft).count("[[clusters.pools]]\n") == 2


@pytest.mark.parametrize(
    ("lines", "names"),
    [("0", "batch"), ("01", "all"), ("02", "batch fat"), ("012", "batch fat"), ("3", "all")],
)
def test_names_of_pools(lines: str, names: str) -> None:
    text = "\n".join(PARTITIONS.splitlines()[int(index)] for index in lines)
    assert [pool.name for pool in loaded(from_partitions(text)).pools] == names.split()


def test_a_pool_of_several_is_named_after_its_largest_partition() -> None:
    text = (
        "PartitionName=x Nodes=n1 TRES=cpu=1\nPartitionName=y Nodes=n[1-2] TRES=cpu=2\n"
        "PartitionName=z Nodes=m1 TRES=cpu=2\n"
    )
    assert [pool.name for pool in from_partitions(text).pools] == ["y", "z"]


def test_without_any_log_the_source_is_left_to_fill_in() -> None:
    draft = infer([], name="lab")
    cluster = loaded(draft)
    assert (cluster.sources, cluster.pools) == ((), (config.Pool(name="all"),))
    text = initial.write(draft)
    assert "# [[clusters.sources]]\n" in text
    assert "# To fill in" in text


def test_columns_are_written_only_if_they_had_to_be_declared() -> None:
    bare = put("bare.psv", sacct(*map(job, range(1, 9)), header=False))
    with pytest.raises(Exception, match="--columns"):
        infer([bare])
    draft = infer([bare], reading=Reading(columns=COLUMNS))
    source = config.Source(files="bare.psv", dialect="sacct", columns=COLUMNS)
    assert loaded(draft).sources == (source,)
    whole = put("whole.psv", sacct(job(1)))
    draft = infer([whole], reading=Reading(columns=COLUMNS, separator="|"))
    assert loaded(draft).sources == (config.Source(files="whole.psv"),)


def test_a_separator_is_written_if_it_had_to_be_declared() -> None:
    rows = [job(number, separator="é") for number in range(1, 9)]
    odd = put("odd.txt", sacct(*rows, header=False))
    draft = infer([odd], reading=Reading(columns=COLUMNS, separator="é"))
    (source,) = loaded(draft).sources
    again = infer([odd], reading=Reading(columns=source.columns, separator=source.separator))
    assert again.sources == (source,)
    assert source.columns == COLUMNS


def test_several_logs_and_folders(tmp_path: Path) -> None:
    (tmp_path / "in [1]").mkdir()
    put("in [1]/a.psv", sacct(job(1)))
    put("in [1]/b.psv", sacct(job(2)))
    put("c?.psv", sacct(job(3, "fat")))
    draft = infer([Path("in [1]"), Path("c?.psv")])
    assert fact(draft, "partitions").value == "batch, fat"
    found = [sources.files(source, tmp_path) for source in loaded(draft).sources]
    assert [[path.name for path in paths] for paths in found] == [["a.psv", "b.psv"], ["c?.psv"]]


def test_paths_are_relative_to_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    path = put("a.psv", sacct(job(1)))
    whole = tmp_path / "a.psv"
    assert infer([path], folder=Path("etc")).sources[0].files == "../a.psv"
    assert infer([whole], folder=Path("etc")).sources[0].files == str(whole)
    (source,) = infer([path], folder=tmp_path / "etc").sources
    assert sources.files(source, tmp_path / "etc") == [tmp_path / "etc" / "../a.psv"]


def test_the_partitions_may_name_the_cluster() -> None:
    text = "ClusterName = lab\n" + PARTITIONS
    assert from_partitions(text, name=None).name == "lab"
    assert from_partitions(text, name="mine").name == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "--name"),
        ({"zone": "Mars"}, "time zone 'Mars'"),
        ({"files": SlurmFiles(Path("none.txt"))}, r"none.txt: no such file \(--partitions\)"),
        ({"files": SlurmFiles(Path("a.psv"))}, "a.psv: no list of partitions"),
        ({"files": SlurmFiles(Path())}, "cannot be read"),
        ({"logs": [Path("none.psv")]}, "none.psv: no such file"),
        ({"logs": [Path("empty")]}, "empty: no file in this folder"),
        ({"logs": [Path("two.psv")]}, r"several clusters \(lab, sea\): choose one \(--name\)"),
        ({"logs": [Path("a.psv"), Path("b.psv")]}, r"several clusters \(lab, sea\): choose"),
        ({"logs": [Path("a.psv")], "name": "other"}, "--name 'other': the logs have no record"),
        ({"logs": [Path("a\udcff.psv")], "name": "lab"}, r"a\\udcff.*: not UTF-8"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    put("a.psv", sacct(job(1)))
    put("b.psv", sacct(job(2, cluster="sea")))
    put("two.psv", sacct(job(1), job(2, cluster="sea")))
    Path("empty").mkdir()
    with pytest.raises(UsageError, match=message):
        infer(**{"logs": [], **arguments})


def test_a_name_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a\\udcff.*: not UTF-8"):
        initial.write(infer([], name="a\udcff"))


def test_the_name_selects_one_of_several_clusters() -> None:
    path = put("two.psv", sacct(job(1), job(2, "ocean", "sea")))
    assert fact(infer([path], name="sea"), "partitions").value == "ocean"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = Path("config.toml")
    initial.save(path, "one")
    with pytest.raises(UsageError, match=r"config.toml: exists already; --force"):
        initial.save(path, "two")
    assert path.read_text() == "one"
    initial.save(path, "two", force=True)
    assert path.read_text() == "two"
    Path("dangling").symlink_to("nowhere")
    for refused in (Path("dangling"), tmp_path, Path("no/config.toml")):
        with pytest.raises(UsageError):
            initial.refuse_existing(refused)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "dangling"]


def test_doctor_accepts_the_written_file() -> None:
    draft = infer([put("mine.swf", busy())], SlurmFiles(put("parts.txt", PARTITIONS)), name="lab")
    path = Path("config.toml")
    initial.save(path, initial.write(draft))
    (found,) = (one for one in doctor.examine(path, None) if one.what == "configuration")
    assert found.ok, found.found


def test_hostile_partitions_read_back_the_same() -> None:
    names = ['a"b', "x'''", "\\n", "#", "[[clusters]]", "é\u202e\x1b[31m"]
    text = "".join(
        f"PartitionName={name} Nodes=n{index} TRES=cpu=4\n" for index, name in enumerate(names)
    )
    pools = loaded(from_partitions(text, 'lab"\n[x]')).pools
    assert [pool.partitions for pool in pools] == [(name,) for name in names]

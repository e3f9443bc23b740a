"""A first config.toml: what is inferred and from what, and that it reads as what was meant."""

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
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)


def job(number: int, partition: str = "batch", cluster: str = "lab", separator: str = "|") -> str:
    """A row of sacct, of ``COLUMNS``."""
    times = (f"2026-03-01T0{hour}:00:00" for hour in range(3))
    return separator.join([str(number), cluster, "ann", partition, "COMPLETED", *times, "4"])


def sacct(*rows: str, header: bool = True) -> str:
    return "".join(f"{row}\n" for row in (["|".join(COLUMNS)] if header else []) + [*rows])


def put(name: str, text: str) -> Path:
    return write(Path(name), text)


def said(draft: Draft, what: str) -> Fact:
    (fact,) = (fact for fact in draft.facts if fact.what == what)
    return fact


def loaded(draft: Draft) -> config.Cluster:
    """What the written file is read as; all but its cluster is the defaults."""
    path = Path("written.toml")
    path.write_text(initial.write(draft), encoding="utf-8")
    found = config.load(path)
    assert found.model_dump(exclude={"clusters"}) == config.Config().model_dump(
        exclude={"clusters"}
    )
    (cluster,) = found.clusters
    assert cluster == draft.cluster
    return cluster


def test_what_an_swf_log_says() -> None:
    draft = infer([put("mine.swf", busy(Computer="IBM SP2"))])
    cluster = loaded(draft)
    assert (cluster.name, cluster.zone) == ("IBM SP2", "Europe/Berlin")
    assert cluster.pools == (config.Pool(name="all", capacity=config.Amounts(cpus=4)),)
    assert cluster.sources == (config.Source(files="mine.swf"),)
    assert said(draft, "cluster").source == "the log's header"
    assert said(draft, "capacity of pool 'all'").value == "4 cpus"
    assert [fact.warning for fact in draft.facts if fact.warning] == []
    assert "# From the log's header.\ncapacity = { cpus = 4 }\n" in initial.write(draft)


def test_what_a_log_does_not_say() -> None:
    draft = infer([put("mine.swf", log([line(1), line(2)]))])
    assert draft.name is None
    with pytest.raises(UsageError, match="--name"):
        initial.write(draft)
    cluster = loaded(draft.named("mine"))
    assert cluster.zone == "UTC"
    assert cluster.pools == (config.Pool(name="all"),)
    assert (
        "Left out, as the log's header does not say it: each run takes the peak"
        in initial.write(draft.named("mine"))
    )


def test_a_header_that_the_log_refutes_is_left_out() -> None:
    draft = infer([put("mine.swf", busy(MaxProcs=2))], name="mine")
    assert loaded(draft).pools == (config.Pool(name="all"),)
    warning = said(draft, "capacity of pool 'all'").warning
    assert warning is not None
    assert "the log refutes its header's 2 cpus" in warning


def test_what_sacct_s_records_say() -> None:
    draft = infer([put("a.psv", sacct(job(1), job(2, "short,fat")))])
    cluster = loaded(draft)
    assert (cluster.name, cluster.zone) == ("lab", "UTC")
    assert cluster.sources == (config.Source(files="a.psv"),)
    assert said(draft, "partitions").value == "batch, fat, short"
    assert '# Seen in the log: ["batch", "fat", "short"]\npartitions = []' in initial.write(draft)
    warning = said(draft, "time zone").warning
    assert warning is not None
    assert "--zone" in warning
    draft = infer([Path("a.psv")], zone="Europe/Berlin")
    assert (said(draft, "time zone").warning, loaded(draft).zone) == (None, "Europe/Berlin")


def test_pools_are_of_partitions_that_share_nodes() -> None:
    draft = infer(
        [put("a.psv", sacct(job(1), job(2, "old")))],
        SlurmFiles(put("parts.txt", PARTITIONS)),
        name="lab",
    )
    assert loaded(draft).pools == (
        config.Pool(
            name="batch",
            partitions=("batch", "short"),
            capacity=config.Amounts(cpus=64, nodes=4, gpus=16, mem_bytes=250 * GIB),
        ),
        config.Pool(
            name="fat",
            partitions=("fat",),
            capacity=config.Amounts(cpus=128, nodes=1, mem_bytes=1024 * GIB),
        ),
    )
    assert said(draft, "partitions without nodes").value == "cloud"
    assert said(draft, "partitions in no pool").value == "old"
    assert said(draft, "pool 'fat'").source == "scontrol (parts.txt)"
    assert initial.write(draft).count("[[clusters.pools]]\n") == 2


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ((0,), ["batch"]),
        ((0, 1), ["all"]),
        ((0, 2), ["batch", "fat"]),
        ((0, 1, 2), ["batch", "fat"]),
        ((3,), ["all"]),
    ],
)
def test_how_pools_are_called(lines: tuple[int, ...], names: list[str]) -> None:
    text = "\n".join(PARTITIONS.splitlines()[index] for index in lines)
    draft = infer([], SlurmFiles(put("parts.txt", text)), name="lab")
    assert [pool.name for pool in loaded(draft).pools] == names


def test_a_pool_of_several_is_called_after_its_largest_partition() -> None:
    text = (
        "PartitionName=x Nodes=n1 TRES=cpu=1\nPartitionName=y Nodes=n[1-2] TRES=cpu=2\n"
        "PartitionName=z Nodes=m1 TRES=cpu=2\n"
    )
    pools = infer([], SlurmFiles(put("parts.txt", text)), name="lab").pools
    assert [pool.name for pool in pools] == ["y", "z"]


def test_without_any_log_the_source_is_left_to_fill_in() -> None:
    draft = infer([], name="lab")
    cluster = loaded(draft)
    assert (cluster.sources, cluster.pools) == ((), (config.Pool(name="all"),))
    text = initial.write(draft)
    assert "# [[clusters.sources]]\n" in text
    assert "# To fill in" in text


def test_columns_are_written_where_they_had_to_be_declared() -> None:
    bare = put("bare.psv", sacct(*map(job, range(1, 9)), header=False))
    with pytest.raises(Exception, match="--columns"):
        infer([bare])
    draft = infer([bare], reading=Reading(columns=COLUMNS))
    assert loaded(draft).sources == (
        config.Source(files="bare.psv", dialect="sacct", columns=COLUMNS),
    )
    whole = put("whole.psv", sacct(job(1)))
    draft = infer([whole], reading=Reading(columns=COLUMNS, separator="|"))
    assert loaded(draft).sources == (config.Source(files="whole.psv"),)


def test_a_separator_is_written_where_it_had_to_be_declared() -> None:
    rows = [job(number, separator="é") for number in range(1, 9)]
    draft = infer(
        [put("odd.txt", sacct(*rows, header=False))],
        reading=Reading(columns=COLUMNS, separator="é"),
    )
    (source,) = loaded(draft).sources
    again = infer(
        [Path("odd.txt")], reading=Reading(columns=source.columns, separator=source.separator)
    )
    assert again.sources == (source,)
    assert source.columns == COLUMNS


def test_several_logs_and_folders(tmp_path: Path) -> None:
    (tmp_path / "in [1]").mkdir()
    write(tmp_path / "in [1]" / "a.psv", sacct(job(1)))
    write(tmp_path / "in [1]" / "b.psv", sacct(job(2)))
    put("c?.psv", sacct(job(3, "fat")))
    draft = infer([Path("in [1]"), Path("c?.psv")])
    assert said(draft, "partitions").value == "batch, fat"
    found = [sources.files(source, tmp_path) for source in loaded(draft).sources]
    assert [[path.name for path in paths] for paths in found] == [["a.psv", "b.psv"], ["c?.psv"]]


def test_paths_are_relative_to_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    put("a.psv", sacct(job(1)))
    assert infer([Path("a.psv")], folder=Path("etc")).sources[0].files == "../a.psv"
    assert infer([tmp_path / "a.psv"], folder=Path("etc")).sources[0].files == str(
        tmp_path / "a.psv"
    )
    (source,) = infer([Path("a.psv")], folder=tmp_path / "etc").sources
    assert sources.files(source, tmp_path / "etc") == [tmp_path / "etc" / "../a.psv"]


def test_the_cluster_s_name_from_the_partitions() -> None:
    path = put("parts.txt", "ClusterName = lab\n" + PARTITIONS)
    assert infer([], SlurmFiles(path)).name == "lab"
    assert infer([], SlurmFiles(path), name="mine").name == "mine"


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
    ],
)
def test_what_cannot_be_inferred_from_is_said(arguments: dict[str, Any], message: str) -> None:
    put("a.psv", sacct(job(1)))
    put("b.psv", sacct(job(2, cluster="sea")))
    put("two.psv", sacct(job(1), job(2, cluster="sea")))
    Path("empty").mkdir()
    with pytest.raises(UsageError, match=message):
        infer(**{"logs": [], **arguments})


def test_one_of_several_clusters_is_chosen_by_name() -> None:
    put("two.psv", sacct(job(1), job(2, "ocean", "sea")))
    draft = infer([Path("two.psv")], name="sea")
    assert said(draft, "partitions").value == "ocean"


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


def test_doctor_accepts_what_was_written() -> None:
    draft = infer([put("mine.swf", busy())], SlurmFiles(put("parts.txt", PARTITIONS)), name="lab")
    path = Path("config.toml")
    initial.save(path, initial.write(draft))
    (found,) = (
        finding for finding in doctor.examine(path, None) if finding.what == "configuration"
    )
    assert found.ok, found.found


def test_hostile_partitions_read_as_they_were_meant() -> None:
    names = ['a"b', "x'''", "\\n", "#", "[[clusters]]", "é\u202e\x1b[31m", "\u2028"]
    text = "".join(
        f"PartitionName={name} Nodes=n{index} TRES=cpu=4\n" for index, name in enumerate(names[:-1])
    )
    draft = infer([], SlurmFiles(put("parts.txt", text)), name='lab"\n[x]')
    pools = loaded(draft).pools
    assert [pool.partitions for pool in pools] == [(name,) for name in names[:-1]]


def test_a_text_that_is_no_unicode_is_refused() -> None:
    for logs, name in (([], "a\udcff"), ([Path("a\udcff.psv")], "lab")):
        with pytest.raises(UsageError, match=r"a\\udcff.*: not UTF-8"):
            initial.write(infer(logs, name=name))

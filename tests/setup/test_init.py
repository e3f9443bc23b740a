"""A first config.toml: what is inferred and from what, and that it reads back the same."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit import config, resources
from audit.cluster.inference import Fact
from audit.cluster.slurm_files import SlurmFiles
from audit.config.table import read as read_mapping
from audit.config.toml import value
from audit.errors import UsageError
from audit.formats.dialects import Reading
from audit.nightly import sources
from audit.policies import BY_OWNER, SETTINGS, Backfill, Order, takers
from audit.setup import doctor
from audit.setup import init as initial
from audit.setup.init import Draft, annotated, infer
from audit.words import Resource
from tests.examples import examples
from tests.logs import busy, line, log, write

GIB = 1 << 30
COLUMNS = ("JobID", "Cluster", "User", "Partition", "State", "Submit", "Start", "End", "NCPUS")
PARTITIONS = """\
PartitionName=batch Nodes=n[1-4] TotalCPUs=64 TotalNodes=4 TRES=cpu=64,mem=250G,node=4,gres/gpu=16
PartitionName=short Nodes=n[1-4] TotalCPUs=64 TotalNodes=4 TRES=cpu=64,mem=250G,node=4,gres/gpu=16
PartitionName=fat Nodes=f1 TotalCPUs=128 TotalNodes=1 TRES=cpu=128,mem=1T,node=1
PartitionName=cloud Nodes=(null) TotalCPUs=0 TotalNodes=0
"""


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
    assert cluster.pools == (config.PoolConfig(name="all", capacity=config.AmountsConfig(cpus=4)),)
    assert cluster.sources == (config.SourceConfig(files="mine.swf"),)
    assert fact(draft, "cluster").source == "the log's header"
    assert fact(draft, "capacity of pool 'all'").value == "4 CPUs"
    assert not any(one.warning for one in draft.facts)
    assert "# From the log's header.\ncapacity = { cpus = 4 }\n" in initial.write(draft)


def test_missing_values_are_left_out() -> None:
    draft = infer([put("mine.swf", log([line(1), line(2)]))])
    assert draft.name is None
    with pytest.raises(UsageError, match="--name"):
        initial.write(draft)
    draft = replace(draft, name="mine")
    cluster = loaded(draft)
    assert (cluster.zone, cluster.pools) == ("UTC", (config.PoolConfig(name="all"),))
    note = "Left out, since it is not in the log's header: each run uses the peak"
    assert note in initial.write(draft)


def test_a_header_that_the_log_contradicts_is_left_out() -> None:
    draft = infer([put("mine.swf", busy(MaxProcs=2))], name="mine")
    assert loaded(draft).pools == (config.PoolConfig(name="all"),)
    warning = str(fact(draft, "capacity of pool 'all'").warning)
    assert "the log contradicts its header's 2 cpus" in warning


def test_partitions_whose_peaks_add_up_to_the_capacity_are_pools() -> None:
    lines = [
        line(2 * day + number, submit=day * 86_400, wait=0, allocated=cpus, partition=number)
        for day in range(8)
        for number, cpus in ((1, 80), (2, 19))
    ]
    draft = infer([put("mine.swf", log(lines, MaxProcs=100))], name="mine")
    assert {pool.name: pool.partitions for pool in loaded(draft).pools} == {
        "1": ("1",),
        "2": ("2",),
    }
    assert fact(draft, "pools").source == "peaks in use"


def test_a_log_of_sacct() -> None:
    draft = infer([put("a.psv", sacct(job(1), job(2, "short,fat")))])
    cluster = loaded(draft)
    assert (cluster.name, cluster.zone) == ("lab", "UTC")
    assert cluster.sources == (config.SourceConfig(files="a.psv"),)
    assert fact(draft, "partitions").value == "batch, fat, short"
    assert '# Seen in the log: ["batch", "fat", "short"]\npartitions = []' in initial.write(draft)
    assert "--zone" in str(fact(draft, "time zone").warning)
    draft = infer([Path("a.psv")], zone="Europe/Berlin")
    assert (fact(draft, "time zone").warning, loaded(draft).zone) == (None, "Europe/Berlin")


def test_partitions_that_share_nodes_form_a_pool() -> None:
    log_path = put("a.psv", sacct(job(1), job(2, "old")))
    draft = infer([log_path], SlurmFiles(put("parts.txt", PARTITIONS)), name="lab")
    batch = config.AmountsConfig(cpus=64, nodes=4, gpus=16, mem_bytes=250 * GIB)
    fat = config.AmountsConfig(cpus=128, nodes=1, mem_bytes=1024 * GIB)
    assert loaded(draft).pools == (
        config.PoolConfig(name="batch", partitions=("batch", "short"), capacity=batch),
        config.PoolConfig(name="fat", partitions=("fat",), capacity=fat),
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
    assert (cluster.sources, cluster.pools) == ((), (config.PoolConfig(name="all"),))
    text = initial.write(draft)
    assert "# [[clusters.sources]]\n" in text
    assert "# To fill in" in text


def test_columns_are_written_only_if_they_had_to_be_declared() -> None:
    bare = put("bare.psv", sacct(*map(job, range(1, 9)), header=False))
    with pytest.raises(Exception, match="--columns"):
        infer([bare])
    draft = infer([bare], reading=Reading(columns=COLUMNS))
    source = config.SourceConfig(files="bare.psv", dialect="sacct", columns=COLUMNS)
    assert loaded(draft).sources == (source,)
    whole = put("whole.psv", sacct(job(1)))
    draft = infer([whole], reading=Reading(columns=COLUMNS, separator="|"))
    assert loaded(draft).sources == (config.SourceConfig(files="whole.psv"),)


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


def test_the_server_that_records_name_is_the_cluster() -> None:
    record = "E;1.pbs-1;user=ana ctime=1506816000 start=1506816060 exec_host=n1/0 end=1506816600"
    path = put("20171001", f"10/01/2017 00:10:00;{record}\n")
    assert fact(infer([path]), "cluster").value == "pbs-1"


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
    with pytest.raises(UsageError, match=r"config.toml: already exists; --force"):
        initial.save(path, "two")
    assert path.read_text() == "one"
    initial.save(path, "two", force=True)
    assert path.read_text() == "two"
    Path("dangling").symlink_to("nowhere")
    for refused in (Path("dangling"), tmp_path, Path("no/config.toml")):
        with pytest.raises(UsageError):
            initial.refuse_existing(refused)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml", "dangling"]


@pytest.mark.usefixtures("sound_installation")
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


_texts = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\"'\\\n\r\t#[]={},"), max_size=12
)
_names = _texts.filter(bool)
_amount = st.integers(1, 1 << 62)
_counts = st.none() | _amount
_amounts = {"cpus": _counts, "nodes": _counts, "gpus": _counts, "mem_bytes": _counts}
_targets = st.dictionaries(_texts, st.integers(1, 9), max_size=3).map(
    lambda parts: {name: part / sum(parts.values()) for name, part in parts.items()}
)
_numbers = st.floats(0.1, 1e200)


@st.composite
def _trees(draw: st.DrawFn) -> tuple[config.Share, ...]:
    """A chain of accounts, with a user below some."""
    shares: list[config.Share] = []
    above = None
    for account in draw(st.lists(_names, unique=True, max_size=3)):
        shares.append(config.Share(account=account, parent=above, share=draw(_numbers)))
        if draw(st.booleans()):
            given = draw(_numbers | st.just("parent"))
            partition = draw(st.none() | _names)
            user = draw(_names)
            share = config.Share(account=account, user=user, share=given, partition=partition)
            shares.append(share)
        above = account
    return tuple(shares)


_of_resources = st.builds(config.Weights, cpus=st.none() | _numbers, gpus=st.none() | _numbers)
_usages = st.one_of(
    st.builds(config.UsageConfig, users=_targets, accounts=_targets, decay=st.floats(0, 1e300)),
    st.builds(
        config.UsageConfig,
        method=st.sampled_from(["windows", "half_life"]),
        penalty=st.just("root_weighted"),
        weights=_of_resources,
        exempt=st.sampled_from([(), ("gpus",)]),
        shares=_trees(),
        slurm_conf=st.none() | _names,
    ),
)
# {from} and {to} need a first day.
_commands = (
    st.lists(_texts, min_size=1, max_size=30)
    .map(tuple)
    .filter(lambda words: not any(name in word for name in config.PLACEHOLDERS for word in words))
)
_sources = st.one_of(
    st.builds(
        config.SourceConfig,
        files=_texts,
        dialect=st.none() | _texts,
        columns=st.none() | st.lists(_texts, max_size=3).map(tuple),
        separator=st.none() | _names,
        timeout_s=st.integers(1, 10_000),
    ),
    st.builds(config.SourceConfig, command=_commands),
)

_several = st.none() | st.lists(_names, min_size=1, max_size=3).map(tuple)
_scopes = {"user": _several, "partition": _several, "size_above": _counts}
_limits = st.builds(
    config.Limit, most=st.integers(0, 9), per=st.sampled_from([None, "user", "job"]), **_scopes
)
_parts = st.lists(st.integers(0, 99), min_size=1, unique=True)
_hours = st.sampled_from(["Mon-Fri 08-18", "Sun", "Fri-Mon 22-06"])
_windows = st.builds(
    config.Window, hours=st.lists(_hours, min_size=1, max_size=2).map(tuple), **_scopes
)


@st.composite
def clusters(draw: st.DrawFn) -> config.Cluster:
    """Any cluster."""
    pools = []
    for name in draw(st.lists(_names, unique=True, max_size=3)):
        day = date(2026, 1, 1)
        steps = []
        for days in draw(st.lists(st.integers(1, 100), max_size=2)):
            day += timedelta(days=days)
            step = st.builds(
                config.StepConfig, since=st.just(day), planned=st.booleans(), **_amounts
            )
            steps.append(draw(step))
        fill = draw(st.sampled_from(Backfill))
        settings: dict[str, Any] = {
            key: draw(st.none() | st.integers(1, setting.most or 10_000))
            for key, setting in SETTINGS.items()
            if fill in takers(key)
        }
        pools.append(
            config.PoolConfig(
                name=name,
                partitions=tuple(f"{name}{part}" for part in draw(_parts)),
                resource=draw(st.sampled_from(Resource)),
                capacity=draw(st.builds(config.AmountsConfig, **_amounts | {"cpus": _amount})),
                steps=tuple(steps),
                exclusive_nodes=draw(st.booleans()),
                order=draw(st.sampled_from(sorted(set(Order) - set(BY_OWNER)))),
                backfill=fill,
                **settings,
                limits=tuple(draw(st.lists(_limits, max_size=2))),
                windows=tuple(draw(st.lists(_windows, max_size=2))),
            )
        )
    # a partition may not be in two pools
    listed = [part for pool in pools for part in pool.partitions]
    if len(set(listed)) < len(listed):
        pools = pools[:1]
    return config.Cluster(
        name=draw(_names),
        zone=draw(st.sampled_from(["UTC", "Europe/Berlin"])),
        period=draw(st.sampled_from(["day", "week", "month"])),
        pools=tuple(pools),
        sources=tuple(draw(st.lists(_sources, max_size=2))),
        usage=draw(_usages),
    )


@settings(max_examples=examples(60))
@given(clusters(), st.dictionaries(st.just("clusters.zone"), _texts))
def test_every_cluster_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, cluster: config.Cluster, notes: dict[str, str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(annotated(cluster, notes), encoding="utf-8", newline="\n")
    assert config.load(path).clusters == (cluster,)


def test_the_shipped_cluster_gives_the_shipped_file() -> None:
    path = resources.path("config.toml")
    (cluster,) = config.load(path).clusters
    shipped = path.read_text(encoding="utf-8").splitlines()
    written = annotated(cluster).splitlines()
    # but for the example of a threshold
    changed = [(old, new) for old, new in zip(shipped, written, strict=True) if old != new]
    assert changed
    assert [new for _, new in changed] == [f"# {old}" for old, _ in changed]
    assert changed[0][0] == "[[thresholds]]"


def test_a_policy_is_written_only_if_it_is_known() -> None:
    pool = config.PoolConfig(name="a")
    known = pool.model_copy(update={"order": Order.multifactor, "backfill": Backfill.easy})
    for of, start in ((pool, "# "), (known, "")):
        lines = annotated(config.Cluster(name="c", pools=(of,))).splitlines()
        policy = [
            line
            for line in lines
            if line.removeprefix("# ").startswith(("order = ", "backfill = "))
        ]
        assert [line.startswith("# ") for line in policy] == [bool(start)] * 2
        assert policy[1] == f'{start}backfill = "easy"'


def test_only_the_first_of_several_pools_has_comments() -> None:
    pools = tuple(config.PoolConfig(name=name, partitions=(name,)) for name in ("a", "b"))
    notes = {"clusters.pools[1].capacity": "Noted.\nOn one line."}
    text = annotated(config.Cluster(name="c", pools=pools), notes)
    assert text.count("# Resource in which sizes") == 1
    assert text.endswith("\n")
    second = text.split("[[clusters.pools]]\n")[2].split("\n\n")[0]
    assert second == (
        'name = "b"\npartitions = ["b"]\nresource = "cpus"\n# Noted.\\nOn one line.\n'
        "capacity = {}\n"
        'exclusive_nodes = false\nplacement = "packed"\nfair_order = "fcfs"'
    )


def test_long_lists_have_lines_of_their_own() -> None:
    names = tuple(f"partition-{number:02}" for number in range(20))
    pool = config.PoolConfig(name="a", partitions=names)
    text = annotated(config.Cluster(name="c", pools=(pool,)))
    assert 'partitions = [\n    "partition-00",\n' in text
    assert max(map(len, text.splitlines())) <= initial.WIDTH


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="values of type object"):
        value(object())


def test_a_table_is_proposed_confirmed_and_named(tmp_path: Path) -> None:
    log, table = tmp_path / "jobs.csv", tmp_path / "table.toml"
    times = [f"2021-01-01 {hour:02d}:00:00" for hour in range(1, 4)]
    rows = [f"{number},ann,{','.join(times)}" for number in range(5)]
    log.write_text("\n".join(["jid,who,adt,sdt,edt", *rows]) + "\n", encoding="utf-8")
    initial.write_table(table, [log])
    with pytest.raises(UsageError, match="already exists"):
        initial.write_table(table, [log])
    reading = Reading(table=read_mapping(table))
    draft = infer([log], name="site", zone="UTC", reading=reading, folder=tmp_path)
    (source,) = initial.with_table(draft, str(table), tmp_path).sources
    assert source.table == str(table)
    (source,) = initial.with_table(draft, table.name, Path()).sources
    assert source.table == "./table.toml"
    (source,) = initial.with_table(draft, "helios", tmp_path).sources
    assert source.table == "helios"
    text = initial.write(draft)  # the whole mapping
    written = tmp_path / "config.toml"
    written.write_text(text, encoding="utf-8")
    (cluster,) = config.load(written).clusters
    assert cluster.sources[0].table == reading.table


def test_a_log_without_jobs_has_no_proposal(tmp_path: Path) -> None:
    log = tmp_path / "x.csv"
    log.write_text("a,b,c\n1,2,3\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no mapping can be proposed"):
        initial.write_table(tmp_path / "t.toml", [log])
    with pytest.raises(UsageError, match="name a log for which to propose it"):
        initial.write_table(tmp_path / "t.toml", [])

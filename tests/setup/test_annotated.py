"""The text of a config.toml: any cluster reads back the same, with the shipped comments."""

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit import config, resources
from audit.config.toml import value
from audit.policies import BY_OWNER, SETTINGS, Backfill, Order, takers
from audit.setup import annotated
from audit.words import Resource
from tests.examples import examples

_texts = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\"'\\\n\r\t#[]={},"), max_size=12
)
_names = _texts.filter(bool)
_counts = st.none() | st.integers(1, 1 << 62)
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
    st.builds(config.Usage, users=_targets, accounts=_targets, decay=st.floats(0, 1e300)),
    st.builds(
        config.Usage,
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
        config.Source,
        files=_texts,
        dialect=st.none() | _texts,
        columns=st.none() | st.lists(_texts, max_size=3).map(tuple),
        separator=st.none() | _names,
        timeout_s=st.integers(1, 10_000),
    ),
    st.builds(config.Source, command=_commands),
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
            step = st.builds(config.Step, since=st.just(day), planned=st.booleans(), **_amounts)
            steps.append(draw(step))
        fill = draw(st.sampled_from(Backfill))
        settings: dict[str, Any] = {
            key: draw(st.none() | st.integers(1, setting.most or 10_000))
            for key, setting in SETTINGS.items()
            if fill in takers(key)
        }
        pools.append(
            config.Pool(
                name=name,
                partitions=tuple(f"{name}{part}" for part in draw(_parts)),
                resource=draw(st.sampled_from(Resource)),
                capacity=draw(st.builds(config.Amounts, **_amounts | {"cpus": st.integers(1)})),
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
    path.write_text(annotated.text(cluster, notes), encoding="utf-8", newline="\n")
    assert config.load(path).clusters == (cluster,)


def test_the_shipped_cluster_gives_the_shipped_file() -> None:
    path = resources.path("config.toml")
    (cluster,) = config.load(path).clusters
    shipped = path.read_text(encoding="utf-8").splitlines()
    written = annotated.text(cluster).splitlines()
    # but for the example of a threshold
    changed = [(old, new) for old, new in zip(shipped, written, strict=True) if old != new]
    assert changed
    assert [new for _, new in changed] == [f"# {old}" for old, _ in changed]
    assert changed[0][0] == "[[thresholds]]"


def test_only_the_first_of_several_pools_has_comments() -> None:
    pools = tuple(config.Pool(name=name, partitions=(name,)) for name in ("a", "b"))
    notes = {"clusters.pools[1].capacity": "Noted.\nOn one line."}
    text = annotated.text(config.Cluster(name="c", pools=pools), notes)
    assert text.count("# Resource that sizes count") == 1
    assert text.endswith("\n")
    second = text.split("[[clusters.pools]]\n")[2].split("\n\n")[0]
    assert second == (
        'name = "b"\npartitions = ["b"]\nresource = "cpus"\n# Noted.\\nOn one line.\n'
        "capacity = {}\n"
        'exclusive_nodes = false\norder = "fcfs"\nfair_order = "fcfs"\n'
        'backfill = "easy"'
    )


def test_long_lists_have_lines_of_their_own() -> None:
    names = tuple(f"partition-{number:02}" for number in range(20))
    pool = config.Pool(name="a", partitions=names)
    text = annotated.text(config.Cluster(name="c", pools=(pool,)))
    assert 'partitions = [\n    "partition-00",\n' in text
    assert max(map(len, text.splitlines())) <= annotated.WIDTH


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="values of type object"):
        value(object())

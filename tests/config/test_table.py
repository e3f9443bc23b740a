"""Mappings of tables as data: their keys, presets, options and faults by key path."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from audit import config
from audit.config import table
from audit.config.table import Mapped, TableMapping
from audit.config.toml import value
from audit.errors import ConfigError, UsageError
from audit.model import RECORDS
from audit.words import plural
from tests.config.refusals import refusals

LEAST = 'job_id = "id"\nsubmit_time = "t"\n'


def faults(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "table.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        table.read(path)
    first, *rest = str(caught.value).splitlines()
    assert first == f"{path}: {plural(len(rest), 'fault')}:"
    return [line.strip() for line in rest]


def test_every_field_is_a_column_of_records_or_a_duration() -> None:
    lengths = {"walltime": "walltime_s", "elapsed": "occupancy_s", "suspended": "suspended_s"}
    assert {lengths.get(name, name) for name in table.FIELDS} - {"wait"} <= {*RECORDS}
    assert set(table.FIELDS) <= set(TableMapping.model_fields)


def test_a_text_is_short_for_a_column(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text(LEAST, encoding="utf-8")
    assert table.read(path).fields == {
        "job_id": Mapped(column="id"),
        "submit_time": Mapped(column="t"),
    }


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('walltime = "limit"', "walltime: needs a unit: us, ms, s, min, h, d, clock"),
        ('mem_bytes = "mem"', "mem_bytes: needs a unit: B, KB, KiB"),
        (
            'walltime = { column = "l", unit = "GB" }',
            "walltime: the unit 'GB' does not fit (possible:",
        ),
        ('cpus = { column = "c", unit = "s" }', "cpus: the unit 's' does not fit"),
        ('user = { column = "u", per = "node" }', "user: per = 'node' is only for cpus"),
        ('user = { column = "u", round = "up" }', "user: round is only for amounts"),
        ("end_time = { constant = 3 }", "end_time: needs a column: a constant would be the same"),
        ('cpus = { constant = "x" }', "cpus: the constant must be a number"),
        ("user = { constant = 3 }", "user: the constant must be a text"),
        ("cpus = {}", "cpus: needs either a column or a constant"),
        (
            'cpus = { column = "c", pattern = "[0-9]+" }',
            "cpus: pattern: needs one group (…), and has 0",
        ),
        ('cpus = { column = "c", pattern = "(" }', "cpus: pattern: missing ), unterminated"),
        ('cpu = "c"', "cpu: no such key; did you mean cpus?"),
        ('cpus = { colum = "c" }', "cpus.colum: no such key; did you mean cpus.column?"),
        ('one = "row"', "one: Input should be 'job', 'execution', 'run' or 'task'"),
        ('zone = "Berlin"', "zone: time zone 'Berlin': not in the IANA database"),
        ('origin = "soon"', "origin: must be an instant such as 2023-01-01"),
        ('population = "half"', "population: Input should be 'all', 'part' or 'length-biased'"),
        ('state_when = [{ state = "X" }]', "state_when[0]: needs a test: column and is, present"),
        (
            'state_when = [{ column = "c", state = "X" }]',
            "state_when[0]: needs both column and is, or neither",
        ),
        (
            'state_when = [{ is_ = "c", state = "X" }]',
            "state_when[0].is_: no such key; did you mean",
        ),
    ],
)
def test_faults_are_reported_by_key_path(tmp_path: Path, more: str, said: str) -> None:
    (found,) = faults(tmp_path, LEAST + more)
    assert found.startswith(said)


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    found = faults(tmp_path, 'walltime = "limit"\nend_time = { column = "e", unit = "min" }')
    assert [line.split(":")[0] for line in found] == ["end_time", "walltime", "job_id"]


def test_a_mapping_of_config_toml_is_reported_by_its_key_path(tmp_path: Path) -> None:
    head = '[[clusters]]\nname = "c"\n[[clusters.sources]]\nfiles = "*"\n'
    inline = 'table = { job_id = "id", submit_time = "t", walltime = { column = "w", unit = "m" } }'
    (found,) = refusals(tmp_path, head + inline)
    assert found.startswith("clusters[0].sources[0].table.walltime: the unit 'm' does not fit")
    (found,) = refusals(tmp_path, head + 'table = "helois"')
    assert found.startswith(
        "clusters[0].sources[0].table: there is no table 'helois'; did you mean"
    )
    (found,) = refusals(tmp_path, head + 'table = { job_id = "id", submit_tim = "t" }')
    assert (
        "table.submit_tim: no such key; did you mean clusters[0].sources[0].table.submit_time?"
        in found
    )


def test_a_file_is_named_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "table.toml").write_text(LEAST, encoding="utf-8")
    text = '[[clusters]]\nname = "c"\n[[clusters.sources]]\nfiles = "*"\ntable = "./table.toml"\n'
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    (cluster,) = config.load(tmp_path / "config.toml").clusters
    given = cluster.sources[0].table
    assert given == "./table.toml"
    assert table.resolved(given, tmp_path) == table.read(tmp_path / "table.toml")
    with pytest.raises(ConfigError, match="no such file with the mapping of a table"):
        table.resolved("./other.toml", tmp_path)


@pytest.mark.parametrize("content", [b"\xff", b"job_id ="])
def test_what_is_no_toml_is_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "table.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="not valid TOML"):
        table.read(path)


def test_options_change_a_preset() -> None:
    changed = table.of_options("helios", ["cpus=gpu_num", "walltime=a:b:min", "mem_bytes=a:b:MiB"])
    assert changed is not None
    assert changed.fields["cpus"] == Mapped(column="gpu_num")
    assert changed.fields["walltime"] == Mapped(column="a:b", unit="min")
    assert changed.fields["mem_bytes"] == Mapped(column="a:b", unit="MiB")
    assert changed.zone == "Asia/Shanghai"
    assert table.of_options(None, ()) is None
    small = table.of_options(None, ["job_id=a", "end_time=b:c"])
    assert small is not None
    assert small.fields["end_time"] == Mapped(column="b:c")


@pytest.mark.parametrize(
    ("maps", "said"),
    [
        (["jobid=a"], "--map jobid=a: write it as FIELD=COLUMN.*did you mean job_id"),
        (["zzzz=a"], "fields: cluster, job_id, user"),
        (["job_id"], "write it as FIELD=COLUMN"),
        (["job_id=a", "walltime=b"], "--map: 2 faults:\n  walltime: needs a unit"),
    ],
)
def test_wrong_options_are_reported(maps: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        table.of_options(None, maps)


@pytest.mark.parametrize("name", table.presets())
def test_a_preset_says_what_it_is_of(name: str) -> None:
    preset = table.presets()[name]
    assert preset.title
    assert preset.source.startswith("https://")
    assert table.named(name) == preset
    assert table.of_json(preset.as_json) == preset
    if not preset.adds:
        assert preset.population is not None


def test_a_mapping_is_written_as_toml(tmp_path: Path) -> None:
    """`fairaudit init` writes what options say into config.toml."""
    for name, preset in table.presets().items():
        path = tmp_path / f"{name}.toml"
        path.write_text(f"[t]\nx = {value(preset)}", encoding="utf-8")
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["t"]["x"]
        lines = [f"{key} = {value(of)}" for key, of in content.items()]
        path.write_text("\n".join(lines), encoding="utf-8")
        assert table.read(path) == preset


def test_the_fingerprint_tells_mappings_and_columns_apart() -> None:
    helios = table.presets()["helios"]
    found = [
        table.fingerprint(*given)
        for given in (
            (None, None, None),
            (None, ("JobID",), None),
            (None, ("JobID",), "|"),
            (helios, None, None),
            (table.presets()["philly"], None, None),
        )
    ]
    assert len(set(found)) == len(found)
    assert found[0] == ""
    assert [name.split(":")[0] for name in found[1:]] == ["columns", "columns", "table", "table"]


def test_a_mapping_without_ids_adds_to_what_a_dialect_reads(tmp_path: Path) -> None:
    added = table.of_options(None, ["gpus=19", "walltime=20:min"])
    assert added is not None
    assert added.adds
    assert not table.presets()["helios"].adds
    (found,) = faults(tmp_path, 'elapsed = { column = "e", unit = "s" }')
    assert found == "job_id: is missing: it names the column of the job's id"

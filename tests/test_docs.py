"""Documents match the code: commands, views, metrics, exit codes, the notebook."""

import re
import runpy
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from typer import Context
from typer.core import TyperGroup
from typer.main import get_command

from audit import errors
from audit.cli.app import INTERRUPTED, app
from audit.config import Config
from audit.json_answers import SHAPE
from audit.metrics.nodes import GUESSED
from audit.registry.causes import LACKS
from audit.registry.requested import MEASURES
from audit.store import database
from audit.studies.operators import rules
from bench.pages import man_page
from tests import stores
from tests.cli.conftest import audited as audited  # noqa: PLC0414 (a fixture)
from tests.logs import busy, write
from tests.places import ROOT
from tests.store.test_migrations import SHOWN

pytestmark = pytest.mark.skipif(
    not (ROOT / "README.md").exists(), reason="tested outside a checkout: documents not compared"
)


def document(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_readme_names_every_command_and_view(tmp_path: Path) -> None:
    readme = document("README.md")
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    commands = command.list_commands(Context(command))
    for name in commands:
        assert f"fairaudit {name}" in readme
    with closing(stores.new(tmp_path / "store.duckdb")) as con:
        views = database.rows(con, f"SELECT view_name FROM {SHOWN}")
    assert len(views) > 20
    for (view,) in views:
        assert f"`{view}`" in readme


def test_the_readme_lists_every_exit_code() -> None:
    codes = {
        error.exit_code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.AuditError)
    }
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", document("README.md"), re.M)}
    assert listed == codes | {0, 1, INTERRUPTED}


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]


def code(page: Path) -> list[str]:
    """The lines of code blocks, and the code in sentences, of a page."""
    text = page.read_text(encoding="utf-8")
    return [*re.findall(r"^ {4,}(.*)$", text, re.M), *re.findall(r"`([^`\n]+)`", text)]


def test_commands_and_options_in_the_documents_exist() -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    seen = set()
    for page in pages():
        for line in code(page):
            if not (call := re.match(r"(?:\.venv/bin/)?fairaudit ([a-z][^#|;&]*)", line)):
                continue
            name, *rest = call[1].split()
            command = group.get_command(Context(group), name)
            if isinstance(command, TyperGroup) and rest and rest[0].islower():
                command = command.get_command(Context(command), name := rest[0])
            assert command, f"{page.name}: {line}"
            seen.add(name)
            known = {option for one in command.params for option in one.opts} | {"--help"}
            options = {word for word in rest if re.fullmatch(r"--[a-z-]+", word)}
            assert options <= known, f"{page.name}: {line}"
    assert {"audit", "run", "whatif"} <= seen


def test_keys_in_the_documents_exist() -> None:
    config = document("config.toml")
    tables = set(re.findall(r"^\[+([a-z.]+)\]", config, re.M))
    keys = set(re.findall(r"^#? ?(\w+) = ", config, re.M))
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for table, key in re.findall(r"`([a-z.]+)\.(?!html|pdf|py|pxi)(\w+)`", text):
            if table in tables and not list((ROOT / "audit" / table).glob(f"{key}.py")):
                assert key in keys, f"{page.name}: {table}.{key}"


def test_names_of_modules_and_their_members_exist() -> None:
    """Such as ``registry.measure.Measure`` in a docstring, and `nightly.history` in a document."""
    tops = {path.stem for path in (ROOT / "audit").iterdir()} | {"audit"}
    config = {tuple(key.split(".")) for key in keys_of(Config)}
    files = {"py", "html", "pdf", "duckdb", "md", "j2"}
    unknown, count = [], 0
    for page in [*pages(), *(ROOT / "audit").rglob("*.py")]:
        mark = "``" if page.suffix == ".py" else "`"
        for name in re.findall(rf"(?<!`){mark}([a-z_]+(?:\.\w+)+){mark}(?!`)", page.read_text()):
            first, *rest = name.split(".")
            if first in tops and rest[-1] not in files and (first, *rest) not in config:
                count += 1
                names = rest if first == "audit" else [first, *rest]
                if not (exists(ROOT / "audit", names) or exists(page.parent, names)):
                    unknown.append(f"{page.relative_to(ROOT)}: {name}")
    assert unknown == []
    assert count > 100


def keys_of(section: type[BaseModel]) -> Iterator[str]:
    """The keys of a part of the configuration, and of all tables in it."""
    for name, field in section.model_fields.items():
        yield name
        for part in (field.annotation, *get_args(field.annotation)):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from (f"{name}.{key}" for key in keys_of(part))


def exists(place: Path, names: Sequence[str]) -> bool:
    """Whether a folder has a module of this name, and it has the member that is named."""
    if not names:
        return True
    first, *rest = names
    if (place / first).is_dir():
        return exists(place / first, rest)
    files = [path for path in place.glob(f"{first}.p*") if path.suffix in {".py", ".pyi", ".pxd"}]
    return any(not rest or re.search(rf"\b{rest[-1]}\b", path.read_text()) for path in files)


def test_every_figure_of_a_summary_is_documented(audited: Path) -> None:
    metrics = stores.fetch(audited, "SELECT DISTINCT metric FROM summary")["metric"].to_list()
    documented: set[str] = set()
    for row in re.findall(r"^\| (`[^|]*) \|", document("docs/metrics.md"), re.M):
        names = re.findall(r"`([^`]+)`", row)
        stem = names[0].rsplit("_", 1)[0]
        documented |= {name.replace("…", stem) for name in names}
    nodes = {*(lack.share for lack in LACKS), *GUESSED}
    interrupted = {
        *("preempted", "lost_work", "lost_share", "freed_share", "suspended_time"),
        *("array_concurrency", "preemptible_share"),
        *(measure.key for measure in MEASURES),
    }
    several = {f"used_{resource}" for resource in ("cpus", "nodes", "gpus", "mem_bytes")}
    # two users: too few for similar jobs and for the figures of overtaken users
    beside = {"excess_wait", "pending_left_out", "overdue"}
    passed = {"passed_excess", "passed_ahead", "usage_multiple"}
    assert set(metrics) == documented - nodes - interrupted - several - beside - passed
    assert several | beside | passed <= documented


def test_the_tables_of_measures_are_those_of_the_registry() -> None:
    """Where this fails: ``make metrics-page``."""
    page = document("docs/metrics.md")
    script = runpy.run_path(str(ROOT / "bench" / "pages" / "metrics_page.py"))
    assert script["filled"](page) == page
    assert page.count("<!-- measures: ") == len(script["PARTS"])


def test_the_notebook_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "my.swf", busy(60))
    cells = re.findall(r"```python\n(.*?)```", document("docs/library.md"), re.S)
    exec(compile("\n".join(cells), "docs/library.md", "exec"), {})
    said = capsys.readouterr().out
    assert "Dispersion(uwt=" in said
    assert "fst_strict" in said
    assert "planned_start_time" in said


def test_the_example_of_share_trees_runs() -> None:
    [example] = re.findall(r"```python\n(.*?)```", document("docs/operators.md"), re.S)
    names: dict[str, Any] = {}
    exec(compile(example, "docs/operators.md", "exec"), names)
    ranks = dict(zip(names["tree"].names, names["seen"].ranks[0].tolist(), strict=True))
    said = re.findall(r"(\w+) (\d)[,\n]", example.split("# ")[-1])
    assert {name: int(rank) for name, rank in said}.items() <= ranks.items()
    assert len(said) == 3


def test_the_page_of_operators_says_what_the_checker_finds() -> None:
    page = document("docs/operators.md")
    keeping = [
        name
        for name, verdicts in rules.conformance().items()
        if not any(witness for rule, witness in verdicts.items() if rule != "edges")
    ]
    assert len(keeping) == 5
    assert "| the other five | yes | yes | yes | the same |" in page
    for name in {"absolute", "combined"} | set(keeping):
        assert (f"| `{name}` | yes | no | no | its own |" in page) == (name not in keeping)
    assert "Only one of the 21 printed numbers of bits (fig. 17) follows" in page


def test_the_man_page_is_that_of_the_commands() -> None:
    assert document("docs/fairaudit.1") == man_page.page(), "run `make metrics-page`"


def test_the_code_of_pages_imports_what_exists() -> None:
    lines = [
        re.sub(r"^ +", "", line)
        for page in pages()
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
        for line in block.splitlines()
        if re.match(r" *(from|import) audit\b", line)
    ]
    assert len(lines) > 20
    for line in lines:
        exec(line, {})


def test_the_page_about_sql_lists_the_saved_queries() -> None:
    listed = re.findall(r"^\| `([a-z_]+)` \| ", document("docs/sql.md"), re.M)
    saved = {path.stem for path in (ROOT / "sql" / "saved").glob("*.sql")}
    assert saved <= set(listed)


def test_the_page_for_programs_names_the_present_shape() -> None:
    [said] = re.findall(r"While `shape` stays the same \(now (\d+)\)", document("docs/machines.md"))
    assert int(said) == SHAPE

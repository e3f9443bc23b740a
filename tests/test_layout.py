"""Limits on the size of folders, files and functions; tests mirror modules."""

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from graphlib import TopologicalSorter
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

from audit.formats.dialects import MODULES
from tests.places import ROOT

LINES_PER_FILE: Final = 500
LINES_PER_FUNCTION: Final = 60

CYTHON_FUNCTION: Final = r"^c?p?def (?!class|enum|struct).*(?:\n(?![\w@\"#]).*)*"
"""A definition, and the lines after it that begin with a space or the end of its arguments."""

TESTED_IN: Final = {
    "kernels/delivered/*": "scenario/delivered/test_fair_starts",
    "kernels/scheduling/*": "scenario/test_engine",
    "kernels/plateaus/*": "kernels/plateaus/test_sweep",
    "analyst/confined": "security/test_statements",
    "analyst/messages": "security/test_statements",
    "config/runs": "config/test_file",
    "config/sections": "config/test_file",
    "files/privacy": "security/test_modes",
    "kernels/choice": "scenario/test_machines",
    "kernels/placement": "metrics/test_nodes",
    "kernels/waits/walk": "metrics/waits/test_walk",
    "kernels/similar": "scenario/predict/test_similar",
    "kernels/dominant": "metrics/test_dominant_share",
    "kernels/passed_over": "metrics/attempts/test_passed_over",
    "kernels/limited": "metrics/passed/test_limited",
    "report/sections/rules/section": "report/sections/test_findings",
    "report/sections/waits/page_one": "report/first_page/test_compose",
    "formats/evidence/logs": "formats/evidence/test_slurmctld",
    "kernels/events": "ingest/test_events",
    "mail/ledger": "mail/test_delivery",
    "pipeline/computing": "oneoff/test_audit",
    "report/owner/card": "test_json_answers",
    "metrics/waits/held": "metrics/attempts/test_account",
    "report/charts/series": "report/sections/waits/test_charts",
    "report/render/identity": "oneoff/test_verify",
    "store/streams": "store/test_database",
    "studies/commands": "cli/test_oneoff",
    "studies/sensitivity/page": "studies/test_plans",
    "oneoff/whatif/page": "oneoff/whatif/test_plan",
}
"""Modules of ``audit/`` without a test of their own, and the test in ``tests/`` that uses them."""

IMPORTED_BY_NAME: Final = {
    "audit.analyst.confined": "a separate process, which audit.analyst.reader starts",
    "audit.studies.commands": "by its entry point",
}
"""Modules that nothing in the package imports, and what they are for; dialects are besides."""


def modules(folder: str) -> list[Path]:
    """Its modules, without the faces of packages and the way in."""
    return sorted(
        path.relative_to(ROOT)
        for path in (ROOT / folder).rglob("*.py*")
        if path.suffix in {".py", ".pyx"} and path.name not in {"__init__.py", "__main__.py"}
    )


def sources() -> list[Path]:
    """The modules of the package, the files that kernels include, and their interfaces."""
    others = (path.relative_to(ROOT) for path in (ROOT / "audit").rglob("*.px[di]"))
    return [*modules("audit"), *sorted(others)]


def text(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return [*ast.walk(tree(path))]


def dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts)


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """The modules, or names in modules, that a module imports anywhere."""
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    if path.suffix in {".pyx", ".pxd"}:
        yield from re.findall(r"^from (\S+) cimport", text(path), re.MULTILINE)
        return
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_file_is_too_long() -> None:
    lengths = {str(path): len(text(path).splitlines()) for path in sources()}
    assert {path: n for path, n in lengths.items() if n > LINES_PER_FILE} == {}


def test_no_function_is_too_long() -> None:
    lengths = {f"{path}: {name}": lines for path in sources() for name, lines in functions(path)}
    assert {name: n for name, n in lengths.items() if n > LINES_PER_FUNCTION} == {}


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """The name of each function of a module, and of how many lines it is."""
    if path.suffix in {".pyx", ".pxi", ".pxd"}:
        for function in re.findall(CYTHON_FUNCTION, text(path), re.MULTILINE):
            yield function.split("(")[0], len(function.rstrip().splitlines())
        return
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_tests_mirror_the_package_or_say_why_not() -> None:
    known = {path.with_suffix("") for path in modules("audit")}
    strays = {
        str(path)
        for path in modules("tests")
        if path.name.startswith("test_")
        and Path("audit", *path.parts[1:-1], path.stem[5:]) not in known
    }
    assert [path for path in strays if ast.get_docstring(tree(Path(path))) is None] == []


def test_each_module_is_tested() -> None:
    known = {name for path in modules("tests") for name in imported(path)}
    untested = {
        str(Path(*path.parts[1:]).with_suffix(""))
        for path in modules("audit")
        if dotted(path) not in known
        and not (ROOT / "tests" / Path(*path.parts[1:-1]) / f"test_{path.stem}.py").exists()
    }
    assert [name for name in sorted(untested) if not _excused(name, TESTED_IN)] == []
    assert [name for name in TESTED_IN if not any(_excused(one, [name]) for one in untested)] == []
    assert [test for test in TESTED_IN.values() if not (ROOT / f"tests/{test}.py").exists()] == []


def _excused(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def test_nothing_is_left_that_nobody_imports() -> None:
    """A module that only tests import is no part of the package."""
    inside = {
        name
        for path in (ROOT / "audit").rglob("*.py*")
        if path.suffix in {".py", ".pyi", ".pyx"}
        for name in imported(path.relative_to(ROOT))
    }
    orphans = {dotted(path) for path in modules("audit")} - inside
    dialects = {f"audit.formats.{name}" for name in MODULES}
    assert orphans - dialects == set(IMPORTED_BY_NAME)


def test_kernels_use_one_another_in_no_circle() -> None:
    files = [path for path in sources() if path.suffix in {".pyx", ".pxd"}]
    uses: dict[str, set[str]] = {dotted(path): set() for path in files}
    for path in files:
        uses[dotted(path)] |= imported(path) - {dotted(path)}
    TopologicalSorter(uses).prepare()  # raises CycleError


def test_a_class_has_a_name_of_its_own() -> None:
    names = Counter(
        node.name
        for path in modules("audit")
        if path.suffix == ".py"
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
    )
    assert {name: count for name, count in names.items() if count > 1} == {}
    of_kernels = {
        name
        for path in sources()
        if path.suffix in {".pyx", ".pxd", ".pxi"}
        for name in re.findall(r"^cdef (?:class|(?:packed )?struct) (\w+)", path.read_text(), re.M)
    }
    # the pool that is simulated has the capacity and the rules of the pool
    assert of_kernels & names.keys() == {"Pool"}


def test_scripts_in_strings_import_what_exists() -> None:
    """Tests run such scripts in other processes, and some of these tests run seldom."""
    found = 0
    for node in (node for path in modules("tests") for node in nodes(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for module, names in re.findall(
                r"^from (audit[\w.]*) import (\w[\w, ]*)", node.value, re.M
            ):
                for name in names.split(", "):
                    found += 1
                    assert resolve_name(f"{module}.{name.split()[0]}"), name
    assert found > 30

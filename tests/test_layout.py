"""Limits on the size of folders, files and functions; tests mirror modules."""

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from audit.formats.dialects import MODULES
from tests.places import ROOT

LINES_PER_FILE: Final = 500
LINES_PER_FUNCTION: Final = 60

CYTHON_FUNCTION: Final = r"^c?p?def (?!class|enum|struct).*(?:\n(?![\w@\"#]).*)*"
"""A definition, and the lines after it that begin with a space or the end of its arguments."""

BESIDE_THE_MIRROR: Final = {
    "tests/cluster/test_fair_starts.py": "a property of several nights, not of one module",
    "tests/cluster/test_gpu_types.py": "a made cluster, from its log to the account of waits",
    "tests/cluster/test_scavenger.py": "a made cluster, from its log to the account of waits",
    "tests/formats/sacct/test_slurmrestd.py": "all modules of the dialect, over made answers",
    "tests/formats/table/test_samples.py": "all modules of the dialect, over made data sets",
    "tests/formats/sacct/test_captures.py": "all modules of the dialect, over captures",
    "tests/ingest/test_pbs_logs.py": "the way of one dialect into the store",
    "tests/formats/test_older_dialects.py": "what all dialects owe, of two",
    "tests/ingest/test_nothing_lost.py": "all of its room, over a long log",
    "tests/ingest/test_sacct_logs.py": "the way of one dialect into the store",
    "tests/mail/test_pages.py": "mails about users and accounts, through a server",
    "tests/metrics/attempts/test_made_sites.py": "who is named on made sites and permuted logs",
    "tests/metrics/attempts/test_real_logs.py": "all of its room, over real logs",
    "tests/nightly/test_fortnight.py": "many nights in a row",
    "tests/nightly/test_inferring.py": "what nights infer, of the modules for all commands",
    "tests/nightly/test_orders.py": "nights in any order",
    "tests/nightly/keeping/test_retention.py": "the part of archiving that removes",
    "tests/nightly/keeping/test_claims.py": "which store an archive belongs to, in several folders",
    "tests/oneoff/test_forms.py": "one log in several forms, up to its figures",
    "tests/report/test_pools.py": "the part of a module about pools",
    "tests/report/render/test_accessible.py": "the accessibility of the page",
    "tests/report/render/test_golden.py": "pieces of what readers get, as they were last looked at",
    "tests/report/render/test_in_chromium.py": "the page as a browser shows it",
    "tests/security/test_configured_texts.py": "one site, at every page, mail and command",
    "tests/security/test_names_with_key.py": "one site, and all that its night leaves",
    "tests/security/test_differencing.py": "pages and mails of several nights, subtracted",
    "tests/security/test_modes.py": "every command that writes, under three umasks",
    "tests/security/test_neighbours.py": "another user of the machine, against every command",
    "tests/security/test_crafted.py": "what a crafted database cannot do, at every command",
    "tests/security/test_statements.py": "what an analyst cannot do, layer by layer",
    "tests/scenario/test_easy.py": "one policy, by hand",
    "tests/scenario/test_papers.py": "examples of a paper",
    "tests/scenario/test_real_logs.py": "all of its room, over real logs",
    "tests/slurm/test_asking.py": "against a Slurm that runs",
    "tests/slurm/test_asked.py": "against a Slurm that runs",
    "tests/slurm/test_dask.py": "against a Slurm that runs",
    "tests/slurm/test_live.py": "against a Slurm that runs",
    "tests/slurm/test_modern.py": "against what a Slurm showed while it ran",
    "tests/security/test_backups.py": "what docs/security.md promises of backups",
    "tests/kernels/scheduling/test_nodes.py": "one part of a module",
    "tests/kernels/scheduling/test_preemption.py": "one part of a module",
    "tests/kernels/scheduling/test_queue.py": "one part of a module",
    "tests/kernels/test_checked.py": "how tests import the kernels",
    "tests/test_bench.py": "logs of bench/, which is no part of the package",
    "tests/test_demo_log.py": "the same, of `make demo`",
    "tests/test_bench_measure.py": "the same, and what it makes of figures",
    "tests/sites/test_comparison.py": "the account of waits, against made sites with known reasons",
    "tests/sites/test_planted.py": "which rules the logs of made sites show",
    "tests/sites/test_passed_over.py": "who is named on made sites",
    "tests/sites/test_outlook.py": "a part of the true scheduler of made sites",
    "tests/sites/test_scheduler.py": "the true scheduler of made sites",
    "tests/sites/test_site.py": "what every made site owes",
    "tests/sites/test_words.py": "the words that months of made sites get",
    "tests/sites/test_advice.py": "gains that advice promises on made sites, and true ones",
    "tests/mail/test_quiet.py": "a circumstance: a period without waits",
    "tests/report/first_page/test_other_pages.py": "page one of more logs, against other programs",
    "tests/workers/test_commands.py": "every command that has work for them",
    "tests/workers/test_ending.py": "a command that a signal ends while they work",
    "tests/test_docs.py": "what the documents promise",
    "tests/test_notebooks.py": "the notebooks of the documents",
    "tests/test_project.py": "what surrounds the code: forms, citation, the site of the documents",
    "tests/nightly/test_dashboards.py": "the file of metrics as Prometheus and Grafana read it",
    "tests/test_full_disk.py": "a circumstance",
    "tests/faults/test_commands.py": "a circumstance, over several nights",
    "tests/faults/test_kills.py": "a circumstance, over several nights",
    "tests/test_layout.py": "the house itself",
    "tests/test_packaging.py": "the wheel and the locks",
    "tests/test_real_logs.py": "whole audits of real logs",
    "tests/test_recompute.py": "the script in docs/report, which shares no code with the package",
    "tests/test_same.py": "the comparison of audits in bench/, which is no part of the package",
    "tests/test_security.py": "what docs/security.md promises",
}
"""Tests that mirror no module, and what they are of instead."""

TESTED_IN: Final = {
    "kernels/delivered/starts": "scenario/delivered/test_fair_starts",
    "analyst/confined": "security/test_statements",
    "analyst/messages": "security/test_statements",
    "cluster/results": "nightly/test_run",
    "config/runs": "config/test_file",
    "config/sections": "config/test_file",
    "files/privacy": "security/test_modes",
    "kernels/placement": "metrics/test_nodes",
    "kernels/waits/walk": "metrics/waits/test_walk",
    "kernels/similar": "scenario/predict/test_similar",
    "kernels/dominant": "metrics/test_dominant_share",
    "kernels/passed_over": "metrics/attempts/test_passed_over",
    "kernels/limited": "metrics/passed/test_limited",
    "report/first_page/elsewhere": "report/first_page/test_compose",
    "report/sections/causes/page_one": "report/first_page/test_compose",
    "report/sections/definitions/example_logs": "report/sections/definitions/test_text",
    "report/sections/machine/text": "report/test_part",
    "report/sections/passed_over/charts": "report/render/test_page",
    "report/sections/waits/text": "report/first_page/test_compose",
    "report/sections/who/reasons": "report/first_page/test_compose",
    "report/sections/who/text": "report/first_page/test_compose",
    "report/notice": "report/sections/test_registry",
    "report/sections/rules/bound": "report/sections/test_findings",
    "kernels/events": "ingest/test_events",
    "mail/ledger": "mail/test_delivery",
    "pipeline/computing": "oneoff/test_audit",
    "report/owner/card": "test_json_answers",
    "metrics/waits/held": "metrics/attempts/test_account",
    "metrics/closed_hours": "scenario/test_limits",
    "report/charts/series": "report/sections/waits/test_charts",
    "report/render/identity": "oneoff/test_verify",
    "store/streams": "store/test_database",
    "studies/commands": "cli/test_oneoff",
    "kernels/windows": "scenario/windows/test_occasions",
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
    """The modules of the package, and the files that kernels include."""
    included = (path.relative_to(ROOT) for path in (ROOT / "audit").rglob("*.pxi"))
    return [*modules("audit"), *sorted(included)]


def text(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path))


def dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts)


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """The modules, or names in modules, that a module imports anywhere."""
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    if path.suffix == ".pyx":
        yield from re.findall(r"^from (\S+) cimport", text(path), re.MULTILINE)
        return
    for node in ast.walk(tree(path)):
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
    if path.suffix in {".pyx", ".pxi"}:
        for function in re.findall(CYTHON_FUNCTION, text(path), re.MULTILINE):
            yield function.split("(")[0], len(function.rstrip().splitlines())
        return
    for node in ast.walk(tree(path)):
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
    assert strays == set(BESIDE_THE_MIRROR)


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


def test_a_class_has_a_name_of_its_own() -> None:
    names = Counter(
        node.name
        for path in modules("audit")
        if path.suffix == ".py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
    )
    assert {name: count for name, count in names.items() if count > 1} == {}

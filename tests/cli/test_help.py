"""The help of all commands: groups, examples that parse, pages that exist, and the next step."""

import shlex
from typing import Any

import pytest
import typer

from audit.cli import app, help
from audit.policies import MOST
from tests.cli.command import Run
from tests.places import ROOT

GROUP = typer.main.get_command(app.app)
CONTEXT = typer.Context(GROUP)


def test_each_command_is_in_a_group_with_an_example_and_a_page(run: Run) -> None:
    names = GROUP.list_commands(CONTEXT)  # type: ignore[attr-defined]
    assert {*help.HELP} == {*names}
    shown = run("--help").stdout
    assert [shown.index(f"{group}:") for group in help.GROUPS] == sorted(
        shown.index(f"{group}:") for group in help.GROUPS
    )
    assert "Other commands" not in shown
    for of in help.HELP.values():
        assert (ROOT / "docs" / of.page).is_file()
    told = run("when", "--help").stdout
    assert "Example: fairaudit when --cpus 64" in told
    assert "Documentation: docs/when.md" in told


@pytest.mark.parametrize("name", help.HELP)
def test_examples_have_options_that_exist(name: str) -> None:
    program, command, *words = shlex.split(help.HELP[name].example)
    assert (program, command) == ("fairaudit", name)
    of = GROUP.get_command(CONTEXT, command)  # type: ignore[attr-defined]
    known = {flag for one in of.params for flag in one.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_a_command_ends_with_the_next_step(run: Run) -> None:
    assert help.next_step(["stuck", "a.swf"]) == help.HELP["stuck"].next_step
    for silent in (["stuck", "a.swf", "--format", "json"], ["stuck", "--help"], ["run"], []):
        assert help.next_step(silent) is None


def test_numbers_have_a_greatest_value(run: Run) -> None:
    studies: Any = GROUP.get_command(CONTEXT, "experiment")  # type: ignore[attr-defined]
    commands = [GROUP.get_command(CONTEXT, name) for name in help.HELP]  # type: ignore[attr-defined]
    numbers = {
        option.opts[0]: option
        for command in (*commands, *studies.commands.values())
        for option in command.params
        if isinstance(getattr(option, "min", None), int)
    }
    numbers.pop("--seed")  # is in no sum
    assert {"--pool-size", "--depth", "--attempts", "--rows", "--threads"} < numbers.keys()
    for option in numbers.values():
        with pytest.raises(typer.BadParameter):
            option.process_value(CONTEXT, str(MOST + 1))
    said = run("audit", "x", "--pool-size", MOST + 1, check=2).stderr
    assert "'--pool-size': 1000000001 is more than 1,000,000,000; see" in said
    assert "1000000000" not in run("audit", "--help").stdout


def test_a_wrong_option_names_the_help_of_its_command(run: Run) -> None:
    said = run("audit", "x", "--resource", "foo", check=2).stderr
    assert "'--resource': 'foo' is not one of 'cpus', 'nodes', 'gpus'; see" in said
    assert "see 'fairaudit audit --help'" in said
    assert "see 'fairaudit --help'" in run("nothing", check=2).stderr

"""Answers for programs: each agrees with its published schema."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from bench.pages import schemas
from tests.cli.command import QUICK, Run
from tests.cli.conftest import run as run  # noqa: PLC0414 (a fixture)
from tests.logs import busy, write
from tests.oneoff.test_when import site as site  # noqa: PLC0414 (a fixture)
from tests.places import ROOT

pytestmark = pytest.mark.usefixtures("short_paper")


FORMATS = FormatChecker()


def is_instant(value: object) -> bool:
    """Whether a text is an instant in UTC."""
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo == UTC


FORMATS.checks("date-time", raises=ValueError)(is_instant)


def schema(name: str) -> dict[str, Any]:
    text = (ROOT / "docs" / "schema" / f"{name}.json").read_text(encoding="utf-8")
    made: dict[str, Any] = json.loads(text)
    return made


def conforms(name: str, text: str) -> Any:
    """The answer in ``text``, which must agree with a schema and have none but its keys."""
    answer = json.loads(text)
    closed = _closed(schema(name))
    Draft202012Validator(closed, format_checker=FORMATS).validate(answer)
    return answer


def _closed(part: Any) -> Any:
    """A schema that allows only the keys that it lists."""
    if isinstance(part, list):
        return [_closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    closed = {key: _closed(value) for key, value in part.items()}
    return closed | {"additionalProperties": False} if "properties" in part else closed


def test_published_schemas_are_those_of_the_code() -> None:
    made = schemas.schemas()
    assert {file.stem for file in schemas.FOLDER.iterdir()} == made.keys()
    for name, of in made.items():
        Draft202012Validator.check_schema(of)
        assert of == schema(name), "run 'make schemas'"


def test_an_audit_and_an_explained_wait(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(120))
    made = run("audit", "a.swf", "--format", "json", "--user", "1", *QUICK)
    answer = conforms("audit", made.stdout)
    assert Path(answer["html"]).is_file()
    assert Path(answer["database"]).is_file()
    assert [Path(page).name for page in answer["owners"]] == ["user-1.html"]
    assert answer["sentence"]
    explained = conforms("explain", run("explain", "60", "--format", "json").stdout)
    assert explained["subject"]["job_id"] == "60"
    assert explained["wait_s"] == explained["subject"]["until"] - explained["subject"]["arrival"]


@pytest.mark.thorough
def test_pending_jobs_and_the_state_of_runs(run: Run, site: Path) -> None:
    of_config = ("--config", "config.toml", "--format", "json")
    lines = run("when", site, "--config", "config.toml").stdout.splitlines()
    answer = conforms("when", run("when", site, *of_config).stdout)
    assert [job["sentence"] for job in answer["jobs"]] == lines
    assert {job["withheld_because"] for job in answer["jobs"]} >= {None, "held"}
    none = conforms("when", run("when", site, "--user", "nobody", *of_config).stdout)
    assert none["jobs"] == []
    run("run", "--config", "config.toml")
    state = conforms("status", run("status", *of_config).stdout)
    assert {entry["stage"] for entry in state["runs"]} >= {"run", "publish"}
    stuck = conforms("stuck", run("stuck", *of_config).stdout)
    assert all(row["cluster"] == "c" for row in stuck)


@pytest.mark.thorough
def test_the_card_of_a_user_has_the_verdict_of_the_page(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(120))
    write(tmp_path / "config.toml", "[report]\nowner_cards = true\n")
    wanted = ("--user", "1", "--account", "1", "--config", "config.toml", *QUICK)
    run("audit", "a.swf", *wanted)
    folder = tmp_path / "fairaudit-out"
    assert [file.name for file in folder.glob("*.json")] == ["user-1.json"]
    card = conforms("card", (folder / "user-1.json").read_text())
    assert (card["user"], card["page"]) == ("1", "user-1.html")
    (pool,) = card["pools"]
    page = (folder / "user-1.html").read_text().replace("\u00a0", " ")
    assert pool["verdict"] in page
    assert card["pending"] == []
    write(tmp_path / "config.toml", "[report]\nowner_cards = false\n")
    run("audit", "a.swf", *wanted)
    assert [*folder.glob("*.json")] == []


@pytest.mark.thorough
def test_pages_and_cards_show_predicted_starts_if_configured(run: Run, site: Path) -> None:
    folder, config = site.parent, site.parent / "config.toml"
    described = config.read_text()
    of_config = ("--config", "config.toml")
    shown = "owner_cards = true\nowner_starts = true"
    for extra in ("owner_cards = true", shown):
        write(config, f"{described}[report]\npdf = false\n{extra}\n")
        run("run", *of_config)
        run("report", "--user", "cem", "--account", "a", *of_config)
        (file,) = folder.rglob("user-cem.json")
        pages = [file.with_suffix(".html"), *folder.rglob("account-a.html")]
        titles = ["When pending jobs should start" in page.read_text() for page in pages]
        card = conforms("card", file.read_text())
        assert bool(card["pending"]) is (extra == shown)
        assert titles == [extra == shown, False]
    answer = conforms("when", run("when", "--user", "cem", *of_config, "--format", "json").stdout)
    made = [job["job_id"] for job in answer["jobs"] if job["p50"]]
    assert sorted(job["job_id"] for job in card["pending"]) == sorted(made)
    assert run("verify", pages[0], *of_config).stdout.startswith("ok")

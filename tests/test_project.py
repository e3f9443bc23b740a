"""Forms, citation, the site of the documentation, the trial of the installation, the licence."""

import re
import shutil
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import audit
from bench.pages import site
from tests import page_commands
from tests.places import ROOT
from tests.report import chromium
from tests.shared import once

pytestmark = pytest.mark.skipif(
    not (ROOT / "CONTRIBUTING.md").exists(), reason="tested outside a checkout"
)


def loaded(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_citation_names_this_version_and_the_five_papers() -> None:
    cited = loaded("CITATION.cff")
    assert cited["version"] == audit.__version__
    assert cited["cff-version"] == "1.2.0"
    assert cited["message"]
    papers = {paper["authors"][0]["family-names"]: paper for paper in cited["references"]}
    assert set(papers) == {"Sabin", "Klusáček", "Bui", "Rodrigo"}
    assert len(cited["references"]) == 5
    for paper in cited["references"]:
        assert paper["title"]
        assert all({"given-names", "family-names"} <= author.keys() for author in paper["authors"])


def test_the_form_asks_for_the_head_of_the_log() -> None:
    for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")):
        form = loaded(str(path.relative_to(ROOT)))
        assert {"name", "description", "body"} <= form.keys()
        ids = [part["id"] for part in form["body"]]
        assert len(ids) == len(set(ids))
    fields = {part["id"]: part for part in loaded(".github/ISSUE_TEMPLATE/log.yml")["body"]}
    assert fields["head"]["validations"] == {"required": True}
    assert "fairaudit refused --head LOG" in fields["head"]["attributes"]["description"]


def test_pre_commit_runs_make_check() -> None:
    [repository] = loaded(".pre-commit-config.yaml")["repos"]
    [hook] = repository["hooks"]
    assert (repository["repo"], hook["entry"]) == ("local", "make check")
    assert re.search("^check:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)


def test_the_readme_says_that_there_is_no_licence() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.findall("licence", readme)) == 1
    assert not list(ROOT.glob("LICEN[CS]E*"))


def test_the_trial_of_the_installation_runs_every_command_of_the_page() -> None:
    trial = (ROOT / ".ci" / "test-installation").read_text(encoding="utf-8")
    text = page_commands.PAGE.read_text(encoding="utf-8")
    found = page_commands.sections(text)
    listed = re.search(r"for name in (.*?); do\n    page", trial)
    assert listed is not None
    run = {quoted or word for quoted, word in re.findall(r'"([^"]+)"|(\S+)', listed[1])}
    run |= {
        quoted or word for quoted, word in re.findall(r'^page (?:"([^"]+)"|(\S+))$', trial, re.M)
    }
    assert run == set(found)
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    assert sum(len(commands.splitlines()) for commands in found.values()) == len(lines)


def test_units_and_page_agree_on_the_places() -> None:
    text = page_commands.PAGE.read_text(encoding="utf-8")
    for unit in sorted((ROOT / "docs" / "systemd").iterdir()):
        content = unit.read_text(encoding="utf-8")
        for place in set(re.findall(r"/(?:opt|srv)/[a-z]+", content)):
            assert f"`{place}`" in text
        if unit.suffix == ".service":
            assert "User=fairaudit" in content


def test_the_site_has_every_page() -> None:
    """Where this fails, a page is missing in ``nav`` of docs/mkdocs.yml."""
    listed = re.findall(r"[\w./-]+\.md$", (ROOT / "docs/mkdocs.yml").read_text(), re.M)
    pages = {path.relative_to(ROOT) for pattern in site.SOURCES for path in ROOT.glob(pattern)}
    assert sorted(listed) == sorted(str(page) for page in pages if page.suffix == ".md")


class _Links(HTMLParser):
    """The addresses that a page loads, and those that it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") in {"stylesheet", "icon", "preload"}:
            self.loaded.append(values["href"])
        if tag == "a" and "href" in values:
            self.linked.append(values["href"])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site; building it fails at a link or an anchor that leads nowhere."""
    for name in ("mkdocs", "material"):
        pytest.importorskip(name, reason="run `make extras`")

    def build(folder: Path) -> None:
        site.main()
        shutil.copytree(site.BUILT, folder / "html")

    return once(tmp_path_factory, "site", build) / "html"


@pytest.mark.thorough
def test_the_site_loads_nothing_from_elsewhere(built: Path) -> None:
    pages = sorted(set(built.rglob("*.html")) - {built / "404.html"})  # which needs a server
    assert len(pages) > 40
    for page in pages:
        links = _Links()
        links.feed(page.read_text(encoding="utf-8"))
        assert links.loaded
        for address in (*links.loaded, *links.linked):
            target = re.split("[?#]", address)[0]
            if address in links.linked and re.match(r"\w+:", target):
                continue
            assert not target or (page.parent / target).exists(), f"{page}: {address}"


FOUND = "[...document.querySelectorAll('.md-search-result__item a')].map(e => e.href)"


@pytest.mark.thorough
@pytest.mark.chromium
@pytest.mark.skipif(not chromium.PROGRAM.exists(), reason="SEARCH NOT TESTED: no chromium")
def test_the_search_works_without_a_server(built: Path) -> None:
    with chromium.Page() as browser:
        browser.call("Page.navigate", url=f"{(built / 'index.html').as_uri()}?q=metrics_accounts")
        for _ in range(200):
            if found := browser.evaluate(FOUND):
                break
            time.sleep(0.2)
        assert any("docs/grafana/" in address for address in found)
        assert {address.split(":")[0] for address in browser.requests} <= {"file", "data", "about"}
        assert not browser.complaints

"""Dashboards of docs/grafana, their queries in a real Prometheus, and its parser on the file."""

import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from audit import config
from audit.config.places import Site
from audit.nightly import metrics_file
from audit.nightly.metrics_file import EDGES_S
from audit.nightly.run import run
from audit.store import database
from tests import stores
from tests.mailserver import free_port
from tests.places import ROOT
from tests.shared import once

GRAFANA = ROOT / "docs" / "grafana"
NOW = 1_700_000_000
USERS = ("ana_lopez", "ben_okafor", "chi_wei", "dora_holm")
FIGURES = ("ingest", "compute", "report", "publish")


def log() -> str:
    """A hundred jobs of users whose accounts are two projects, or have a user's own name."""
    rows = ["JobID|User|Account|Partition|QOS|State|Submit|Start|End|AllocTRES|NNodes"]
    for job in range(1, 101):
        user = USERS[job % 4]
        account = ("physics", "chemistry", "physics", "DORA_HOLM")[job % 4]
        partition, tres = (("cpu", ""), ("gpu", ",gres/gpu:a100=1"))[job % 2]
        submit = NOW - 40 * 86_400 + 600 * job
        start = submit + (0, 30, 60, 61, 5_000, 90_000, 800_000)[job % 7]
        rows.append(
            f"{job}|{user}|{account}|{partition}|normal|COMPLETED|{submit}|{start}|{start + 3_600}"
            f"|cpu=4,node=1,mem=4G{tres}|1"
        )
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site's folder after its first run, with ``fair.prom``."""

    def make(folder: Path) -> None:
        (folder / "log.psv").write_text(log())
        (folder / "config.toml").write_text(
            "[report]\npdf = false\n"
            "[service]\nmetrics_file = 'fair.prom'\nmetrics_accounts = true\n"
            "[[clusters]]\nname = 'alpha'\nzone = 'UTC'\nsources = [{files = 'log.psv'}]\n"
        )
        assert run(Site(config.load(folder / "config.toml"), folder), NOW, stages=FIGURES)

    return once(tmp_path_factory, "night-with-metrics", make)


def waits(night: Path, where: str) -> list[int]:
    with stores.published(night / "fairaudit.duckdb") as con:
        query = f"SELECT wait_s FROM job_fairness WHERE wait_s IS NOT NULL AND {where}"
        return [wait for (wait,) in database.rows(con, query)]


@pytest.mark.thorough
def test_prometheus_reads_the_file_and_its_histograms_count_the_waits(night: Path) -> None:
    parser = pytest.importorskip("prometheus_client.parser", reason="run `make extras`")
    text = (night / "fair.prom").read_text()
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert set(families) == set(metrics_file._HELP)
    for prefix, label, values in (
        ("", "partition", ("cpu", "gpu")),
        ("account_", "account", ("physics", "chemistry")),
    ):
        family = families[f"fairaudit_{prefix}wait_distribution_seconds"]
        assert family.type == "histogram"
        assert {sample.labels[label] for sample in family.samples} == set(values)
        for value in values:
            expected = waits(night, f"{label} = '{value}'")
            found: dict[str, float] = {}
            for sample in family.samples:
                if sample.labels[label] == value:
                    found[sample.labels.get("le", sample.name.rsplit("_", 1)[1])] = sample.value
            assert found == {
                **{str(edge): sum(wait <= edge for wait in expected) for edge in EDGES_S},
                "+Inf": len(expected),
                "count": len(expected),
                "sum": sum(expected),
            }


def test_no_user_is_named_and_accounts_only_on_request(night: Path) -> None:
    text = (night / "fair.prom").read_text()
    assert 'account="physics"' in text
    for user in USERS:  # also as the name of an account
        assert user not in text.lower()
    with closing(database.open_store(night / "fairaudit-state" / "store.duckdb")) as con:
        assert "account=" not in metrics_file.text(con, NOW, 0)


@pytest.mark.thorough
def test_the_dashboards_are_those_of_their_generator() -> None:
    """Where this fails: ``make dashboards``."""
    pytest.importorskip("grafana_foundation_sdk", reason="run `make extras`")
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.dashboard import Dashboard

    from bench.pages.dashboards import dashboards

    made = dashboards()
    assert {path.name for path in GRAFANA.glob("*.json")} == set(made)
    for name, text in made.items():
        assert (GRAFANA / name).read_text(encoding="utf-8") == text
        loaded = Dashboard.from_json(json.loads(text))
        assert JSONEncoder(sort_keys=True, indent=2).encode(loaded) + "\n" == text


def queries() -> Iterator[tuple[str, str]]:
    """The queries of all panels, with the dashboard's variables filled in."""
    for path in sorted(GRAFANA.glob("*.json")):
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
            for target in panel["targets"]:
                expression = target["expr"].replace("$cluster", "alpha").replace("$pool", "all")
                yield f"{path.name}: {panel['title']}", expression


def test_every_query_names_metrics_and_labels_of_the_file(night: Path) -> None:
    text = (night / "fair.prom").read_text()
    known = set(re.findall(r"^(\w+)\{?", text, re.M))
    labels = set(re.findall(r'(\w+)="', text))
    seen = set()
    for where, expression in queries():
        assert "$" not in expression
        names = set(re.findall(r"fairaudit_\w+", expression))
        assert names <= known, where
        assert set(re.findall(r'(\w+)="', expression)) <= labels
        seen |= names
    assert len(seen) >= 7


@pytest.fixture(scope="module")
def prometheus(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that scrapes the file through node_exporter."""
    programs = ("prometheus", "prometheus-node-exporter")
    if missing := [name for name in programs if not shutil.which(name)]:
        pytest.skip(f"the queries of dashboards are not run: {', '.join(missing)} missing")
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "texts").mkdir()
    shutil.copy(night / "fair.prom", folder / "texts")
    exporter, server = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    (folder / "prometheus.yml").write_text(
        "scrape_configs:\n- job_name: node\n  scrape_interval: 1s\n"
        f"  static_configs: [{{targets: ['{exporter}']}}]\n"
    )
    started = [
        subprocess.Popen(command, cwd=folder, stderr=(folder / command[0]).open("w"))
        for command in (
            (
                *("prometheus-node-exporter", "--collector.disable-defaults"),
                *("--collector.textfile", f"--collector.textfile.directory={folder / 'texts'}"),
                f"--web.listen-address={exporter}",
            ),
            (
                *("prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data"),
                f"--web.listen-address={server}",
            ),
        )
    ]
    try:
        wait_for(server)
        yield server
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


def asked(server: str, path: str, **values: str) -> Any:
    address = f"http://{server}/api/v1/{path}?{urllib.parse.urlencode(values)}"
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)["data"]


def wait_for(server: str) -> None:
    for _ in range(600):
        try:
            if asked(server, "query", query="fairaudit_last_run_failures")["result"]:
                return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.2)
    pytest.fail("Prometheus did not scrape the file")


@pytest.mark.thorough
def test_prometheus_answers_every_query_of_the_dashboards(prometheus: str, night: Path) -> None:
    for where, expression in queries():
        result = asked(prometheus, "query", query=expression)["result"]
        assert result, f"{where}: {expression}"
        assert all(float(one["value"][1]) >= 0 for one in result), where
    longer = {
        one["metric"]["partition"]: float(one["value"][1])
        for where, expression in queries()
        if "longer" in where and "by partition" in where
        for one in asked(prometheus, "query", query=expression)["result"]
    }
    for partition, share in longer.items():
        found = waits(night, f"partition = '{partition}'")
        assert share == pytest.approx(sum(wait > 3_600 for wait in found) / len(found))
    assert set(longer) == {"cpu", "gpu"}
    labels = asked(prometheus, "series", **{"match[]": '{__name__=~"fairaudit.*"}'})
    assert not [user for user in USERS if user in json.dumps(labels).lower()]

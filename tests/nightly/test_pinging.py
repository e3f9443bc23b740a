"""Pings of a run's begin and end, to a server of the test's own; and what happens without one."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from audit import config
from audit.config.places import Site
from audit.errors import ConfigError, LockedError, UsageError
from audit.files import lock
from audit.nightly import pinging
from audit.nightly.run import run
from audit.nightly.stages import StoppedError
from tests.logs import write
from tests.nightly.test_run import NOW, month, site

SECRET = "0b7f3a52"


class Monitor(ThreadingHTTPServer):
    """Records requests, and answers with a given status."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.told: list[tuple[str, str]] = []
        self.status = 200
        self.pause = threading.Event()
        self.slow = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/ping/{SECRET}"


class _Handler(BaseHTTPRequestHandler):
    server: Monitor

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.told.append((self.path, text))
        if self.server.slow:
            self.server.pause.wait(30)
        with suppress(OSError):
            self.send_response(self.server.status)
            if self.server.status == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()

    do_GET = do_POST  # noqa: N815 - the server's own name

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def monitor() -> Iterator[Monitor]:
    with Monitor() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.pause.set()
            server.shutdown()
            thread.join()


def pinging_site(folder: Path, **service: object) -> config.Config:
    return config.Config.model_validate({**site(folder).model_dump(), "service": service})


@pytest.mark.thorough
def test_begin_success_and_failure_are_reported_without_a_name(tmp_path: Path) -> None:
    with monitor() as server:
        settings = pinging_site(tmp_path, ping=server.address)
        log = write(tmp_path / "logs" / "secret-name.swf", month(0, jobs=9))
        run(Site(settings, tmp_path), NOW)
        path = f"/ping/{SECRET}"
        assert server.told == [
            (f"{path}/start", "c: run begins"),
            (path, "c: run ended: 1 logs, 1 periods, 1 reports, 0 mails"),
        ]
        server.told.clear()
        log.write_text("no log at all\n")
        assert run(Site(settings, tmp_path), NOW).failures
        assert [where for where, _ in server.told] == [f"{path}/start", f"{path}/fail"]
        assert server.told[1][1] == "c: run failed: 1 x DialectError; 'fairaudit status' says why"

        server.told.clear()
        with lock.held(tmp_path / "fairaudit-state" / "store.duckdb"), pytest.raises(LockedError):
            run(Site(settings, tmp_path), NOW)
        run(Site(settings, tmp_path), NOW, "2026-01")  # not all of a night
        run(Site(settings, tmp_path), NOW, stages=("publish",))
        assert server.told == []
        with pytest.raises(StoppedError):
            run(Site(settings, tmp_path), NOW, stopping=lambda: True)
        assert [where for where, _ in server.told] == [f"{path}/start"]

        server.told.clear()
        (tmp_path / "fairaudit-state" / "store.duckdb").write_bytes(b"no database" * 999)
        with pytest.raises(Exception, match="not a DuckDB database"):
            run(Site(settings, tmp_path), NOW)
        assert [where for where, _ in server.told] == [f"{path}/start", f"{path}/fail"]


def test_clusters_have_addresses_of_their_own_and_share_one(tmp_path: Path) -> None:
    with monitor() as server:
        clusters = tuple({"name": name} for name in ("a", "b", "c"))
        by_cluster = {"b": f"{server.address}-b?create=1"}
        service = {"ping": server.address, "ping_by_cluster": by_cluster}
        settings = config.Config.model_validate({"clusters": clusters, "service": service})
        run(Site(settings, tmp_path), NOW)
        path = f"/ping/{SECRET}"
        begun = [where for where, text in server.told if text.endswith("run begins")]
        assert begun == [f"{path}/start", f"{path}-b/start?create=1"]
        server.told.clear()
        run(Site(settings, tmp_path), NOW, cluster="b")
        told = [where for where, _ in server.told]
        assert told == [f"{path}-b/start?create=1", f"{path}-b?create=1"]


@pytest.mark.thorough
def test_a_monitor_that_is_away_costs_the_night_nothing(tmp_path: Path) -> None:
    site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    with monitor() as server:
        address = server.address
        server.status = 500
        answer = "service.ping: 127.0.0.1 was not notified (end): it answered 500"
        assert pinging.send(address, "", "x", 5) == answer
        server.status = 302
        assert "it answered 302" in str(pinging.send(address, "start", "x", 5))
        assert not any("elsewhere" in where for where, _ in server.told)
        server.slow = True
        begun = time.monotonic()
        assert str(pinging.send(address, "fail", "x", 0.2)).endswith(": no answer in 0.2 s")
        assert time.monotonic() - begun < 10
    night = run(Site(pinging_site(tmp_path, ping=address), tmp_path), NOW)
    assert night.failures == []
    assert len(night.warnings) >= 2
    assert "service.ping: 127.0.0.1 was not notified (start): " in night.warnings[0]
    assert not any(SECRET in warning for warning in night.warnings)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (f"http://hc.example.org/{SECRET}", "must begin with https://"),
        (f"https://user:pass@hc.example.org/{SECRET}", "must have no user, password or fragment"),
        (f"https://hc.example.org/{SECRET}#x", "must have no user, password or fragment"),
        (f"ftp://hc.example.org/{SECRET}", "must be an address"),
        (f"https:///{SECRET}", "must be an address"),
        (f"https://hc.example.org:x/{SECRET}", "must be an address"),
        (f"https://hc.example.org/ {SECRET}", "must be an address"),
    ],
)
def test_wrong_addresses_are_reported_by_key_and_not_shown(
    tmp_path: Path, address: str, said: str
) -> None:
    for keys in (f'ping = "{address}"', f'ping_by_cluster = {{ c = "{address}" }}'):
        path = write(tmp_path / "my.toml", f"[service]\n{keys}\n")
        with pytest.raises(ConfigError, match=r"service\.ping") as caught:
            config.load(path)
        assert said in str(caught.value)
        assert SECRET not in str(caught.value)


def test_a_monitor_on_this_machine_needs_no_encryption(tmp_path: Path) -> None:
    for host in ("localhost", "127.8.0.1:80", "[::1]:8000"):
        assert config.Service(ping=f"http://{host}/x").ping == f"http://{host}/x"
    path = write(tmp_path / "a.toml", '[service]\nping_by_cluster = { d = "https://a/b" }\n')
    with pytest.raises(UsageError, match=r"service\.ping_by_cluster\.d: no such cluster"):
        config.load(path)

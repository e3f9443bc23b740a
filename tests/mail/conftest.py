"""A server that mails go to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import mailserver
from tests.mailserver import PASSWORD, Server


@pytest.fixture(scope="module")
def cert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mailserver.certificate(tmp_path_factory.mktemp("cert"))


@pytest.fixture
def server(cert: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("MAIL_SECRET", PASSWORD)
    with mailserver.running(cert) as server:
        yield server

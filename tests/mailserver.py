"""A mail server on this machine, with TLS and login, whose faults a test can set."""

import asyncio
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

PASSWORD = "geheim-&-lang"
HANG_S = 30.0
"""Longer than any test waits."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def certificate(folder: Path) -> Path:
    """A new certificate for ``localhost``, which vouches for itself, and its key in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl: mail over TLS is not tested (on Debian: apt-get install openssl)")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert),
        ],
        check=True,
        capture_output=True,
    )
    cert.write_bytes(cert.read_bytes() + key.read_bytes())
    return cert


@dataclass
class Server:
    """The settings of the server, and the mails it received."""

    port: int
    got: list[tuple[str, EmailMessage]] = field(default_factory=list)
    """Recipient and mail, of those taken."""
    asked: list[str] = field(default_factory=list)
    """Recipients of each try."""
    answers: dict[str, list[str]] = field(default_factory=dict)
    """Answers to RCPT, by recipient, one after the other; later ones succeed."""
    content_answers: dict[str, list[str]] = field(default_factory=dict)
    """The same to a mail's text; ``drop`` cuts the line, ``250 drop`` after the mail was taken;
    ``hang`` says nothing."""
    before_rcpt: Callable[[str], None] | None = None
    on_content: Callable[[str], None] | None = None

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        self.asked.append(address)
        if self.before_rcpt is not None:
            await asyncio.to_thread(self.before_rcpt, address)
        answer = (self.answers.get(address) or ["250 OK"]).pop(0)
        if answer == "drop":
            server.transport.abort()
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        (address,) = envelope.rcpt_tos
        if self.on_content is not None:
            self.on_content(address)
        answer = (self.content_answers.get(address) or ["250 OK"]).pop(0)
        if answer.endswith("drop"):
            server.transport.abort()
        if answer == "hang":
            await asyncio.sleep(HANG_S)
        if answer[0] == "2":
            mail = message_from_bytes(envelope.content, policy=policy.default)
            assert isinstance(mail, EmailMessage)
            self.got.append((address, mail))
        return answer

    @property
    def recipients(self) -> list[str]:
        """The recipients of the received mails, sorted."""
        return sorted(address for address, _ in self.got)


@contextmanager
def running(cert: Path | None, *, tls: bool = False, says: str = "") -> Iterator[Server]:
    """A server for as long as the block runs.

    Args:
        cert: its certificate and key; None: one without encryption and login.
        tls: whether the line is encrypted from the start, not by STARTTLS.
        says: what it answers to a wrong password.
    """
    options: dict[str, Any] = {}
    if cert is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert)
        options = {"ssl_context": context} if tls else {"tls_context": context}
        options |= {"require_starttls": not tls, "auth_require_tls": not tls}

        def check(_server: Any, _session: Any, _envelope: Any, _how: str, data: Any) -> AuthResult:
            good = (data.login, data.password) == (b"fairaudit", PASSWORD.encode())
            return AuthResult(success=good, handled=good or not says, message=says or None)

        options |= {"authenticator": check, "auth_required": True}
    server = Server(free_port())
    controller = Controller(server, hostname="127.0.0.1", port=server.port, **options)
    controller.start()
    try:
        yield server
    finally:
        controller.stop(no_assert=True)

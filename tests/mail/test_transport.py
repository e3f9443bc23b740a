"""Mails handed over to a real server that refuses, drops, hangs and lies, and to a folder."""

import socket
import stat
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage
from pathlib import Path

import pytest

from audit.config import Mail
from audit.errors import DeliveryError
from audit.mail import message as mail
from audit.mail import transport
from audit.mail.transport import DeliveryOutcome, Reply
from tests import mailserver
from tests.mailserver import PASSWORD, Server

TO = "anna@example.org"


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_SECRET", PASSWORD)


def settings(port: int, cert: Path | None, **changes: object) -> Mail:
    given: dict[str, object] = {
        "via": "smtp",
        "host": "localhost",
        "port": port,
        "sender": "audit@example.org",
        "timeout_s": 20,
        "ca_file": str(cert) if cert else None,
        "user": "fairaudit",
        "password_env": "MAIL_SECRET",
    }
    return Mail.model_validate({**given, **changes})


def hand_over(given: Mail, text: str = "text", folder: Path = Path()) -> tuple[Reply, int]:
    """The answer, and how often it was said that the mail is being sent."""
    envelope = mail.Envelope("audit@example.org", TO, "<1@e.org>", 0)
    message = mail.note("subject", text, envelope)
    said: list[None] = []
    answer = transport.post(given, folder).hand_over(message, TO, lambda: said.append(None))
    return answer, len(said)


def test_starttls_and_login(server: Server, cert: Path) -> None:
    answer, said = hand_over(settings(server.port, cert), "one\n.\n..two\n.three — ünï\n")
    assert (answer, said) == (Reply(DeliveryOutcome.SENT), 1)
    ((recipient, got),) = server.got
    assert recipient == TO
    assert got["Message-ID"] == "<1@e.org>"
    assert got.get_content().replace("\r\n", "\n") == "one\n.\n..two\n.three — ünï\n"


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_tls_from_the_start(cert: Path) -> None:
    with mailserver.running(cert, tls=True) as server:
        answer, _ = hand_over(settings(server.port, cert, security="tls"))
        assert answer.outcome is DeliveryOutcome.SENT
        assert server.recipients == [TO]


def test_a_certificate_that_cannot_be_verified(server: Server, cert: Path, tmp_path: Path) -> None:
    for given, why in (
        (settings(server.port, None), "certificate"),
        (settings(server.port, cert, host="127.0.0.1"), "IP address mismatch"),
        (settings(server.port, mailserver.certificate(tmp_path)), "certificate"),
    ):
        answer, said = hand_over(given)
        assert answer.outcome is DeliveryOutcome.BARRED
        assert why in answer.said
        assert said == 0
    assert server.asked == []


def test_nothing_is_stated_without_encryption() -> None:
    with mailserver.running(None) as server:
        answer, said = hand_over(settings(server.port, None))
        assert answer.outcome is DeliveryOutcome.BARRED
        assert "STARTTLS" in answer.said
        assert (said, server.asked) == (0, [])
        plain = settings(server.port, None, security="none", user=None, password_env=None)
        assert hand_over(plain)[0].outcome is DeliveryOutcome.SENT


def test_a_wrong_password_is_reported_nowhere(cert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_SECRET", "wrong-one")
    with mailserver.running(cert, says="535 not wrong-one, nor AGZhaXJhdWRpdAB3cm9uZy1vbmU=") as at:
        answer, _ = hand_over(settings(at.port, cert))
    assert answer == Reply(DeliveryOutcome.BARRED, "localhost: 535 not (password), nor (password)")
    assert "wrong-one" not in repr(transport.post(settings(1, cert), Path()))


@pytest.mark.parametrize(
    ("rcpt", "content", "outcome", "said", "told"),
    [
        ("550 no such user", None, DeliveryOutcome.REFUSED, 0, "550 no such user"),
        ("451 later", None, DeliveryOutcome.LATER, 0, "451 later"),
        ("drop", None, DeliveryOutcome.LATER, 0, ""),
        (None, "554 spam\x1b[31m", DeliveryOutcome.REFUSED, 1, "554 spam"),
        (None, "452 full", DeliveryOutcome.LATER, 1, "452 full"),
        (None, "drop", DeliveryOutcome.UNKNOWN, 1, "after the mail was sent"),
        (None, "hang", DeliveryOutcome.UNKNOWN, 1, "no answer in time"),
    ],
)
def test_what_the_server_does_decides(
    server: Server,
    cert: Path,
    rcpt: str | None,
    content: str | None,
    outcome: DeliveryOutcome,
    said: int,
    told: str,
) -> None:
    server.answers[TO] = [rcpt] if rcpt else []
    server.content_answers[TO] = [content] if content else []
    timeout_s = 1 if content == "hang" else 20
    answer, times = hand_over(settings(server.port, cert, timeout_s=timeout_s))
    assert (answer.outcome, times) == (outcome, said)
    assert told in answer.said
    assert server.got == []


def test_nobody_there_and_somebody_mute() -> None:
    given = settings(mailserver.free_port(), None)
    answer, said = hand_over(given)
    assert (answer.outcome, said) == (DeliveryOutcome.DOWN, 0)
    assert "refused" in answer.said
    with socket.create_server(("127.0.0.1", 0)) as mute:
        given = settings(mute.getsockname()[1], None, host="127.0.0.1", timeout_s=1)
        assert hand_over(given)[0].said == "127.0.0.1: no answer in time (mail.timeout_s)"


ENCODED = "=?utf-8?q?=0d=0aBcc:_x@x?="


def forged(header: str, text: str) -> EmailMessage:
    """A mail with one header that no name was broken in."""
    message = mail.note("subject", "text", mail.Envelope("audit@example.org", TO, "<1@e.org>", 0))
    del message[header]
    message[header] = text
    return message


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("Subject", ENCODED),
        ("Subject", f"ü {ENCODED} b"),
        ("X-Any", ENCODED),
        ("Content-Disposition", f'attachment; filename="{ENCODED}"'),
    ],
)
def test_a_mail_with_other_headers_than_those_set_is_not_sent(
    server: Server, cert: Path, tmp_path: Path, header: str, text: str
) -> None:
    outbox = Mail(via="outbox", outbox="out", sender="audit@example.org")
    set_, answers = forged(header, text), []
    for given in (settings(server.port, cert), outbox):
        answers.append(transport.post(given, tmp_path).hand_over(set_, TO, lambda: None))
    if {one.outcome for one in answers} == {DeliveryOutcome.REFUSED}:
        assert all("'fairaudit doctor'" in one.said for one in answers)
        assert (server.asked, list(tmp_path.iterdir())) == ([], [])
    else:  # a version of Python without the defect writes the header as it was set
        assert not transport.breaks_headers()
        written = [message_from_bytes(file.read_bytes()) for file in (tmp_path / "out").iterdir()]
        assert [server.got.pop()[1].keys(), *(one.keys() for one in written)] == [set_.keys()] * 2


def test_an_encoded_word_in_a_subject_arrives_as_text(server: Server, cert: Path) -> None:
    post = transport.post(settings(server.port, cert), Path())
    envelope = mail.Envelope("audit@example.org", TO, "<1@e.org>", 0)
    for subject in (ENCODED, f"ü {ENCODED}", "=?utf-8?q?hello?=", " ".join([ENCODED] * 6)):
        message = mail.note(subject, "text", envelope)
        assert post.hand_over(message, TO, lambda: None) == Reply(DeliveryOutcome.SENT)
        _, got = server.got.pop()
        assert got.keys() == message.keys()
        assert "Bcc" not in got
        assert got["Subject"].split() == subject.replace("=?", "= ?").split()


def test_it_is_known_whether_python_breaks_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        written = forged("Subject", ENCODED).as_bytes()
    except MessageError:
        written = b""
    assert transport.breaks_headers() is (b"\nBcc:" in written)
    monkeypatch.setattr(EmailMessage, "as_bytes", refusing)
    assert not transport.breaks_headers()


def refusing(*_: object) -> bytes:
    """The behaviour of newer versions of Python."""
    raise MessageError


def test_a_folder(tmp_path: Path) -> None:
    given = Mail(via="outbox", outbox="out", sender="audit@example.org")
    for _ in range(2):
        assert hand_over(given, folder=tmp_path) == (Reply(DeliveryOutcome.SENT), 1)
    (file,) = (tmp_path / "out").iterdir()
    assert file.name == "1.eml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert b"Subject: subject\r\n" in file.read_bytes()
    (tmp_path / "file").touch()
    taken = Mail(via="outbox", outbox="file/out", sender="audit@example.org")
    answer, said = hand_over(taken, folder=tmp_path)
    assert (answer.outcome, said) == (DeliveryOutcome.DOWN, 0)
    assert "mail.outbox" in answer.said


def test_where_the_password_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{PASSWORD}\n")
    file.chmod(0o640)
    given = settings(1, None, password_env=None, password_file="secret")
    found = transport.post(given, tmp_path)
    assert isinstance(found, transport.Smtp)
    assert found.password == PASSWORD
    file.chmod(0o644)
    with pytest.raises(DeliveryError, match="others can read the password in it: chmod o="):
        transport.post(given, tmp_path)
    file.chmod(0o600)
    for content, why in (("\n", "is empty"), ("pässword\n", "must consist of printable ASCII")):
        file.write_text(content)
        with pytest.raises(DeliveryError, match=why) as caught:
            transport.post(given, tmp_path)
        assert "pässword" not in str(caught.value)
    file.unlink()
    with pytest.raises(DeliveryError, match="cannot be read"):
        transport.post(given, tmp_path)
    monkeypatch.delenv("MAIL_SECRET")
    with pytest.raises(DeliveryError, match=r"MAIL_SECRET .* is not set"):
        transport.post(settings(1, None), tmp_path)
    with pytest.raises(DeliveryError, match=r"mail\.ca_file"):
        transport.post(settings(1, tmp_path / "none", user=None, password_env=None), tmp_path)

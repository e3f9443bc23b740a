"""Passes mails to a server, or writes them to a folder. The only module that uses smtplib.

Each mail has one recipient and its own connection, so outcomes are independent. A mail that was
refused or put off did not arrive, and one that was accepted did. If the connection is lost between
the last byte and the answer, the outcome is unknown. A mail is handed over only if the headers in
its bytes are those that were set.
"""

import base64
import os
import re
import smtplib
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import EmailMessage, Message
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from audit.config import Mail
from audit.errors import WITHHELD, DeliveryError
from audit.files import caches, folders, replace

_ENHANCED: Final = re.compile(r"[245]\.\d{1,3}\.\d{1,3}\b")  # status codes of RFC 3463
_PORTS: Final = {"starttls": 587, "tls": 465, "none": 25}


class DeliveryOutcome(StrEnum):
    """The outcome of handing over a mail."""

    SENT = "sent"
    REFUSED = "refused"  # for good
    LATER = "later"  # not accepted now; perhaps another time
    UNKNOWN = "unknown"  # the connection was lost before the server answered
    DOWN = "down"  # no server can be reached, for this mail or any other; perhaps another time
    BARRED = "barred"  # the server cannot be used as configured, for this mail or any other


class Reply(NamedTuple):
    """An outcome, and the words of the server or system."""

    outcome: DeliveryOutcome
    said: str = ""


_ALTERED: Final = Reply(
    DeliveryOutcome.REFUSED,
    "Python would write other headers than those of this mail; 'fairaudit doctor' says whether "
    "this Python has a known defect",
)


def post(mail: Mail, folder: Path, *, hides: bool = False) -> "Post":
    """Return the transport that config.toml selects; ``via`` is not none.

    ``hides`` withholds what a server says, which may hold names of people. Raises DeliveryError if
    the password or the certificates cannot be read.
    """
    assert mail.sender is not None  # config.Mail requires it
    if mail.via == "outbox":
        return Outbox(folder / mail.outbox)
    return Smtp(mail, mail.sender, _password(mail, folder), _trust(mail, folder), hides)


@dataclass(frozen=True, slots=True)
class Outbox:
    """A folder that gets one file for each mail, for another program to send."""

    folder: Path

    def hand_over(
        self, message: EmailMessage, recipient: str, sending: Callable[[], None]
    ) -> Reply:
        """Write one mail, and call ``sending`` before; the file is named after the mail's id."""
        name = re.sub(r"[^A-Za-z0-9.-]", "", str(message["Message-ID"]).split("@")[0])
        if (content := _written(message)) is None:
            return _ALTERED
        try:
            folders.make(self.folder)
            with replace.drafting(self.folder / f"{name}.eml", alone=True) as draft:
                handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                with os.fdopen(handle, "wb") as out:
                    out.write(content)
                replace.sync(draft)
                sending()
        except OSError as error:
            return self._unwritable(error)
        return Reply(DeliveryOutcome.SENT)

    def reach(self) -> Reply | None:
        """Return None if a mail could be written, or the reason of the failure."""
        try:
            folders.make(self.folder)
        except OSError as error:
            return self._unwritable(error)
        refused = caches.refused(self.folder)
        return None if refused is None else self._unwritable(refused)

    def _unwritable(self, error: OSError) -> Reply:
        reply = f"{self.folder}: cannot be written: {error.strerror} (mail.outbox)"
        return Reply(DeliveryOutcome.DOWN, reply)


@dataclass(frozen=True, slots=True)
class Smtp:
    """A mail server."""

    mail: Mail
    sender: str
    password: str | None = field(repr=False)
    trust: ssl.SSLContext = field(repr=False)
    hides: bool = False  # whether only the codes of the server's answers are kept

    def hand_over(
        self, message: EmailMessage, recipient: str, sending: Callable[[], None]
    ) -> Reply:
        """Send one mail; call ``sending`` before the first byte that may get it accepted."""
        if (content := _written(message)) is None:
            return _ALTERED
        server = self._reached()
        if isinstance(server, Reply):
            return server
        try:
            return self._transaction(server, content, recipient, sending)
        finally:
            with suppress(smtplib.SMTPException, OSError):
                server.close()

    def reach(self) -> Reply | None:
        """Connect until a mail could be handed over; return None, or the reason of the failure."""
        server = self._reached()
        if isinstance(server, Reply):
            return server
        with suppress(smtplib.SMTPException, OSError):
            server.quit()
        return None

    def _reached(self) -> smtplib.SMTP | Reply:
        """Return a connection on which mail may be sent, or the reason of the failure."""
        try:
            return self._connected()
        except smtplib.SMTPNotSupportedError as error:
            return self._answer(DeliveryOutcome.BARRED, str(error))
        except ssl.SSLCertVerificationError as error:
            why = f"its certificate cannot be verified: {error.verify_message}"
            remedy = "set mail.ca_file to the certificate of the site's own authority"
            return self._answer(DeliveryOutcome.BARRED, f"{why}; {remedy}")
        except smtplib.SMTPResponseException as error:
            gone = DeliveryOutcome.DOWN if 400 <= error.smtp_code < 500 else DeliveryOutcome.BARRED
            return self._answer(gone, self._text(error.smtp_code, error.smtp_error))
        except (smtplib.SMTPException, OSError) as error:
            return self._answer(DeliveryOutcome.DOWN, _reason(error))

    def _connected(self) -> smtplib.SMTP:
        """Return a connection on which mail may be sent: encrypted and logged in, as configured."""
        mail = self.mail
        where: Any = {"port": mail.port or _PORTS[mail.security], "timeout": mail.timeout_s}
        server = (
            smtplib.SMTP_SSL(mail.host, context=self.trust, **where)
            if mail.security == "tls"
            else smtplib.SMTP(mail.host, **where)
        )
        try:
            if mail.security == "starttls":
                server.starttls(context=self.trust)  # raises if the server does not offer it
            server.ehlo_or_helo_if_needed()
            if mail.user is not None:
                server.login(mail.user, self.password or "")
        except BaseException:
            server.close()
            raise
        return server

    def _transaction(
        self,
        server: smtplib.SMTP,
        content: bytes,
        recipient: str,
        sending: Callable[[], None],
    ) -> Reply:
        content = re.sub(rb"(?m)^\.", b"..", content)
        failed = DeliveryOutcome.LATER
        try:
            for command in (f"MAIL FROM:<{self.sender}>", f"RCPT TO:<{recipient}>", "DATA"):
                code, reply = server.docmd(command)
                if code >= 400:
                    return self._answer(_refusal(code), self._text(code, reply))
            sending()
            failed = DeliveryOutcome.UNKNOWN
            server.send(content + (b"" if content.endswith(b"\r\n") else b"\r\n") + b".\r\n")
            code, reply = server.getreply()
        except (smtplib.SMTPException, OSError) as error:
            when = "after the mail was sent: " if failed is DeliveryOutcome.UNKNOWN else ""
            return self._answer(failed, f"{when}{_reason(error)}")
        if code >= 400:
            return self._answer(_refusal(code), self._text(code, reply))
        with suppress(smtplib.SMTPException, OSError):
            server.quit()
        return Reply(DeliveryOutcome.SENT)

    def _text(self, code: int, reply: bytes | str) -> str:
        """Return a server's reply on one line."""
        text = reply if isinstance(reply, str) else reply.decode(errors="backslashreplace")
        if self.hides:
            enhanced = _ENHANCED.match(text)
            return f"{code}{f' {enhanced[0]}' if enhanced else ''}{WITHHELD}"
        return f"{code} {' '.join(text.split())}"

    def _answer(self, outcome: DeliveryOutcome, reply: str) -> Reply:
        """Return an answer without the password, in case the server repeats it."""
        for secret in _forms(self.mail.user, self.password):
            reply = reply.replace(secret, "(password)")
        return Reply(outcome, f"{self.mail.host}: {reply}"[:500])


Post = Outbox | Smtp


def breaks_headers() -> bool:
    """Return whether this Python writes a line break within a header (CVE-2024-6923)."""
    mail = EmailMessage(policy=policy.SMTP)
    mail["Subject"] = "=?utf-8?q?=0d=0aX-Test:_x?="
    try:
        return b"\nX-Test:" in mail.as_bytes()
    except MessageError:
        return False


def _written(message: EmailMessage) -> bytes | None:
    """Return the bytes of a mail; None if these do not have the headers that were set.

    White space is not compared, because Python loses some of it between encoded words.
    """
    try:
        content = message.as_bytes()
    except MessageError:  # what newer versions of Python raise instead
        return None
    read = message_from_bytes(content, policy=policy.default)
    return content if _headers(read) == _headers(message) else None


def _headers(message: Message) -> list[list[tuple[str, str]]]:
    """Return the headers of each part of a mail without white space."""
    return [
        [(name, "".join(str(value).split())) for name, value in part.items()]
        for part in message.walk()
    ]


def _refusal(code: int) -> DeliveryOutcome:
    return DeliveryOutcome.LATER if code < 500 else DeliveryOutcome.REFUSED


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError) or "timed out" in str(error):  # smtplib wraps it
        return "no answer in time (mail.timeout_s)"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def _forms(user: str | None, password: str | None) -> list[str]:
    """Return the password in each form in which it is transmitted, longest first."""
    if not password:
        return []
    encoded = [password, f"\0{user}\0{password}", f"{user}\0{user}\0{password}"]
    return [*(base64.b64encode(form.encode()).decode() for form in reversed(encoded)), password]


def _password(mail: Mail, folder: Path) -> str | None:
    found = ""
    if mail.password_env is not None:
        where = f"the environment variable {mail.password_env}"
        if not (found := os.environ.get(mail.password_env, "")):
            raise DeliveryError(f"{where} (mail.password_env) is not set")
    elif mail.password_file is not None:
        where = f"{folder / mail.password_file}"
        try:
            folders.require(Path(where))
            with Path(where).open("rb") as file:
                if os.fstat(file.fileno()).st_mode & 0o007:
                    remedy = "chmod o= (mail.password_file)"
                    raise DeliveryError(f"{where}: others can read the password in it: {remedy}")
                found = file.read(10_000).decode("utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise DeliveryError(f"{where}: cannot be read: {why} (mail.password_file)") from None
        if not found:
            raise DeliveryError(f"{where}: is empty (mail.password_file)")
    if not found.isascii():  # smtplib takes ASCII alone, and would show the password in its error
        raise DeliveryError(f"{where}: a mail password must consist of printable ASCII characters")
    return found or None


def _trust(mail: Mail, folder: Path) -> ssl.SSLContext:
    """Return the context that verifies the server's certificate and name, always."""
    if mail.ca_file is None:
        return ssl.create_default_context()
    path = folder / mail.ca_file
    try:
        return ssl.create_default_context(cafile=str(path))
    except OSError as error:  # ssl.SSLError too
        why = error.strerror or "it contains no certificate"
        raise DeliveryError(f"{path}: cannot be read: {why} (mail.ca_file)") from error

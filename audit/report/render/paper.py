"""Lays out pages as PDF in a separate process. The only module that uses WeasyPrint.

``sandbox`` starts the process, which runs ``serve``: it sets its limits, loads WeasyPrint, and
makes each PDF in a child. Each PDF thus begins from the same state, has the limits for itself, and
may fail without harm. The process imports nothing else of fairaudit.

Messages in both directions are a length in 8 bytes and that many bytes. A request is JSON; an
answer is ``+`` and the PDF, or ``-`` and the reason for the failure.
"""

import base64
import gc
import json
import logging
import os
import resource
import shutil
import signal
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import IO, Any, Final

LENGTH: Final = 8
OUT_OF_MEMORY: Final = "out of memory"
OUT_OF_TIME: Final = "out of time"
MISSING: Final = "missing libraries: "


def serve(memory_bytes: int, cpu_s: int) -> None:
    """Make the PDFs requested on stdin, until it ends.

    Args:
        memory_bytes: limit of address space of this process and of each of its children.
        cpu_s: limit of processor time of each, s.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    # Only PDFs go to stdout; anything that libraries print is discarded.
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    gc.set_threshold(100_000, 20, 20)  # little of a layout becomes garbage before its end
    logging.disable(logging.CRITICAL)
    missing = _load()
    while request := receive(requests):
        answer = _failed(missing) if missing else _in_a_child(request)
        send(answers, answer)
    if folder := os.environ.get("TMPDIR"):  # its own; a run that died cannot remove it
        shutil.rmtree(folder, ignore_errors=True)


def _load() -> str:
    """Import WeasyPrint, which takes long; return what is missing, else nothing."""
    try:
        import weasyprint  # noqa: F401
    except (OSError, ImportError) as error:
        # Pango and HarfBuzz are libraries of the system.
        return f"{MISSING}{error}"
    except MemoryError:
        return OUT_OF_MEMORY
    return ""


def _in_a_child(request: bytes) -> bytes:
    source, target = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(source)
            with os.fdopen(target, "wb") as out:
                out.write(_answer(request))
            code = 0
        finally:
            os._exit(code)
    os.close(target)
    with os.fdopen(source, "rb") as made:
        answer = made.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGXCPU:
        return _failed(OUT_OF_TIME)
    if code < 0:
        return _failed(f"its process was ended by signal {signal.Signals(-code).name}")
    return _failed(f"its process ended with exit code {code}") if code else answer


def _answer(request: bytes) -> bytes:
    try:
        return b"+" + lay_out(**json.loads(request))
    except MemoryError:
        return _failed(OUT_OF_MEMORY)
    except Exception as error:
        return _failed(f"{type(error).__name__}: {error}"[:500])


def _failed(why: str) -> bytes:
    return b"-" + why.encode(errors="backslashreplace")


def lay_out(
    page: str, attachments: list[tuple[str, str, str]], dated: int, identifier: str
) -> bytes:
    """Return the tagged PDF of an HTML page; the same bytes for the same arguments.

    Args:
        page: must not refer to anything outside itself.
        attachments: name, description and text of each attached file.
        dated: epoch s, the date of the PDF and its files.
        identifier: of the PDF, 16 bytes in base64.

    Raises:
        ValueError: it has no pages.
    """
    import weasyprint

    # The date of embedded fonts, which is that of the clock by default.
    os.environ["SOURCE_DATE_EPOCH"] = str(max(dated, 0))
    when = datetime.fromtimestamp(dated, UTC).replace(tzinfo=None)
    fetcher = nothing_from_outside()
    options = {"pdf_variant": "pdf/ua-1", "pdf_tags": True}
    document = weasyprint.HTML(string=page, base_url=None, url_fetcher=fetcher).render(**options)
    if not document.pages:
        raise ValueError("it has no pages")
    files = [
        weasyprint.Attachment(
            string=text,
            name=name,
            description=description,
            created=when,
            modified=when,
            relationship="Supplement",
            url_fetcher=fetcher,
        )
        for name, description, text in attachments
    ]
    made = document.write_pdf(
        attachments=files, pdf_identifier=base64.b64decode(identifier), **options
    )
    if not isinstance(made, bytes):
        raise ValueError("WeasyPrint produced no PDF")
    return made


def nothing_from_outside() -> Any:
    """Return WeasyPrint's fetcher, limited to data inside the page."""
    from weasyprint.urls import URLFetcher

    class Inside(URLFetcher):  # type: ignore[misc]
        def fetch(self, url: str, headers: Mapping[str, str] | None = None) -> Any:
            if not url.startswith("data:"):
                raise ValueError(f"a report must not load other files or addresses: {url[:80]}")
            return super().fetch(url, headers)

    return Inside(allowed_protocols=("data",), allow_redirects=False)


def send(to: IO[bytes], message: bytes) -> None:
    """Write one message."""
    to.write(len(message).to_bytes(LENGTH, "big"))
    to.write(message)
    to.flush()


def receive(source: IO[bytes]) -> bytes:
    """Read one message; empty if the other process ended."""
    length = source.read(LENGTH)
    if len(length) < LENGTH:
        return b""
    message = source.read(size := int.from_bytes(length, "big"))
    return message if len(message) == size else b""

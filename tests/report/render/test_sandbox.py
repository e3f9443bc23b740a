"""PDFs are laid out in a separate process, under limits and without access to anything else."""

import http.server
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pypdfium2  # type: ignore[import-untyped]
import pytest

from audit.errors import ReportError
from audit.report.render import page as render
from audit.report.render import paper, sandbox
from audit.report.render.sandbox import SandboxLimits
from tests.report.sample import contents, pool

PAGE = "<html lang='en'><title>t</title><body style='font-family: DejaVu Sans'>{}</body></html>"


@pytest.fixture(autouse=True)
def _own_process() -> Iterator[None]:
    sandbox.end()
    yield
    sandbox.end()


def _laid_out(body: str, limits: SandboxLimits = sandbox.DEFAULT) -> bytes:
    return sandbox.lay_out(PAGE.format(body), [], 0, limits)


def _fake(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    """Puts a library in WeasyPrint's place."""
    (folder / "weasyprint").mkdir()
    (folder / "weasyprint" / "__init__.py").write_text(code)
    (folder / "weasyprint" / "urls.py").write_text("class URLFetcher:\n  def __init__(*a, **k): 0")
    monkeypatch.syspath_prepend(folder)


_HTML = """
class HTML:
    def __init__(self, **_): pass
    def render(self, **_): {}
"""


@pytest.mark.thorough
def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _fake(monkeypatch, tmp_path, "raise OSError(\"cannot load library 'libpango-1.0-0'\")")
    with pytest.raises(ReportError, match=r"libpango-1.0-0'.*libharfbuzz-subset0.*--no-pdf"):
        _laid_out("a")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("import os; os.kill(os.getpid(), 11)", r"signal SIGSEGV.*report\.pdf_memory_limit"),
        ("import os; os.kill(os.getppid(), 9)", r"its process died"),
        pytest.param("import os; os._exit(3)", "exit code 3", marks=pytest.mark.thorough),
        ("raise RuntimeError('no such glyph')", "RuntimeError: no such glyph"),
        ("import time; time.sleep(600)", r"not made within 1 s: raise report\.pdf_timeout_s"),
        ("b = bytearray(1 << 33)", r"more memory than 1000 MiB: raise report\.pdf_memory_limit"),
        (
            "class Made:\n"
            "            pages = [1]\n"
            "            def write_pdf(self, **_): return b'%PDF-1.7 cut off'\n"
            "        return Made()",
            "the result is not a PDF",
        ),
    ],
)
def test_what_fails_is_stated_with_the_key_to_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, why: str
) -> None:
    _fake(monkeypatch, tmp_path, _HTML.format("\n        " + body))
    limits = SandboxLimits(timeout_s=1 if "sleep" in body else 60, memory_bytes=1000 << 20)
    with pytest.raises(ReportError, match=why):
        _laid_out("a", limits)


def test_after_a_failure_the_next_pdf_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as broken:
        _fake(broken, tmp_path, _HTML.format("import os; os.kill(os.getppid(), 9)"))
        with pytest.raises(ReportError, match="its process died"):
            _laid_out("a")
    assert _laid_out("a").startswith(b"%PDF")


@pytest.mark.thorough
def test_a_loop_is_ended_by_its_processor_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _fake(monkeypatch, tmp_path, _HTML.format("\n        while True: pass"))
    process = sandbox._take(SandboxLimits(timeout_s=1))
    answer = process.answer(b'{"page": "", "attachments": [], "dated": 0, "identifier": ""}')
    assert answer == b"-" + paper.OUT_OF_TIME.encode()


def test_the_process_sees_no_secret_and_outlives_no_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAIRAUDIT_SMTP_PASSWORD", "geheim")
    _fake(monkeypatch, tmp_path, _HTML.format("raise RuntimeError(str(__import__('os').environ))"))
    with pytest.raises(ReportError) as said:
        _laid_out("a")
    assert "PATH" in str(said.value)
    assert "geheim" not in str(said.value)
    process = sandbox._ready[0].process
    sandbox.end()
    assert process.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


@pytest.mark.parametrize(
    ("body", "timeout_s"),
    [("os.kill(os.getppid(), 9)", 60), ("os._exit(3)", 60), ("time.sleep(600)", 1)],
)
def test_whoever_is_killed_no_temporary_file_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, timeout_s: int
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    made = tmp_path / "made"
    leaves = f"open({str(made)!r}, 'w').write(tempfile.mkdtemp())"
    code = f"\n        import os, tempfile, time; {leaves}; {body}"
    _fake(monkeypatch, tmp_path, _HTML.format(code))
    with pytest.raises(ReportError):
        _laid_out("a", SandboxLimits(timeout_s=timeout_s))
    sandbox.end()
    assert folder in Path(made.read_text()).parents
    assert list(folder.iterdir()) == []


def test_of_a_run_that_is_dead_no_temporary_file_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process = sandbox._take(sandbox.DEFAULT).process
    (own,) = tmp_path.iterdir()
    assert process.stdin is not None
    process.stdin.close()  # as the system does for the dead
    process.wait()
    assert not own.exists()


def test_without_a_place_for_temporary_files_a_pdf_is_refused_not_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    _fake(
        monkeypatch,
        tmp_path,
        _HTML.format("raise RuntimeError(__import__('os').environ.get('TMPDIR'))"),
    )
    sandbox.prepare()
    with pytest.raises(ReportError, match="RuntimeError: None"):
        _laid_out("a")


def test_each_pdf_is_made_from_the_same_state() -> None:
    first = _laid_out("one")
    assert _laid_out("two") != first
    assert _laid_out("one") == first


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on this machine, and what was asked of it."""
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"body { color: red }")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    server.server_close()
    thread.join()


def test_markup_that_points_outside_is_not_followed(
    listener: tuple[str, list[str]], tmp_path: Path
) -> None:
    """Even were a name not escaped."""
    address, seen = listener
    secret = tmp_path / "secret.css"
    secret.write_text("body::after { content: 'TOPSECRET' }")
    for url in (address, secret.as_uri()):
        body = (
            f"<p>text</p><img src='{url}/i.png'><link rel=stylesheet href='{url}'>"
            f"<style>@import url('{url}'); p {{ background: url('{url}/b.png') }}"
            f"@font-face {{ font-family: x; src: url('{url}/f.ttf') }} p {{ font-family: x }}"
            f"</style><object data='{url}'></object><embed src='{url}'>"
            f"<link rel=attachment href='{url}'><a rel=attachment href='{url}'>a</a>"
            f"<svg xmlns='http://www.w3.org/2000/svg'><image href='{url}/s.png'/></svg>"
        )
        document = pypdfium2.PdfDocument(_laid_out(body))
        assert "text" in document[0].get_textpage().get_text_range()
        assert "TOPSECRET" not in document[0].get_textpage().get_text_range()
        assert document.count_attachments() == 0
    assert seen == []


@pytest.mark.thorough
def test_names_that_are_addresses_are_not_followed(
    listener: tuple[str, list[str]], tmp_path: Path
) -> None:
    address, seen = listener
    (tmp_path / "f").write_text("TOPSECRET")
    names = (address, (tmp_path / "f").as_uri(), f"<img src={address}>", f"url({address})")
    said = contents(pool(users=names), cluster=f'"><link rel=stylesheet href={address}>')
    text = " ".join(
        page.get_textpage().get_text_range()
        for page in pypdfium2.PdfDocument(render.render_pdf(said))
    )
    assert "127.0.0.1" in text
    assert "TOPSECRET" not in text
    assert seen == []

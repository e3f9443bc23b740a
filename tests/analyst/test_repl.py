"""SQL on a terminal: statements on several lines, commands, completion and history."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from audit.analyst import repl
from audit.analyst.sql import Reader, SqlLimits
from audit.errors import UsageError
from audit.store import selection
from audit.words import Format
from tests.places import ROOT
from tests.published import HOSTILE, hostile

LIMITS = SqlLimits(60, "1GB")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def words(published: Path) -> Iterator[repl.CompletionWords]:
    con = Reader(published, LIMITS)
    yield repl.CompletionWords.of(con)
    con.close()


def typing(*lines: str | type[BaseException]) -> Callable[[str], str]:
    """A user who types these lines (KeyboardInterrupt: presses Ctrl-C), and quits."""
    left = iter(lines)

    def read(_prompt: str) -> str:
        line = next(left, EOFError)
        if isinstance(line, str):
            return line
        raise line

    return read


def converse(
    path: Path, capfd: pytest.CaptureFixture[str], *lines: str | type[BaseException]
) -> tuple[str, list[str]]:
    said: list[str] = []
    capfd.readouterr()
    opening = partial(Reader, path, LIMITS)
    options = {"rows": 3, "opening": opening, "history": None, "say": said.append}
    repl.converse(path, Format.table, **options, read=typing(*lines))  # type: ignore[arg-type]
    return capfd.readouterr().out, said[1:]


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; -- so;", True),
        ("SELECT ';", False),
        ("SELECT ';'", False),
        ("SELECT ';';\n", True),
        ('SELECT ";', False),
        ("SELECT /* ; */", False),
        ("SELECT /* ;", False),
        ("SELECT $$ ;", False),
        ("SELECT $x$ ; $x$;", True),
        ("SELECT E'\\';", False),
        ("-- only this;", False),
    ],
)
def test_a_statement_ends_at_its_semicolon(text: str, *, complete: bool) -> None:
    assert selection.is_complete(text) is complete


def test_statements_and_commands(published: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, said = converse(
        published,
        capfd,
        "SELECT count(*) AS n",
        "FROM job_fairness;",
        "",
        "\\d",
        "\\d coverage",
        "\\s jobs_of_user user=-2;",
        "\\f csv",
        "\\s jobs_of_user user='two\nlines'",
        "SELECT 'never ends",
        KeyboardInterrupt,
        "SELECT nonsense;",
        "COPY (SELECT 1) TO 'x';",
        "\\d nowhere",
        "\\wrong",
        "\\d 'open",
        "FROM range(9);",
        "\\r",
        "\\?",
        "\\s",
        "\\q",
        "SELECT 'not reached';",
    )
    assert f" {len(HOSTILE)}\n" in out
    assert " job_fairness " in out
    assert "days without records" in out.lower()
    assert " day     │ DATE " in out
    number = HOSTILE.index("two\nlines")
    assert f"\nc,{number},1," in out
    assert "\\q             quit" in out
    assert "not reached" not in out
    messages = "\n".join(said)
    for part in (
        *('"nonsense" was not found', "only statements that select are allowed"),
        *("no view 'nowhere'", "\\wrong: no such command", "No closing quotation"),
        "only the first 3 rows are shown",
    ):
        assert part in messages
    with pytest.raises(UsageError, match="no such database"):
        converse(published.with_name("none"), capfd)


def test_what_tab_completes(words: repl.CompletionWords) -> None:
    for line, completions in {
        "\\": ["\\?", "\\d", "\\f", "\\q", "\\r", "\\s"],
        "\\d cov": ["coverage"],
        "\\s jobs_o": ["jobs_of_user"],
        "\\s jobs_of_user us": ["user="],
        "\\f c": ["csv"],
        "FROM job_f": ["job_fairness"],
        "FROM coverage WHERE sta": ["state"],
        "SELE": ["SELECT"],
        "FROM qqq": [],
    }.items():
        assert words.complete(line, line.split()[-1]) == completions
    assert "fst_strict" not in words.complete("FROM coverage WHERE f", "f")
    assert '"user"' in words.complete("FROM job_fairness WHERE us", "us")


def talk(published: Path, state: Path, typed: list[bytes], *options: str) -> bytes:
    """Type each line at a prompt of a new terminal, and return the screen."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "audit", "sql", "--db", str(published), *options],
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "XDG_STATE_HOME": str(state), "TERM": "dumb"},
    )
    os.close(theirs)
    screen = b""
    try:
        for line in [*typed, b"\x04"]:
            seen = len(screen)
            while not screen[seen:].rstrip(b" ").endswith((b"fairaudit>", b"...>")):
                if not select.select([ours], [], [], 60)[0]:
                    raise AssertionError(f"no prompt after {screen!r}")
                screen += os.read(ours, 65536)
            os.write(ours, line)
        while select.select([ours], [], [], 60)[0]:
            try:
                more = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            screen += more
    finally:
        os.close(ours)
        assert running.wait(60) == 0
    return screen


def test_json_on_a_terminal_stays_json(published: Path) -> None:
    ours, theirs = pty.openpty()
    text = "chr(27) || chr(133) || chr(917505)"
    query = [f"SELECT {text} AS a", "--db", str(published), "--format", "json"]
    subprocess.run(
        [sys.executable, "-m", "audit", "sql", *query], cwd=ROOT, stdout=theirs, check=True
    )
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)
    assert shown.decode().strip().isprintable()
    assert json.loads(shown) == [{"a": "\x1b\x85\U000e0001"}]


@pytest.mark.thorough
def test_on_a_terminal(published: Path, tmp_path: Path) -> None:
    screen = talk(
        published,
        tmp_path,
        [b"SELECT count(*) AS n\n", b"FROM job_fair\t;\n", b'SELECT "user" FROM job_fairness;\n'],
    )
    assert b" %d\r\n" % len(HOSTILE) in screen
    assert b"\x1b[31m" not in screen
    assert b"Traceback" not in screen
    history = tmp_path / "fairaudit" / "sql_history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert history.parent.stat().st_mode & 0o777 == 0o700
    assert "SELECT count(*) AS n FROM job_fairness ;" in history.read_text()
    before = history.read_text()
    screen = talk(published, tmp_path, [b"SELECT 4711;\n"], "--private")
    assert b"4711" in screen
    assert history.read_text() == before

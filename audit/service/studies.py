"""Puts a study where the reader asked for it: its page, and its tables beside it."""

from pathlib import Path

from audit.errors import UsageError
from audit.report import study
from audit.report.study import Study


def refuse_unfit(out: Path) -> None:
    """Checks where a study is to go, before the long work.

    Raises:
        UsageError: something that is no folder is there.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is no folder; choose another place with --out")


def write(made: Study, out: Path) -> tuple[Path, ...]:
    """Writes ``KEY.html`` and ``KEY-TABLE.csv`` for each table into ``out``.

    Each file is there whole or not at all; the page comes last, when its tables are there.

    Returns:
        The files, the page first.

    Raises:
        UsageError: they cannot be written.
    """
    page = (f"{made.key}.html", study.render_html(made))
    tables = [(file.name, file.text) for file in study.files(made)]
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in (*tables, page):
            draft = out / f".{name}.part"
            try:
                draft.write_bytes(text.encode())
                draft.replace(out / name)
            finally:
                draft.unlink(missing_ok=True)
    except OSError as error:
        said = error.strerror or error
        raise UsageError(
            f"{out}: cannot be written ({said}); choose another place with --out"
        ) from error
    return tuple(out / name for name, _ in (page, *tables))

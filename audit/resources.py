"""Finds what ships with the code: ``sql/``, ``templates/`` and ``config.toml``.

They are inside the package in a wheel, and beside it in a checkout or an editable installation.
"""

from pathlib import Path

from audit.errors import AuditError

_PACKAGE = Path(__file__).resolve().parent


def path(name: str) -> Path:
    """Return the file or folder ``name`` (such as ``sql/schema``) of this installation.

    Raises AuditError if the installation is incomplete.
    """
    for file in (_PACKAGE / name, _PACKAGE.parent / name):
        if file.exists():
            return file
    raise AuditError(
        f"{name} is missing from the fairaudit installation at {_PACKAGE}: reinstall fairaudit"
    )


def files(folder: str, suffix: str) -> list[Path]:
    """Return the files below ``folder`` that end in ``suffix``, sorted by name."""
    return sorted(path(folder).rglob(f"*{suffix}"))

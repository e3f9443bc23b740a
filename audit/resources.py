"""Finds what ships beside the code: ``sql/``, ``templates/`` and ``config.toml``.

In a wheel they lie inside the package; in a checkout, and in an editable installation of one,
beside it.
"""

from pathlib import Path

from audit.errors import AuditError

_PACKAGE = Path(__file__).resolve().parent


def path(name: str) -> Path:
    """The file or folder ``name`` (such as ``sql/schema``) of this installation.

    Raises:
        AuditError: the installation is incomplete.
    """
    for root in (_PACKAGE, _PACKAGE.parent):
        file = root / name
        if file.exists():
            return file
    raise AuditError(
        f"{name} is missing from the fairaudit installation at {_PACKAGE}: reinstall fairaudit"
    )


def files(folder: str, suffix: str) -> list[Path]:
    """The files of ``folder`` that end in ``suffix``, sorted by name."""
    return sorted(path(folder).glob(f"*{suffix}"))

"""A certificate for one run: who has it may speak to the workers, and nobody else."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

from audit.errors import WorkersError


class Files(NamedTuple):
    """PEM files of TLS."""

    ca_file: str
    cert: str
    key: str


def made(folder: Path) -> Files:
    """A certificate for this run alone, which is its own authority.

    Raises:
        WorkersError: there is no openssl to make it.
    """
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = ["openssl", "req", "-x509", "-nodes", "-days", "3650", "-subj", "/CN=fairaudit"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    try:
        subprocess.run(  # noqa: S603, no word of it comes from outside
            [*command, *curve, "-keyout", key, "-out", cert],
            check=True,
            capture_output=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise WorkersError(
            f"openssl, which encrypts what workers are told, cannot be run ({error}): "
            "install it, or give compute.tls"
        ) from error
    return Files(cert, cert, key)

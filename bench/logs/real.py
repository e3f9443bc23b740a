"""Real logs of the folder in FAIRAUDIT_REAL_LOGS, and their substitutes."""

import os
import subprocess
import sys
from pathlib import Path

KTH = "KTH-SP2-1996-2.1-cln"
LANL = "LANL-CM5-1994-4.1-cln"
GAIA = "UniLu-Gaia-2014-1"


def real_log(name: str = KTH) -> Path | None:
    """One of them, where it is at hand."""
    folder = os.environ.get("FAIRAUDIT_REAL_LOGS")
    path = Path(folder or ".", "swf", f"{name}.swf.gz")
    return path if folder and path.exists() else None


def demo(folder: Path) -> Path:
    """Writes the demo log into ``folder``."""
    log = folder / "demo.swf"
    subprocess.run([sys.executable, "-m", "bench.logs.demo_log", str(log)], check=True)
    return log


def some_log(folder: Path) -> Path:
    """KTH-SP2, or the demo log in its place."""
    return real_log() or demo(folder)

"""Makes the documentation as a site that works without a server: ``make docs``.

Pages keep their places in the checkout, so that their links lead to the same files.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "docs" / "mkdocs.yml"
SOURCE = ROOT / "var" / "site" / "source"  # docs_dir of CONFIG
BUILT = SOURCE.with_name("html")
SOURCES = ("*.md", "*.cff", "config.toml", "docs/**/*", "bench/*.md", "bench/*.svg")
NOT_SHOWN = (".py", ".yml", ".1")


def gather(target: Path) -> None:
    """Copy the pages and what they link to into a new folder."""
    shutil.rmtree(target, ignore_errors=True)
    files = {path for pattern in SOURCES for path in ROOT.glob(pattern) if path.is_file()}
    for path in files:
        if path.suffix in NOT_SHOWN:
            continue
        copy = target / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def main() -> None:
    """Build the site into var/site/html; stops at a link or anchor that leads nowhere."""
    gather(SOURCE)
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(CONFIG)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}")
    print(BUILT / "index.html")


if __name__ == "__main__":
    main()

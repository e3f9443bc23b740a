"""Folders of a checkout."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
DATA: Final = ROOT / "tests" / "data"
"""Small logs and captures of our own."""
SLURM: Final = DATA / "slurm"

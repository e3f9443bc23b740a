"""Sites after their first night, made once for all workers: what tests look at comes after it."""

import shutil
from pathlib import Path

import pytest

from audit import config
from audit.config.places import Site
from audit.nightly.run import run
from tests.logs import write
from tests.nightly.test_run import NOW, month, site
from tests.shared import once


def after_a_night(
    factory: pytest.TempPathFactory, folder: Path, jobs: int = 40, now: int = NOW
) -> config.Config:
    """Lays into ``folder`` a site whose log of one month was taken in, computed and reported."""

    def make(made: Path) -> None:
        settings = site(made)
        write(made / "logs" / "1.swf", month(0, jobs=jobs))
        run(Site(settings, made), now)

    night = once(factory, f"night-of-{jobs}-jobs-at-{now}", make)
    shutil.copytree(night, folder, dirs_exist_ok=True)
    return site(folder)

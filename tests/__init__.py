"""Tests of fairaudit. They and their processes import the checked build of the kernels."""

import os

from tests.checked import sitecustomize  # noqa: F401
from tests.places import ROOT

os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT / "tests" / "checked", ROOT)))

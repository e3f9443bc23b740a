"""Tests of fairaudit. They and their processes import the checked build of the kernels."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the processors: one thread each
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.checked import sitecustomize  # noqa: F401
from tests.places import ROOT

os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT / "tests" / "checked", ROOT)))

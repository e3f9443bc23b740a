"""Import the checked build of the kernels. Python runs this file, if on its path, at start."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Final

CHECKED: Final = Path(__file__).parents[2] / "var" / "checked"


class CheckedKernels:
    """Find modules of ``audit.kernels`` in the checked build."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("audit.kernels."):
            return None
        spec = PathFinder.find_spec(name, [str(CHECKED.joinpath(*name.split(".")[:-1]))], target)
        return spec if spec and spec.loader else None  # packages are those of the checkout


sys.meta_path.insert(0, CheckedKernels)

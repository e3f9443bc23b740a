import importlib.util

import pytest

from audit.kernels import compiled
from tests.places import ROOT


def test_the_machine_code_was_made_of_these_sources() -> None:
    spec = importlib.util.spec_from_file_location("build", ROOT / ".ci" / "translate_kernels.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    assert compiled.machine is not None
    assert build.digest() == compiled.machine.SOURCES, "kernels have changed: run `make kernels`"


def test_a_kernel_without_machine_code_says_what_to_do() -> None:
    def lost() -> None: ...

    kernel = compiled.kernel(lost)
    assert compiled.plain(kernel) is lost
    with pytest.raises(RuntimeError, match=r"test_compiled\.lost is not compiled: .*make kernels"):
        kernel()

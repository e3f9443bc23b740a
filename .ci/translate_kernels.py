"""Compiles the kernels that are Python: `make kernels`.

python .ci/translate_kernels.py makes audit/kernels/machine.*.so, unless it is there and up to date.
"""

import hashlib
import importlib
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "audit" / "kernels"
NAME = f"machine{importlib.machinery.EXTENSION_SUFFIXES[0]}"
PLACE = KERNELS / NAME

# What the compiler may not do: contract a product and a sum, which would round once instead of
# twice, or take for granted that integers do not overflow. It may take several steps of a loop at
# once, which rounds as one after the other.
FLAGS = [
    *("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"),
    *("-g0", "-ffp-contract=off", "-fwrapv", "-Wno-unused-function"),
]


def sources() -> list[Path]:
    """The Python that machine code is made of, and what makes it."""
    return sorted(KERNELS.rglob("*.py"))


def digest() -> str:
    """Tells one state of the sources from another."""
    return hashlib.sha256(b"".join(each.read_bytes() for each in sources())).hexdigest()


def up_to_date() -> bool:
    """Whether the machine code of this checkout was made of its sources."""
    spec = importlib.util.spec_from_file_location("audit.kernels.machine", PLACE)
    if spec is None or spec.loader is None or not PLACE.exists():
        return False
    try:
        machine = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(machine)
    except ImportError:
        return False
    return bool(digest() == machine.SOURCES)


def modules() -> list[ModuleType]:
    """The modules that hold kernels."""
    sys.path.insert(0, str(ROOT))
    names = [each.relative_to(ROOT).with_suffix("").parts for each in sources()]
    imported = [importlib.import_module(".".join(each)) for each in names if each[-1] != "__init__"]
    return [each for each in imported if hasattr(each, "kernel") or hasattr(each, "inner")]


def compiled(folder: Path, translation: str) -> Path:
    """Makes the machine code of a translation in ``folder``; gives where it lies."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    text = folder / "machine.pyx"
    text.write_text(translation, encoding="utf-8")
    extension = Extension("machine", [str(text)], extra_compile_args=FLAGS)
    command = build_ext(Distribution({"ext_modules": cythonize([extension], quiet=True)}))
    command.build_lib = str(folder)
    command.build_temp = str(folder)
    command.finalize_options()
    command.run()
    return folder / NAME


def build() -> None:
    """Makes the machine code of this checkout anew, in one step as seen by who uses it."""
    kernels = modules()
    from audit.kernels.translation import translated

    with tempfile.TemporaryDirectory() as folder:
        made = compiled(Path(folder), translated(kernels, digest()))
        beside = PLACE.with_suffix(f".{os.getpid()}")
        shutil.copyfile(made, beside)
        beside.replace(PLACE)


if __name__ == "__main__":
    if not up_to_date():
        print("Compiling the kernels", file=sys.stderr)
        build()

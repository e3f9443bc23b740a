"""Compile the kernels: `make kernels` in a checkout, hatchling when it builds a wheel.

Each .pyx file of audit/kernels becomes one extension module for the stable ABI of Python 3.11, and
Cython's own code for memoryviews one more. There are two builds of the same sources. The release
build is beside them. `python .ci/build_kernels.py --checked` makes the checked build, in
var/checked: the test suite imports it, and it checks indices and assertions.

`make release` builds wheels for other machines too: with FAIRAUDIT_WHEEL set to one of `TARGETS`,
the release build of a wheel is cross-compiled for that processor and an old C library.
"""

import contextlib
import gc
import hashlib
import json
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = ROOT / "audit" / "kernels"
CHECKED: Final = ROOT / "var" / "checked"
STAMP: Final = Path("audit", "kernels", "built.json")
"""File beside the modules that records the digest each of them was built from."""
MEMORYVIEWS: Final = "audit.kernels._memoryviews"
"""Module with Cython's code for memoryviews, which all others import."""

NEEDED: Final = re.compile(
    r'^(?:include "(.+)"|from (audit\.kernels\.[\w.]+) cimport )', flags=re.MULTILINE
)
"""The needs of a source: a file that it includes, or a module that it cimports from."""

MACROS: Final = [("Py_LIMITED_API", "0x030B0000")]
# Results must not depend on the compiler: it may neither contract a product and a sum, which would
# round once instead of twice, nor assume that integers do not overflow.
FLAGS: Final = ["-g0", "-ffp-contract=off", "-fwrapv", "-Wno-unused"]
RELEASE_FLAGS: Final = ["-O2", "-ftree-vectorize"]
GCC_FLAGS: Final = ["-fvect-cost-model=dynamic"]
TARGETS: Final = ("x86_64", "aarch64")
"""Processors for which zig's compiler can build a wheel."""
GLIBC: Final = (2, 28)
"""Version of the C library that such a wheel needs: RHEL 8 has it, and all that came later."""
DIRECTIVES: Final = {
    "language_level": 3,
    "wraparound": False,
    "cdivision": True,
    "auto_pickle": False,
    "binding": False,  # a tenth less to compile
    "emit_code_comments": False,
}


def modules() -> dict[str, Path | None]:
    """Return the source of each module by its dotted name; None: Cython generates it."""
    found = sorted(path.relative_to(ROOT) for path in SOURCES.rglob("*.pyx"))
    return {MEMORYVIEWS: None, **{".".join(path.with_suffix("").parts): path for path in found}}


def built_from(source: Path) -> list[Path]:
    """Return the files that a module is compiled from: its own, and what it includes or cimports.

    A .pxd file beside the module states its interface.
    """
    found: set[Path] = set()
    new = [ROOT / source]
    while new:
        path = new.pop().resolve()
        if path in found or not path.exists():
            continue
        found.add(path)
        new.append(path.with_suffix(".pxd"))
        for included, cimported in NEEDED.findall(path.read_text(encoding="utf-8")):
            name = included or f"{cimported.replace('.', '/')}.pxd"
            new.append((path.parent if included else ROOT) / name)
    return sorted(found)


def digests() -> dict[str, str]:
    """Return the SHA-256 of everything that each module is built from."""
    common = version("cython").encode() + Path(__file__).read_bytes()
    return {
        name: hashlib.sha256(
            common + b"".join(file.read_bytes() for file in (built_from(path) if path else []))
        ).hexdigest()
        for name, path in modules().items()
    }


def binary(name: str) -> Path:
    """Return the path of a compiled module, relative to the folder of the build."""
    return Path(*name.split(".")).with_suffix(".abi3.so")


def stale(folder: Path) -> list[str]:
    """Return the modules of the build in ``folder`` that are missing or out of date."""
    with contextlib.suppress(FileNotFoundError):
        built = json.loads((folder / STAMP).read_text(encoding="utf-8"))
        return [
            name
            for name, digest in digests().items()
            if built.get(name) != digest or not (folder / binary(name)).exists()
        ]
    return list(modules())


def orphans(folder: Path) -> list[Path]:
    """Return compiled modules whose source has gone: they would be imported instead of others."""
    known = {folder / binary(name) for name in modules()}
    kernels = folder / SOURCES.relative_to(ROOT)
    return sorted(set(kernels.rglob(str(binary("*")))) - known)


@contextlib.contextmanager
def cross_compiler(target: str, scratch: Path) -> Iterator[None]:
    """Make setuptools compile for another processor: one of ``TARGETS``.

    Python's headers are those of this machine, which differ only in the folder where Debian keeps
    what depends on the processor.
    """
    if target not in TARGETS:
        sys.exit(f"FAIRAUDIT_WHEEL = {target}: must be one of {', '.join(TARGETS)}")
    own = Path(sysconfig.get_path("include"))
    for folder in own.parent.glob("*-linux-gnu"):
        (scratch / f"{target}-linux-gnu").symlink_to(folder)
    release = ".".join(map(str, GLIBC))
    compiler = f"{sys.executable} -m ziglang cc -target {target}-linux-gnu.{release}"
    wanted = {
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared -s",
        "CFLAGS": f"-I{scratch}",
        "LDFLAGS": "",
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def compile_modules(
    names: Collection[str], folder: Path, *, checked: bool = False, cross: bool = False
) -> None:
    """Compile the modules of these names, as files under ``folder``."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    processors = len(os.sched_getaffinity(0))
    checks = dict.fromkeys(("boundscheck", "initializedcheck"), checked)
    optimized = [*RELEASE_FLAGS, *([] if cross else GCC_FLAGS)]
    extensions = [
        Extension(
            name,
            [str(path)] if path else [],
            define_macros=[*MACROS, *([] if checked else [("CYTHON_WITHOUT_ASSERTIONS", "1")])],
            extra_compile_args=[*FLAGS, *(["-O1"] if checked or not path else optimized)],
            py_limited_api=True,
        )
        for name, path in modules().items()
        if name in names
    ]
    # Cython keeps all that it makes until a module is done: collections take 40 % of its time.
    gc.disable()
    with contextlib.chdir(ROOT):  # so that messages name sources by their paths in the checkout
        generated = cythonize(
            extensions,
            build_dir=str(folder / "c"),
            compiler_directives={**DIRECTIVES, **checks, "show_performance_hints": not checked},
            shared_utility_qualified_name=MEMORYVIEWS,
            nthreads=processors,
            cache="CYTHON_CACHE_DIR" in os.environ,
            force=True,
            quiet=True,
        )
        gc.enable()
        # The longest first, else one processor ends long after the others.
        generated.sort(key=lambda extension: -Path(extension.sources[0]).stat().st_size)
        command = build_ext(Distribution({"ext_modules": generated}))
        command.build_lib, command.build_temp = str(folder), str(folder / "c")
        command.parallel = processors
        command.finalize_options()
        command.run()


def build(folder: Path = ROOT, *, checked: bool = False, target: str = "") -> None:
    """Bring the build in ``folder`` up to date; running processes keep the modules they loaded."""
    for orphan in orphans(folder):
        orphan.unlink()
    if not (names := stale(folder)):
        return
    print("Compiling the kernels", f"for {target}" if target else "", file=sys.stderr)
    made = digests()
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory())
        if target:
            stack.enter_context(cross_compiler(target, Path(scratch)))
        compile_modules(names, Path(scratch), checked=checked, cross=bool(target))
        for name in names:
            replace(folder / binary(name), (Path(scratch) / binary(name)).read_bytes())
    replace(folder / STAMP, json.dumps(made, indent=1).encode())


def replace(path: Path, content: bytes) -> None:
    """Write a file in one step, as seen by its readers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)


class KernelsHook(BuildHookInterface[Any]):
    """Build hook of hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the release build to a wheel; an editable wheel finds it in the checkout."""
        if self.target_name != "wheel":
            return
        target = os.environ.get("FAIRAUDIT_WHEEL", "")
        folder = ROOT / "var" / f"wheel-{target}" if target else ROOT
        build(folder, target=target)
        platform = (
            "manylinux_{}_{}_{}".format(*GLIBC, target) if target else sysconfig.get_platform()
        )
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{re.sub('[-.]', '_', platform)}"
        if version != "editable":
            for path in (STAMP, *map(binary, modules())):
                build_data["force_include"][str(folder / path)] = str(path)


if __name__ == "__main__":
    if "--checked" in sys.argv[1:]:
        build(CHECKED, checked=True)
    else:
        build()

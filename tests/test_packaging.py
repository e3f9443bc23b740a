"""The wheel is complete, and works where there is no checkout; the locks pin what is asked for."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.places import ROOT
from tests.shared import once

BUILD = (sys.executable, "-m", "build", "--no-isolation")
BESIDE = ("sql/", "templates/", "config.toml")  # inside the package in a wheel, beside it here


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """The output of a command that must succeed, in an environment without the checkout."""
    clean = {"HOME": str(cwd), "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    done = subprocess.run(
        command, cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def built(folder: Path, *options: str, of: Path = ROOT) -> Path:
    run(*BUILD, *options, "--outdir", folder, of, cwd=of)
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = once(tmp_path_factory, "wheel", lambda folder: built(folder, "--wheel"))
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel in it, which borrows only its dependencies."""
    folder = tmp_path_factory.mktemp("site")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--no-index", "--no-deps", wheel, cwd=folder)
    # A path file does not follow the path files of the folder it names, so not into the checkout.
    [own] = folder.glob("lib/python*/site-packages")
    (own / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return folder


@pytest.fixture(scope="module")
def audited(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the wheel has audited, into ``first``; and an empty ``home``."""

    def make(folder: Path) -> None:
        (folder / "home").mkdir()
        (folder / "small.swf").write_text(small_log())
        run(*audit(site), "--out", "first", cwd=folder, HOME=str(folder / "home"))

    return once(tmp_path_factory, "audited-by-the-wheel", make)


def audit(site: Path) -> tuple[str | Path, ...]:
    return (site / "bin" / "fairaudit", "audit", "small.swf", *no_pdf())


def test_setup_installs_first_what_compiles_the_kernels() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    new, needed = [*project["build-system"]["requires"]], set()
    while new:
        asked = Requirement(new.pop())
        if asked.name not in needed and (asked.marker is None or asked.marker.evaluate()):
            needed.add(asked.name)
            new += distribution(asked.name).requires or []
    found = re.search(r"^compile=\((.*)\)$", (ROOT / ".ci" / "setup").read_text(), re.MULTILINE)
    assert found
    assert set(found[1].split()) == needed


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.thorough
def test_the_wheel_holds_what_git_does(wheel: Path) -> None:
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("no git here: cannot tell what the wheel should hold")
    # Untracked files count too, so that tests do not require a commit.
    known = run(
        *(
            "git",
            "-c",
            "safe.directory=*",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
        ),
        *("audit", "sql", "templates", "config.toml"),
        cwd=ROOT,
    ).splitlines()
    expected = {
        f"audit/{name}" if name.startswith(BESIDE) else name
        for name in known
        if (ROOT / name).exists()
    }
    inside = {name for name in names(wheel) if name.startswith("audit/")}
    assert wheel.name.split("-")[2:4] == ["cp311", "abi3"]
    kernels = {name[:-4] for name in known if name.endswith(".pyx")}
    assert inside - expected == {
        "audit/kernels/built.json",
        *(f"{name}.abi3.so" for name in (*kernels, "audit/kernels/_memoryviews")),
    }
    assert expected <= inside
    for part in BESIDE:
        assert any(name.startswith(f"audit/{part}") for name in expected), f"no {part}"


@pytest.mark.thorough
def test_one_wheel_serves_every_version_of_python(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


@pytest.mark.thorough
def test_an_sdist_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    """Kernels are compiled only if their sources in the sdist differ from those of the checkout."""
    run(*BUILD, "--sdist", "--outdir", tmp_path, ROOT, cwd=ROOT)
    [sdist] = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as tar:
        tar.extractall(tmp_path, filter="data")
    source = tmp_path / sdist.name.removesuffix(".tar.gz")
    stamp = "audit/kernels/built.json"
    modules: list[str] = list(json.loads((ROOT / stamp).read_text()))
    for path in (stamp, *(f"{name.replace('.', '/')}.abi3.so" for name in modules)):
        shutil.copy(ROOT / path, source / path)
    assert names(built(tmp_path / "wheel", "--wheel", of=source)) == names(wheel)


@pytest.mark.thorough
def test_it_runs_from_the_wheel_alone(site: Path, tmp_path: Path) -> None:
    ask = """if True:
        import audit, audit.resources
        print(audit.__file__)
        for name in ("sql/schema", "templates", "config.toml"):
            print(audit.resources.path(name))
    """
    for used in run(site / "bin" / "python", "-c", ask, cwd=tmp_path).splitlines():
        assert Path(used).is_relative_to(site), used
    assert "audit" in run(site / "bin" / "fairaudit", "--help", cwd=tmp_path)


@pytest.mark.ci
@pytest.mark.thorough
def test_it_audits_from_the_wheel_alone(audited: Path) -> None:
    page = (audited / "first" / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert (audited / "first" / "audit.duckdb").exists()
    if not no_pdf():
        assert (audited / "first" / "report.pdf").read_bytes().startswith(b"%PDF-")


READ_ONLY = """
for folder in "$1" "$2"; do
    mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder" || exit 77
done
shift 2
exec "$@"
"""
"""Runs a command where two folders cannot be written to, not even by root."""


@pytest.mark.thorough
def test_nothing_is_compiled_or_missing_in_a_read_only_container(site: Path, audited: Path) -> None:
    home = audited / "home"
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    inside: tuple[str | Path, ...] = ("unshare", "--mount", "sh", "-c", READ_ONLY, "sh", site, home)
    if subprocess.run((*inside, "true"), capture_output=True, check=False).returncode:
        pytest.skip("folders can be made read-only by root alone")
    run(*inside, *audit(site), "--out", "second", cwd=audited, HOME=str(home))
    for name in ("report.html", *(() if no_pdf() else ("report.pdf",))):
        assert (audited / "first" / name).read_bytes() == (audited / "second" / name).read_bytes()
    assert before == {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    assert not list(home.iterdir())


def small_log() -> str:
    """Thirty jobs of three users, one every ten minutes, on eight processors."""
    header = "; MaxProcs: 8\n; UnixStartTime: 1000000000\n; TimeZoneString: UTC\n"
    lines = []
    for job in range(1, 31):
        wait, run_time, size = 60 * (job % 7), 600 + 60 * (job % 5), 1 + job % 4
        fields = [job, 600 * job, wait, run_time, size, -1, -1, size, 1800, -1, 1, 1 + job % 3, 1]
        lines.append(" ".join(map(str, fields + [-1] * 5)))
    return header + "\n".join(lines) + "\n"


def no_pdf() -> tuple[str, ...]:
    """The option that an audit needs where Pango is missing."""
    try:
        import weasyprint  # noqa: F401
    except OSError:
        return ("--no-pdf",)
    return ()


def pins(lock: str) -> dict[str, str]:
    """Version by package, from a lock that must hold nothing but pins, hashes and their reasons."""
    found = {}
    for line in (ROOT / lock).read_text().splitlines():
        if pin := re.fullmatch(r"([a-z0-9-]+)==(\S+)( ; python_version < \"3\.14\")? \\", line):
            found[pin[1]] = pin[2]
        else:
            assert re.fullmatch(r" +--hash=sha256:[0-9a-f]{64}( \\)?| *#[^/]*|", line), line
    return found


def test_the_locks_pin_what_is_requested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    runtime, build = pins("requirements.lock"), pins("requirements-build.lock")
    development, release = pins("requirements-dev.lock"), pins("requirements-release.lock")
    assert runtime.items() <= build.items() <= development.items()
    assert build.items() <= release.items()
    folder = ROOT / ".ci" / "locks"
    docs = {lock.stem: pins(str(lock.relative_to(ROOT))) for lock in folder.iterdir()}
    assert set(docs) == {"docs", "grafana", "notebooks"}
    for lock in docs.values():  # into the environment of development
        assert runtime.items() <= lock.items()
        assert all(development.get(package, pin) == pin for package, pin in lock.items())
    of_extras = {"build": build, "release": release, **docs}
    asked = [(runtime, text) for text in project["dependencies"]]
    for name, extra in project["optional-dependencies"].items():
        asked += [(of_extras.get(name, development), text) for text in extra]
    for lock, text in asked:
        requirement = Requirement(text)
        version = lock.get(requirement.name.replace(".", "-"), "")
        assert requirement.specifier.contains(version or "0"), f"{text}: run `make lock`"
    extras = project["optional-dependencies"]
    for text in (*extras["pictures"], *extras["studies"], *extras["dask"], *extras["dev"]):
        name = Requirement(text).name
        assert name not in build, f"{name} is installed by `make demo`"

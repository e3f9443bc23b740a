"""What workers must have in common with their client."""

from pathlib import Path

import pytest

from audit import __version__
from audit.workers import identity as module
from audit.workers.identity import difference, identity, kernels, program


def test_it_names_the_version_and_the_kernels() -> None:
    found = identity()
    assert found["fairaudit"] == __version__
    assert kernels().startswith(found["kernels"])
    assert len(found["kernels"]) == 12


def test_what_differs_is_told_with_both_values() -> None:
    ours = {"fairaudit": "1.0", "kernels": "abc", "numpy": "2"}
    assert difference(ours, dict(ours)) is None
    assert difference(ours, {**ours, "kernels": "xyz"}) == "kernels xyz, here abc"
    assert difference(ours, {"numpy": "3"}) == (
        "fairaudit unknown, here 1.0; kernels unknown, here abc; numpy 3, here 2"
    )


def test_the_fingerprint_is_that_of_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a.py"
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    found = []
    for text in ("x = 1\n", "x = 2\n", "x = 1\n"):
        source.write_text(text)
        found.append(program.__wrapped__())
    assert found[0] == found[2] != found[1]


def test_the_fingerprint_of_the_kernels_is_that_of_their_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    assert kernels.__wrapped__() == "not compiled"
    (tmp_path / "kernels").mkdir()
    found = []
    for text in ("{}", '{"a": "1"}', "{}"):
        (tmp_path / "kernels" / "built.json").write_text(text)
        found.append(kernels.__wrapped__())
    assert found[0] == found[2] != found[1]

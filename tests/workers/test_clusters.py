"""Schedulers that are started here need openssl; certificates of a site must be there."""

from pathlib import Path

import pytest

from audit.config import Compute
from audit.errors import WorkersError
from audit.workers import clusters
from audit.workers.chosen import executor
from tests.workers.test_executors import added


def test_a_file_of_tls_that_is_missing_is_named_by_its_key(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    names = {"ca_file": "ca.pem", "cert": "cert.pem", "key": "key.pem"}
    of_tls = {key: str(tmp_path / name) for key, name in names.items()}
    options = Compute.model_validate(
        {
            "engine": "dask",
            "alone_s": 0,
            "scheduler": "tls://127.0.0.1:9",
            "folder": str(tmp_path),
            "tls": of_tls,
        }
    )
    said = r"compute\.tls\.cert: .*/cert\.pem cannot be read \(No such file or directory\)"
    with executor(options) as one, pytest.raises(WorkersError, match=said):
        list(one.each(added, 1, [1]))
    assert [file.name for file in tmp_path.iterdir()] == ["ca.pem"]


def test_files_of_tls_that_do_not_belong_together_are_named_by_their_keys(tmp_path: Path) -> None:
    """Also a key that others may use is."""
    made = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        made.append(clusters.made(tmp_path / name))
    own, other = made
    (tmp_path / "text").write_text("no certificate")

    def options(*files: str) -> Compute:
        tls = dict(zip(("ca_file", "cert", "key"), files, strict=True))
        return Compute.model_validate(
            {"engine": "dask", "scheduler": "tls://127.0.0.1:9", "folder": str(tmp_path)}
            | {"alone_s": 0, "patience_s": 1, "tls": tls}
        )

    for files, said in (
        ((own.cert, own.cert, other.key), r"compute\.tls\.key: .* is not the key of .*cert\.pem"),
        ((str(tmp_path / "text"), own.cert, own.key), r"compute\.tls\.ca_file: .* no certificate"),
        ((own.cert, own.cert, own.key), "cannot be reached .*check that it runs"),
    ):
        with executor(options(*files)) as one, pytest.raises(WorkersError, match=said):
            list(one.each(added, 1, [1]))
    mine = options(own.cert, own.cert, own.key)
    assert clusters.exposed(mine) is None
    Path(own.key).chmod(0o644)
    assert f"chmod o= {own.key}" in str(clusters.exposed(mine))


@pytest.mark.thorough
def test_without_openssl_the_settings_that_help_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        executor(Compute(engine="dask", workers=1, alone_s=0)) as one,
        pytest.raises(WorkersError, match=r"openssl.*install it, or give compute\.tls"),
    ):
        list(one.each(added, 1, [1]))

"""Links that lead from folders of logs to other files."""

import os
import stat
from pathlib import Path

import pytest

from audit.files import folders


def content(path: Path) -> bytes:
    with os.fdopen(folders.opened(path), "rb") as file:
        return file.read()


def test_own_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "log").write_bytes(b"content")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "absolute").symlink_to(tmp_path / "folder" / "log")
    (tmp_path / "relative").symlink_to("folder/../real/log")
    for name in ("real/log", "folder/log", "absolute", "relative", "real/../folder/log"):
        assert content(tmp_path / name) == b"content"


def test_what_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("none")
    before = len([*Path("/proc/self/fd").iterdir()])
    for name in ("loop", "nowhere", "none", "none/log"):
        with pytest.raises(OSError, match=r"loop|none"):
            content(tmp_path / name)
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    descriptor = folders.opened(tmp_path / "fifo")
    assert stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    os.close(descriptor)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of another user")
@pytest.mark.parametrize("at", ["log", "folder"])
def test_links_of_others_are_not_followed(tmp_path: Path, at: str) -> None:
    (tmp_path / "secret").mkdir(mode=0o700)
    (tmp_path / "secret" / "log").write_bytes(b"secret")
    (tmp_path / "logs").mkdir(mode=0o777)
    link = tmp_path / "logs" / at
    link.symlink_to(tmp_path / "secret" / ("log" if at == "log" else ""))
    os.chown(link, 65534, 65534, follow_symlinks=False)
    path = link if at == "log" else link / "log"
    with pytest.raises(PermissionError, match=f"{at} is a link of another user"):
        content(path)

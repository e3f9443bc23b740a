"""Names of files in an archive; crafted databases are in ``tests/security``."""

from pathlib import Path

import pytest

from audit.errors import StoreError
from audit.store import catalogue

BASE = Path("/site/published")
NAME = "c/2026-01-records-0123456789abcdef-0123456789ab.parquet"


@pytest.mark.parametrize("root", ["archive", "..", "../archive", "a/b"])
def test_a_name_leads_to_a_file_of_the_archive(root: str) -> None:
    folder = BASE / root
    assert catalogue.path_in(folder, BASE, f"{root}/{NAME}") == tuple(NAME.split("/"))


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "../../etc/passwd", "archive", "", "archive/..", f"archive/../{NAME[2:]}"),
        *(f"archive/{NAME}\0", f"archive/{NAME}/..", f"archive/c/{NAME}x", f"archive/c\n{NAME}"),
        *("archive/c/*.parquet", "archive/c/.fairaudit-store", f"archive/ü{NAME}", NAME),
        *(f"{there}/{NAME}" for there in ("/archive", "archive/..", "archive/", "other\x1b[2J")),
        *(f"archive/../archive/{NAME}", f"/site/published/archive/{NAME}", None),
    ],
)
def test_other_names_are_refused(name: str | None) -> None:
    with pytest.raises(StoreError, match="which is not in the archive") as caught:
        catalogue.path_in(BASE / "archive", BASE, name)
    assert "\x1b" not in str(caught.value)


def test_a_link_on_the_way_is_not_followed(tmp_path: Path) -> None:
    file = tmp_path / "archive" / NAME
    file.parent.mkdir(parents=True)
    file.touch()
    folder, name = tmp_path / "archive", f"archive/{NAME}"
    catalogue.close(catalogue.open_files(folder, tmp_path, [name, name]))
    (folder / "linked").symlink_to("c")
    held = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(StoreError, match="cannot be read"):
        catalogue.open_files(folder, tmp_path, [name, name.replace("/c/", "/linked/")])
    assert len([*Path("/proc/self/fd").iterdir()]) == held

"""Names of files and folders: no two names share one, on any file system."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.config import places
from audit.report.contents import Who

_ODD = st.text(st.sampled_from("aAbB.-_/ü\u0308ué\u017fK\u212a0\0\n\ud800"), max_size=6)
_LIKE_OURS = st.text(min_size=1, max_size=3).map(places.file_name)
"""Names that equal a file of another name."""
_NAMES = st.one_of(
    _ODD, st.text(), _LIKE_OURS, _LIKE_OURS.map(str.upper), st.text("a", min_size=70)
)


def folded(file: str) -> set[str]:
    """Its forms on file systems that ignore case or normalise."""
    return {
        unicodedata.normalize(form, text)
        for text in (file, file.lower(), file.upper(), file.casefold())
        for form in ("NFC", "NFD", "NFKC", "NFKD")
    }


@pytest.mark.thorough
@given(_NAMES, _NAMES)
@example("Lab/anna", "Lab_anna-2e1618f6")
@example("Lab/anna", places.file_name("Lab/anna"))
@example("anna", "Anna")
@example("\u212a", "k")
@example("é", "e\u0301")
@example("n" * 200, "n" * 201)
def test_no_two_names_share_a_file(one: str, other: str) -> None:
    if one != other:
        assert not folded(places.file_name(one)) & folded(places.file_name(other))
        pages = [Who("user", name).file for name in (one, other)]
        assert not folded(pages[0]) & folded(pages[1])


@given(_NAMES)
def test_a_file_can_be_made_anywhere_and_leads_nowhere_else(name: str) -> None:
    for file in (places.file_name(name), Who("account", name).file):
        assert re.fullmatch(r"[a-z0-9_][a-z0-9_.-]{0,118}", file)
        assert not file.endswith(".")
        assert places.file_name(name) == places.file_name(name)


@pytest.mark.parametrize("name", ["alpha-2.cluster_b", "c", "_", "0", "a" * 80])
def test_a_plain_name_stays(name: str) -> None:
    assert places.file_name(name) == name
    assert Who("user", name[:70]).file == f"user-{name[:70]}.html"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "-rf", "con", "nul.txt", "com1", "index.html", "a."]
)
def test_a_reserved_name_does_not(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9_.-]+-[a-z2-7]{26}", places.file_name(name))


def test_the_readable_part_is_kept() -> None:
    assert re.fullmatch(r"user-lab_anna-[a-z2-7]{26}\.html", Who("user", "Lab/anna").file)

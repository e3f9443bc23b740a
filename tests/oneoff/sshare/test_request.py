from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from audit.errors import UsageError
from audit.oneoff.sshare.request import instant, text_of


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1795234198", 1795234198),
        ("2026-11-21", 1795215600),  # midnight in Berlin is 23:00 UTC
        ("2026-11-21T04:06", 1795230360),
        ("2026-11-21T04:06:43", 1795230403),
        ("2026-11-21T04:06:43Z", 1795234003),
    ],
)
def test_instants_are_of_the_zone_unless_they_say_another(text: str, at: int) -> None:
    assert instant(text, ZoneInfo("Europe/Berlin"), "--as-of") == at


def test_what_is_no_instant_is_refused_with_its_flag() -> None:
    with pytest.raises(UsageError, match="--phase 'noon': write it as"):
        instant("noon", ZoneInfo("UTC"), "--phase")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none: cannot be read: No such file"):
        text_of(tmp_path / "none")
    (tmp_path / "odd").write_bytes(b"a\xff")
    assert text_of(tmp_path / "odd") == "a\\xff"

import re
from typing import Any

import pytest

from audit.errors import ReportError, StoreError
from audit.report import wording
from audit.report.stored import reading


def test_what_breaks_is_an_error_in_one_line_with_its_place() -> None:
    anna: Any = {"anna": "name\nof a user"}
    place = r"OverflowError, audit\.report\.wording:\d+\): "
    with pytest.raises(ReportError, match=place), reading("demo", "2026-10"):
        wording.duration(float("inf"))
    with pytest.raises(ReportError) as broken, reading("demo", "2026-10"):
        wording.points(anna)
    assert re.match(r"demo, 2026-10: results in the database cannot be shown: ", str(broken.value))
    assert "\n" not in str(broken.value)
    assert "anna" not in str(broken.value.withheld())


def test_other_errors_stay_as_they_are() -> None:
    for error in (StoreError("refused"), FileNotFoundError("gone"), MemoryError()):
        with pytest.raises(type(error)) as raised, reading("demo", "2026-10"):
            raise error
        assert raised.value is error

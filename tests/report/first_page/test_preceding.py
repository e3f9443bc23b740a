"""What a part of a log is compared with: the time before it, if the log has it."""

from pathlib import Path

import pytest

from audit.pipeline.opening import LogRequest
from tests.audited import audited
from tests.logs import line, log, write

DAY = 86_400
BEGIN = 1_000_000_000  # 9 September 2001, UTC


def _log(folder: Path) -> Path:
    """Four jobs of an hour a day on 1 CPU; from the 53rd day, 1 November, they wait for an hour."""
    jobs = [(day, hour) for day in range(100) for hour in (4, 8, 12, 16)]
    lines = [
        line(
            number,
            submit=DAY * day + 3_600 * hour,
            wait=3_600 if day >= 52 else 60,
            run=3_600,
            user=number % 7,
        )
        for number, (day, hour) in enumerate(jobs, 1)
    ]
    return write(folder / "log.swf", log(lines, MaxProcs=1, UnixStartTime=BEGIN))


@pytest.mark.parametrize(
    ("first", "after", "text", "details"),
    [
        ("2001-11-01", "2001-12-01", "since the month before", "the month before"),
        pytest.param(
            *("2001-11-02", "2001-11-22", "since the 20 days before", "the 20 days before"),
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            *("2001-09-12", "2001-12-10", "between the halves of the period"),
            "the earlier half of the period",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_part_of_a_log_is_compared_with_the_time_before(
    tmp_path: Path, first: str, after: str, text: str, details: str
) -> None:
    request = LogRequest(logs=[_log(tmp_path)])
    outcome, page = audited(request, tmp_path / "out", from_day=first, to_day=after)
    assert page.changed.plain.startswith(
        "At almost the same load (17, then 17 %), the typical wait rose from 1 min to 60 min "
        f"{text}."
    )
    assert f"by cause, compared with {details}" in outcome.html.read_text().replace("\u00a0", " ")

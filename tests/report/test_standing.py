from dataclasses import replace

from audit.report.contents import Contents
from audit.report.sections.records.record import Coverage
from audit.report.standing import standing
from tests.report.sample import contents, empty, pool, without_fair_starts


def _whole() -> Contents:
    """A report that lacks nothing."""
    said = contents()
    logs = tuple(replace(log, refused=0) for log in said.inputs)
    return replace(said, inputs=logs, refusals=(), coverage=Coverage(31, 0, 0, 0, ()))


def test_only_a_report_that_lacks_nothing_is_complete() -> None:
    whole = _whole()
    assert standing(whole).state == "complete"
    day = 86_400
    span, logs = whole.span, whole.inputs
    pools = (without_fair_starts(pool()),)
    for lacking, why in (
        (replace(whole, inputs=(replace(logs[0], refused=1),)), "1 line refused"),
        (
            replace(whole, coverage=Coverage(31, 1, 0, 0, ())),
            "no job ended on 1 of the 31 days from the first end of a job to the last",
        ),
        (replace(whole, span=replace(span, last_end=span.to_time - 15 * day)), "records end on"),
        (
            replace(whole, span=replace(span, log_begin=span.from_time + 2 * day)),
            "the log begins on",
        ),
        (replace(whole, pools=pools), "no fair start times in pool batch"),
        (replace(whole, usages=()), "no usage over time"),
        (replace(whole, warnings=("the header lies",)), "1 caution below"),
    ):
        assert standing(lacking).state == "partial"
        assert why in standing(lacking).text
    assert standing(empty()).state == "empty"


def test_records_that_ended_long_before_are_stale() -> None:
    whole, day = _whole(), 86_400
    old = replace(whole, span=replace(whole.span, last_end=whole.span.to_time - 40 * day))
    assert standing(old).state == "stale"
    assert "40 d before the period ends" in standing(old).text
    # who hands the report on knows whether its period still runs
    half = replace(whole, span=replace(whole.span, last_end=whole.span.to_time - 15 * day))
    assert standing(half, now=half.span.to_time - 14 * day).state == "partial"
    assert standing(half, now=half.span.to_time - 10 * day).state == "stale"
    assert standing(half, now=half.span.to_time + day).state == "stale"


def test_records_of_a_period_end_with_the_log_not_with_the_last_end_of_a_job() -> None:
    whole, day = _whole(), 86_400
    quiet = replace(whole.span, last_end=whole.span.to_time - 15 * day)
    known = replace(whole, span=replace(quiet, newest=whole.span.to_time + day))
    assert standing(known).state == "complete"
    assert standing(known, now=known.span.to_time + 2 * day).state == "complete"
    short = replace(whole, span=replace(quiet, newest=whole.span.to_time - 2 * day))
    assert "records end on 2026-10-30 00:00, 2 d before the period ends" in standing(short).text

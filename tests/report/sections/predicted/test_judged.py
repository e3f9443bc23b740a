"""Sentences and rows about predicted starts."""

from audit.report.render import page
from audit.report.sections.predicted import (
    Predicted,
    Predictions,
    judged,
    predicted_lead,
    predicted_number,
    predicted_of,
)
from tests.report import sample
from tests.report.sample import having

WHOLE = Predicted(
    *("submission", True, "all", "", 1_200, 30, 0.814, 0.1, 0.086),
    *(900.0, 1_080.0, 2_100.0, 1_300.0),
)
MONTH = WHOLE._replace(dimension="month", label="2026-10", predictions=400)
FEW = WHOLE._replace(dimension="width", label="5-8", predictions=29)
OTHERS = WHOLE._replace(contested=False)
OF_OTHERS = MONTH._replace(contested=False)


def test_classes_with_few_predictions_and_those_of_others_are_left_out() -> None:
    part = having(sample.pool(), Predictions((WHOLE, MONTH, FEW, OTHERS, OF_OTHERS)))
    assert [*map(predicted_of, judged(part))] == [
        "At submission, more than a minute ahead",
        "At submission, in 2026-10",
        "At submission, others",
    ]
    assert predicted_of(FEW) == "At submission, width 5–8"


def test_the_lead_says_how_often_they_were_right() -> None:
    part = having(sample.pool(), Predictions((WHOLE, MONTH)))
    assert predicted_lead(part) == (
        "Of 1,200 predictions at submission of a start more than a minute ahead, 81 % were right; "
        "80 % should be. Jobs started earlier than predicted in 10 % of the cases, and later in "
        "8.6 %. Another 30 predictions at submission were withheld."
    )
    none = WHOLE._replace(predictions=0, right_share=None)
    assert predicted_lead(having(part, Predictions((none,)))) == (
        "30 predictions at submission were withheld."
    )
    assert predicted_lead(having(part, Predictions((OTHERS,)))).startswith(
        "No prediction of a start"
    )


def test_the_number_of_judged_submissions_counts_withheld_ones_once() -> None:
    pending = WHOLE._replace(kind="pending")
    part = having(sample.pool(), Predictions((WHOLE, MONTH, OTHERS, pending)))
    assert predicted_number(part) == f"2,460 of {part.attempts:,} attempts"
    assert f"repeated that for {predicted_number(part)} that ended" in page.render_html(
        sample.contents(part)
    ).replace("\u00a0", " ")


def test_the_page_for_administrators_has_the_table() -> None:
    part = having(sample.pool(), Predictions((WHOLE, MONTH)))
    html = page.render_html(sample.contents(part))
    assert "How good predicted starts were" in html
    assert predicted_lead(part) in html.replace("\u00a0", " ")
    assert "How good predicted starts were" not in page.render_html(sample.contents(sample.pool()))

"""Equal cautions are one caution with a count."""

from audit.report.text.notices import one_of_each


def test_equal_cautions_are_one_with_a_count() -> None:
    days = [f"log-{day:02}.txt: times have no zone; UTC is assumed." for day in range(1, 93)]
    other = "Pool 'batch': 3 jobs requested more than it has."
    assert one_of_each([*days, other]) == [f"{days[0]} (91 more of this kind)", other]


def test_cautions_that_differ_in_words_stay_apart() -> None:
    texts = ["a.log: cut at the end.", "b.log: times have no zone.", "c.log: cut at the end."]
    assert one_of_each(texts) == ["a.log: cut at the end. (1 more of this kind)", texts[1]]

import re
from dataclasses import replace

from audit.report.charts import waiting
from audit.report.charts.style import Chart
from audit.report.charts.waiting import miss
from audit.report.record.pool import Breakdown
from tests.report import sample
from tests.report.sample import figure, pool, without_fair_starts


def tips(chart: Chart | None) -> list[str]:
    assert chart is not None
    return re.findall('data-tip="([^"]*)"', chart.body)


def test_a_bar_is_divided_by_why_they_waited() -> None:
    made = waiting.why(sample.waiting(pool()))
    assert made is not None
    assert tips(made)[:2] == [
        "1 CPU, room for it: 50.0 % (95 % interval 5.0 to 60.0 %)",
        "1 CPU, room, others first: 20.0 % (95 % interval 5.0 to 60.0 %)",
    ]
    assert len(tips(made)) == 3 * 5
    assert "pool too small" not in made.body
    wide = re.findall(r'width="([\d.]+)" height="16" fill="var\(--(\w+)\)"', made.body)
    drawn = [(name, float(width) + 1) for width, name in wide if name == "room"]
    assert [round(width / drawn[0][1], 2) for _, width in drawn] == [1.0, 0.6, 0.2]
    assert made.alt.startswith("Bars divided by why attempts waited. 1 CPU: 50.0 % room for it, ")


def test_where_nobody_waited_there_is_nothing_to_divide() -> None:
    assert waiting.why(pool()) is None
    nothing = tuple(
        figure(f"wait_{name}_share", 0.0) for name in ("room", "shared", "own", "earlier", "later")
    )
    part = replace(pool(), widths=(Breakdown("1", nothing),))
    assert waiting.why(part) is None


def test_who_waits_so_by_floods_alone_is_told_apart_and_no_title() -> None:
    part = sample.waiting(pool())
    flood = replace(part.users.longer[0], label="ben")
    flood = replace(
        flood, figures=(figure("peer_ratio", 9.0, 5.0, 12.0), figure("peer_flood", 1.0))
    )
    both = replace(part, users=replace(part.users, floods=(flood,)))
    made = waiting.peers(both)
    assert made is not None
    assert made.title.startswith("User anna waits 3.1 times")
    assert [tip.partition(":")[0] for tip in tips(made)] == ["user anna", "user ben"]
    only = waiting.peers(replace(part, users=replace(part.users, longer=(), floods=(flood,))))
    assert only is not None
    assert only.title.startswith(
        "Only in floods of their own do some wait longer: user ben waits 9 "
    )


def test_an_account_of_one_user_is_not_drawn_twice() -> None:
    part = sample.waiting(pool())
    same = replace(part, accounts=replace(part.accounts, longer=part.users.longer))
    assert len(tips(waiting.peers(same))) == 1


def test_few_arrivals_do_not_set_the_scale() -> None:
    part = pool()
    last = replace(part.hours[-1], figures=(figure("wait_mean", 1e9, unit="s", attempts=2),))
    made = waiting.week(replace(part, hours=(*part.hours[:-1], last)))
    assert made is not None
    assert "Sun 22–23 h" in made.title
    assert "few arrivals" in made.body
    assert len(tips(made)) == 168


def test_dots_of_waits_say_what_they_are_of() -> None:
    made = waiting.waits(pool())
    assert tips(made)[0] == "1 CPU, median: 0 s; 900 attempts"


def test_strict_and_relaxed_stand_below_each_other() -> None:
    made = miss(pool())
    assert made is not None
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0].startswith("all attempts, strict: 30 min (95 % interval")
    assert tips[1].startswith("all attempts, relaxed: ")
    assert tips[2].startswith("1 CPU, strict: ")
    assert made.alt.startswith("Dots with 95 % intervals. Mean miss of the fair start time")
    assert miss(without_fair_starts(pool())) is None

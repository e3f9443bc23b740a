from dataclasses import replace

from audit.report.charts import miss as miss_chart
from audit.report.contents import Contents, Fidelity, PoolPart
from audit.report.text import belief, findings, notices
from tests.report.sample import (
    contents,
    entities,
    entity,
    fair_starts,
    fidelity,
    pool,
)


def _with(told: Fidelity | None) -> PoolPart:
    return replace(pool(), fair_start=replace(fair_starts(), fidelity=told))


def _found(said: Contents) -> dict[str, str]:
    return {found.subject: found.text for found in findings.findings(said)}


def test_the_headline_is_said_with_its_caveat() -> None:
    found = _found(contents())
    assert found["Fair start times"] == (
        "30.0 % of the 1,000 attempts that can be judged started more than 1 min later than they "
        "would have, had nobody arrived after them; these by 1 h 40 min in the mean. 10.0 % "
        "started that much earlier. Over all, the miss per attempt is 30 min (95 % interval 15 to "
        "60 min), and 15 min (95 % interval 7.50 to 30 min) where nobody may slip past those ahead "
        "(relaxed). Most of what was missed is beyond the errors of the model."
    )
    assert "user anna lost most, 2 h over 200 attempts" in found["Who started late"]
    assert found["Model fidelity"] == belief.fit_line(pool())


def test_a_poor_fit_is_said_with_every_finding_and_noticed() -> None:
    said = contents(_with(fidelity(0.2, 0.1)))
    found = _found(said)
    for subject in ("Fair start times", "Who started late"):
        assert "may be its error" in found[subject]
    assert "20.0 % is left" in found["Model fidelity"]
    assert any("fits this log poorly" in notice.text for notice in notices.notices(said))
    assert not any("poorly" in notice.text for notice in notices.notices(contents()))


def test_nothing_missed_is_said_as_such() -> None:
    part = pool()
    nothing = tuple(
        replace(made, value=0.0, lower=0.0, upper=0.0) if made.metric.startswith("miss") else made
        for made in part.figures
    )
    nobody = entities("user", (entity("anna", 0.0),))
    part = replace(part, figures=nothing, widths=(), users=nobody)
    found = _found(contents(part))
    assert found["Fair start times"].startswith("None of the 1,000 attempts that can be judged")
    assert "Who started late" not in found
    assert miss_chart.miss(part) is None
    assert miss_chart.missed(part) is None

from dataclasses import replace

from audit.report.charts import miss as miss_chart
from audit.report.contents import Contents, Fidelity, PoolPart
from audit.report.render import page
from audit.report.text import belief, findings, notices
from tests.report.sample import (
    contents,
    entities,
    entity,
    fair_starts,
    fidelity,
    figure,
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
        "(relaxed). The model fits this log well enough to go by."
    )
    assert found["Later arrivals"].startswith(
        "Under the modelled policy later arrivals cost each of the 1,000 attempts that can be "
        "judged 7 min 30 s in the mean (95 % interval 5 to 10 min). Everybody who came later "
        "included, they started 15 min later than this policy would have let them (95 % interval "
        "12 to 16 min): that the model does not explain. Of what they missed their fair start "
        "times by, later arrivals explain 25.0 %"
    )
    assert found["Later arrivals"].endswith("The model fits this log well enough to go by.")
    assert list(found).index("Later arrivals") < list(found).index("Fair start times")
    assert "user anna lost most, 2 h over 200 attempts" in found["Who started late"]
    assert found["Model fidelity"] == f"{belief.reasons(pool())} {belief.fit_line(pool())}"


def test_a_poor_fit_is_said_with_every_finding_and_noticed() -> None:
    said = contents(_with(fidelity(0.2, 0.1)))
    found = _found(said)
    for subject in ("Later arrivals", "Fair start times", "Who started late"):
        assert "may be its error" in found[subject]
    assert "starts 20.0 % when" in found["Model fidelity"]
    assert "anna" not in found["Who started late"]
    assert "lost most" not in page.render_html(said)
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


def test_who_had_room_is_said_first() -> None:
    part = pool()
    shares = {"room": 0.4, "shared": 0.3, "earlier": 0.2, "later": 0.1, "own": 0.0, "down": 0.0}
    apart = tuple(figure(f"wait_{name}_share", value) for name, value in shares.items())
    found = _found(contents(replace(part, figures=(*part.figures, *apart))))
    assert next(iter(found)) == "Why they waited"
    said = found["Why they waited"]
    assert said.startswith("For 40.0 % of all waiting there was room for those who waited")
    assert "for 30.0 % there was room that others" in said
    assert "for 10.0 % by others who came after them" in said
    assert "own users" not in said

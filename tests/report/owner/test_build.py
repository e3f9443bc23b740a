"""The page of one user or account: what it says, and what of others it never says."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from audit.config import Config
from audit.metrics.disclosure import BLOCKS, rounded
from audit.model import Period
from audit.periods import zone
from audit.registry.causes import CAUSES
from audit.report.contents import Who
from audit.report.figures import Figure, records
from audit.report.owner import page as render
from audit.report.owner.attempts import Scene, compare, longest, typical
from audit.report.owner.build import build
from audit.report.owner.record import FairshareCourse, OwnerContents, WaitPart
from audit.report.owner.text import fairshare
from audit.store import migrations, queries
from audit.store.database import Connection
from tests import stores
from tests.report import chromium
from tests.report.owner.conftest import HOUR, OTHERS, audited, jobs, report
from tests.report.owner.sample import owner, part
from tests.report.sample import HOSTILE
from tests.stores import insert_history

ANN = Who("user", "annabella")


def page(con: Connection, who: Who = ANN) -> OwnerContents:
    (made,) = build(con, report(con), [who])
    return made


def seen(html: str) -> str:
    """Return the text of a page, including attributes."""
    return unescape(html)


@pytest.mark.thorough
def test_waits_are_those_of_the_entity_alone(ann: Connection) -> None:
    """Everybody's are those of four closed weeks of 7 jobs a day, rounded."""
    (part,) = page(ann).parts
    assert (part.attempts, part.waited_s) == (30, 30 * 3 * HOUR)
    assert part.wait_mean.value == 3 * HOUR
    assert [of.cause for of in part.parts] == list(CAUSES)
    assert sum(of.share for of in part.parts) == pytest.approx(1)
    assert part.everybody is not None
    everybody = 3 * HOUR + sum(2 * HOUR + 90 * k + HOUR // 6 for k in range(6))
    assert part.everybody == (rounded(everybody / 13), 4 * rounded(7 * (7 * 8 + 6) * 2 * HOUR))
    assert part.typical == (3 * HOUR, rounded(2 * HOUR + 90 * 3), 28)
    similar = rounded((3 * HOUR + sum(2 * HOUR + 90 * k for k in range(6))) / 7)
    assert part.ratio.value == pytest.approx(3 * HOUR / similar)
    assert part.ratio.attempts == 28
    assert part.used_share == pytest.approx(4 * 7 * 8 * 2 * HOUR / part.everybody.consumed)
    assert (part.longer, part.shorter) == (True, False)
    assert len(part.longest) == 5
    assert {(wait.wait_s, wait.similar_wait_s) for wait in part.longest} == {(3 * HOUR, similar)}


def test_waits_are_compared_with_those_of_similar_jobs() -> None:
    """On each of 20 days a job waits 5 h, where similar ones wait 1 h."""
    day = 24 * HOUR
    rows = [
        {
            "user": "ann",
            "job_id": f"{n}",
            "arrival_time": n * day,
            "wait_s": 5 * HOUR,
        }
        for n in range(20)
    ]
    figures = [
        (0, 30 * day, "x", "0-1h", metric, value)
        for metric, value in (("wait_mean", float(HOUR)), ("wait_median", HOUR / 2))
    ]
    scene = scene_of(frame(rows), pl.DataFrame(figures, BLOCKS, orient="row"))
    ratio, excess = compare(scene, zone("UTC"), 100)
    assert (ratio.value, ratio.lower, excess.value) == (5, 5, 20 * 4 * HOUR)
    assert typical(scene) == (5 * HOUR, HOUR / 2, 20)
    few = scene_of(frame(rows[:19]), pl.DataFrame(figures, BLOCKS, orient="row"))
    assert typical(few) == (5 * HOUR, None, 19)
    means = pl.DataFrame(figures[:1], BLOCKS, orient="row")  # as of before medians were published
    assert typical(scene_of(frame(rows), means)) == (5 * HOUR, None, 0)


@pytest.mark.thorough
def test_a_trend_has_intervals_where_days_are_enough(tmp_path: Path) -> None:
    """64 days by week: no week has ten of them, both halves of the log do."""
    trend = page_of(audited(tmp_path, jobs("annabella", days=64))).parts[0].trend
    assert trend.unit == "week"
    assert {point.wait_mean for point in trend.points} == {Figure("wait_mean", 3 * HOUR, unit="s")}
    assert trend.changes[0] == Figure("wait_mean", 0, 0, 0, "s")


@pytest.mark.thorough
def test_with_fewer_than_ten_days_nothing_has_an_interval(tmp_path: Path) -> None:
    (part,) = page_of(audited(tmp_path, jobs("annabella", days=9))).parts
    assert part.wait_mean.value == 3 * HOUR
    assert part.wait_mean.lower is None
    assert part.trend.changes == ()


def test_a_long_wait_tells_what_own_jobs_held_meanwhile() -> None:
    rows: list[dict[str, object]] = [
        {"job_id": "a", "arrival_time": 1_000, "start_time": 2_000},
        {"job_id": "b", "arrival_time": 900, "start_time": 1_100, "end_time": 1_600},
        {"job_id": "c", "arrival_time": 2_000, "start_time": 2_000},
    ]
    scene = scene_of(frame(rows))
    waits = {wait.job_id: wait for wait in longest(scene)}
    assert waits.keys() == {"a", "b"}
    assert waits["a"].held == 2 * 500 / 1_000
    assert waits["b"].held == 0


def test_a_wait_under_an_inferred_hold_tells_the_own_end_before_its_start() -> None:
    """Not on an account's page, which identifies no job."""
    held = {"job_id": "b", "arrival_time": 0, "start_time": 1_040, "held_by": "dependency_inferred"}
    rows = [{"job_id": "a", "arrival_time": 0, "start_time": 0, "end_time": 1_000}, held]
    (wait,) = longest(scene_of(frame(rows)))
    assert (wait.job_id, wait.own_end) == ("b", ("a", 40))
    (by_record,) = longest(scene_of(frame([rows[0], {**held, "held_by": "dependency"}])))
    assert by_record.own_end is None
    account = replace(scene_of(frame(rows)), who=Who("account", "x"))
    assert [(one.job_id, one.own_end) for one in longest(account)] == [(None, None)]


def test_nobody_else_is_named(ann: Connection) -> None:
    html = render.render_html(page(ann))
    for other in (*OTHERS, "team-"):
        assert other not in html
    ids = {str(1000 * (k + 1) + 2 * day + j) for k in range(6) for day in range(30) for j in (0, 1)}
    assert not ids & set(re.findall(r"(?<=[Jj]ob )\S+?(?=[,<\s])", seen(html)))
    assert "annabella" in html


@pytest.mark.thorough
def test_not_even_the_record_knows_anybody_else(ann: Connection) -> None:
    for who in (ANN, Who("account", "mine")):
        record = repr(page(ann, who))
        assert not any(other in record for other in (*OTHERS, "team-"))


def test_the_page_of_an_account_names_no_member_and_no_job(ann: Connection) -> None:
    made = page(ann, Who("account", "mine"))
    assert {wait.job_id for wait in made.parts[0].longest} == {None}
    html = render.render_html(made)
    for name in ("annabella", *OTHERS, "team-"):
        assert name not in html


@pytest.mark.thorough
@pytest.mark.parametrize("several", [4, 5, 6])
def test_of_fewer_than_five_others_nothing_is_reported(several: int, tmp_path: Path) -> None:
    """Of five others' narrow jobs one of the five would know those of four."""
    path = audited(tmp_path, jobs("annabella", OTHERS[:several]))
    with stores.published(path) as con:
        (part,) = page(con).parts
    told, compared = several >= 5, several >= 6
    assert (part.everybody is not None) is (part.used_share is not None) is told
    assert bool(part.parts) is told
    assert (part.ratio.value is not None) is compared
    assert (part.longest[0].similar_wait_s is not None) is compared
    text = seen(render.render_html(page_of(path)))
    assert ("all users:" in text) is told
    assert ("times as long" in text) is compared


def page_of(path: Path, who: Who = ANN) -> OwnerContents:
    with stores.published(path) as con:
        return page(con, who)


def scene_of(attempts: pl.DataFrame, published: pl.DataFrame | None = None) -> Scene:
    none = BLOCKS.to_frame() if published is None else published
    return Scene(Who("user", "ann"), Period("all", 0, 9_000), attempts, none, pl.DataFrame())


def frame(rows: list[dict[str, object]]) -> pl.DataFrame:
    """Attempts of two CPUs; those without a start wait, then run for an hour."""
    made = pl.DataFrame(
        {
            "attempt": 1,
            "standing": "ended",
            "size": 2,
            "width_class": "x",
            "walltime_s": 600,
            "taken_apart": True,
            "held_by": None,
            **row,
        }
        for row in rows
    )
    if "wait_s" in made.columns:
        start = pl.col("arrival_time") + pl.col("wait_s")
        return made.with_columns(start_time=start, end_time=start + HOUR)
    end = pl.col("end_time").fill_null(5_000)
    return made.with_columns(wait_s=pl.col("start_time") - pl.col("arrival_time"), end_time=end)


def test_of_who_is_not_in_the_log_there_is_nothing_to_tell(ann: Connection) -> None:
    made = page(ann, Who("user", "nobody"))
    assert made.parts == ()
    assert "no job ended in this period" in render.render_html(made)


@pytest.mark.thorough
def test_the_target_is_that_of_the_report(tmp_path: Path) -> None:
    shares = {"annabella": 0.5, "beatrix": 0.5}
    usage = {"users": shares, "operator": "relative"}
    config = Config.model_validate({"clusters": ({"name": "demo", "usage": usage},)})
    with stores.published(audited(tmp_path, jobs("annabella"), config)) as con:
        ((target,), none) = (page(con, who).targets for who in (ANN, Who("user", "cornelius")))
        rows = {row.name: row for of in report(con).usages for row in of.users.rows}
    assert (target.share, none) == (0.5, ())
    assert rows["annabella"].share == 0.5


def test_fairshare_of_the_own_associations_alone(tmp_path: Path) -> None:
    days = [day * 86_400 for day in (1, 2, 3)]
    figures = {"ann": ((7_200.0, 0.75), (3_600.0, 0.25), (36_000.0, 0.5)), "ben": ((1.0, 1.0),) * 3}
    rows = [
        {
            "entity_kind": "user",
            "entity": user,
            "parent": "phys",
            "as_of": as_of,
            "usage": usage,
            "priority": factor,
            "method": f"slurm:billing:{operator}",
            "cluster": "c",
            "period": "p",
            "run_id": "r",
            "usage_fraction": 0.5,
        }
        for operator in ("fair_tree", "relative")
        for user, course in figures.items()
        for as_of, (usage, factor) in zip(days, course, strict=True)
    ]
    with migrations.migrated(tmp_path / "store.duckdb") as con:
        insert_history(con, pl.DataFrame(rows))
        (found,) = records(
            FairshareCourse,
            queries.run(con, "owner/fairshare", cluster="c", period="p", user="ann"),
        )
    assert found == FairshareCourse(
        *("phys", None, days[0], days[2], 7_200.0, 36_000.0, 0.75, 0.5, 0.25, days[1])
    )
    assert fairshare(found, "UTC") == (
        "FairShare in account phys: 0.750 at the end of 1 January 1970, 0.500 at the end of "
        "3 January 1970 (lowest: 0.250 on 2 January 1970). Decayed usage: 2 billing-hours, then 10."
    )
    html = render.render_html(replace(owner(), fairshare=(found,)))
    assert "FairShare in account phys: 0.750" in html


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everybody has a name that a log can hold, and that must stay text."""
    names = [name for name in HOSTILE if name and "|" not in name and "\n" not in name]
    return audited(tmp_path_factory.mktemp("hostile"), jobs(names[0], names[1:], days=12))


@pytest.mark.thorough
def test_hostile_names_stay_text_and_stay_away(hostile: Path) -> None:
    names = [name for name in HOSTILE if name and "|" not in name and "\n" not in name]
    for me in names[:2]:
        made = page_of(hostile, Who("user", me))
        html = render.render_html(made)
        assert me not in html
        assert "<img src=x" not in html
        assert "alert(1)</script>" not in html
        for other in names:
            if other != me:
                assert other not in seen(html)
                assert other[:40] not in seen(html)
        name = made.who.file
        assert re.fullmatch(r"user-[A-Za-z0-9._-]+\.html", name)


@pytest.mark.thorough
@pytest.mark.chromium
@chromium.needed
def test_a_browser_asks_for_nothing_and_complains_of_nothing(hostile: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(render.render_html(page_of(hostile, Who("user", HOSTILE[0]))), encoding="utf-8")
    with chromium.Page() as browser:
        for theme in ("light", "dark"):
            browser.theme(theme)
            browser.show(file, 375)
            assert browser.evaluate("document.querySelectorAll('.chart svg').length") == 2
            width = "document.documentElement.scrollWidth <= innerWidth"
            assert browser.evaluate(width)
        every = tuple(WaitPart(cause, 0.1, 0.1) for cause in CAUSES)
        file.write_text(render.render_html(owner(ANN, replace(part(), parts=every))))
        browser.show(file, 375)
        rows = "[...document.querySelectorAll('tbody tr')].filter(e => e.offsetHeight).length"
        assert browser.evaluate(rows) == len(CAUSES)
        assert browser.complaints == []
        assert [one for one in browser.requests if not one.startswith(("file:", "data:"))] == []

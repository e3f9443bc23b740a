"""The page of one user or account: what it says, and what of others it never says."""

import re
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from audit.config import Config
from audit.model import Period
from audit.report.owner.attempts import Beside, Everybody, Scene
from audit.report.owner.build import build
from audit.report.owner.contents import PARTS, OwnerContents, WaitPart
from audit.report.owner.longest import longest
from audit.report.owner.who import Who
from audit.report.render import owner as render
from audit.report.trend import Estimate
from audit.store import database
from audit.store.database import Connection
from tests.report import chromium
from tests.report.owner.conftest import HOUR, OTHERS, audited, jobs, report
from tests.report.owner.sample import owner, part
from tests.report.sample import HOSTILE

ANN = Who("user", "annabella")


def page(con: Connection, who: Who = ANN) -> OwnerContents:
    (made,) = build(con, report(con), [who])
    return made


def seen(html: str) -> str:
    """What a reader sees of a page, and what stands in attributes."""
    return unescape(html)


def test_waits_are_those_of_the_owner_alone(ann: Connection) -> None:
    (part,) = page(ann).parts
    assert (part.attempts, part.waited_s) == (30, 30 * 3 * HOUR)
    assert part.wait_mean.value == 3 * HOUR
    assert [of.key for of in part.parts] == list(PARTS)
    assert sum(of.wait_s for of in part.parts) == pytest.approx(part.waited_s)
    assert sum(of.share for of in part.parts) == pytest.approx(1)
    assert part.placed is not None
    assert (part.placed.longer.value, part.placed.others) == (1.0, 6)
    assert part.figure("peer_ratio").value == pytest.approx(3 / (2 + 2.5 * 90 / HOUR))
    assert part.peers_told
    assert len(part.longest) == 5
    assert {wait.wait_s for wait in part.longest} == {3 * HOUR}


def test_a_trend_has_intervals_where_days_are_enough(tmp_path: Path) -> None:
    """64 days by week: no week has ten of them, both halves of the log do."""
    trend = page_of(audited(tmp_path, jobs("annabella", days=64))).parts[0].trend
    assert trend is not None
    assert trend.unit == "week"
    assert {point.wait_mean for point in trend.points} == {Estimate(3 * HOUR)}
    assert trend.changes[0].difference == Estimate(0, 0, 0)


def test_with_fewer_than_ten_days_nothing_has_an_interval(tmp_path: Path) -> None:
    (part,) = page_of(audited(tmp_path, jobs("annabella", days=9))).parts
    assert part.wait_mean.value == 3 * HOUR
    assert part.wait_mean.lower is None
    assert part.trend is not None
    assert part.trend.changes == ()


def test_a_long_wait_tells_what_ran_meanwhile(ann: Connection) -> None:
    wait = page(ann).parts[0].longest[0]
    assert wait.job_id == "0"
    # Over its 3 h: own job 0; of each other 1 CPU for 2 h, 8 CPUs for what is left of the 3 h.
    held = sum(2 * HOUR + 8 * (HOUR - 90 * k - 60 * k) for k in range(6))
    assert wait.meanwhile.own == 0
    assert wait.meanwhile.users == 6
    assert wait.meanwhile.others == pytest.approx(held / (64 * 3 * HOUR))
    # Only one of the others had come before it, at the same second: of one nothing is told.
    assert wait.meanwhile.earlier is None
    assert wait.meanwhile.later is None
    assert wait.peer_wait_s == pytest.approx(2 * HOUR + 2.5 * 90)


def test_nobody_else_is_named(ann: Connection) -> None:
    html = render.render_html(page(ann))
    for other in (*OTHERS, "team-"):
        assert other not in html
    ids = {str(1000 * (k + 1) + 2 * day + j) for k in range(6) for day in range(30) for j in (0, 1)}
    assert not ids & set(re.findall(r"(?<=[Jj]ob )\S+?(?=[,<\s])", seen(html)))
    assert "annabella" in html


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
@pytest.mark.parametrize("several", [4, 5])
def test_of_fewer_than_five_others_nothing_is_told(several: int, tmp_path: Path) -> None:
    path = audited(tmp_path, jobs("annabella", OTHERS[:several]))
    with closing(database.open_snapshot(path)) as con:
        (part,) = page(con).parts
    told = several >= 5
    assert part.figure("peer_ratio").value is not None
    assert part.peers_told is told
    assert (part.placed is not None) is told
    assert [of.of_all is not None for of in part.parts] == [told] * len(PARTS)
    wait = part.longest[0]
    assert [of is not None for of in (wait.peer_wait_s, wait.meanwhile.others)] == [told] * 2
    assert bool(part.tried) is told
    assert bool(part.trust) is (part.pool.wait_mean is not None) is told
    text = seen(render.render_html(page_of(path)))
    assert ("% busy" in text) is ("everybody:" in text) is told
    assert ("fewer than 5" in text) is not told
    assert ("times as long" in text) is told


def page_of(path: Path, who: Who = ANN) -> OwnerContents:
    with closing(database.open_snapshot(path)) as con:
        return page(con, who)


def test_one_side_of_two_would_tell_the_other() -> None:
    """Five others ran, four of whom had come before: neither side is told, the sum is."""
    rows = [
        {"user": "ann", "job_id": "a", "arrival_time": 1_000, "start_time": 2_000},
        *(
            {"user": f"u{k}", "job_id": f"j{k}", "arrival_time": at, "start_time": 1_100}
            for k, at in enumerate((900, 900, 900, 900, 1_050))
        ),
    ]
    whole = scene_of(frame(rows))
    (wait,) = longest(whole, 100, Beside(whole), modelled=False)
    assert wait.meanwhile.others == pytest.approx(5 * 2 * 900 / (100 * 1_000))
    assert (wait.meanwhile.earlier, wait.meanwhile.later) == (None, None)
    late = frame([{**row, "arrival_time": 1_050} if row["job_id"] != "a" else row for row in rows])
    more = pl.concat([late, frame([{**row, "user": f"{row['user']}x"} for row in rows[1:]])])
    came_before = pl.when(pl.col("user").str.ends_with("x")).then(900)
    of_both = scene_of(more.with_columns(arrival_time=came_before.otherwise("arrival_time")))
    (wait,) = longest(of_both, 100, Beside(of_both), modelled=False)
    assert wait.meanwhile.earlier == wait.meanwhile.later == pytest.approx(0.09)


def scene_of(attempts: pl.DataFrame) -> Scene:
    return Scene(Who("user", "ann"), Everybody(Period("all", 0, 9_000), attempts))


def frame(rows: list[dict[str, object]]) -> pl.DataFrame:
    """Attempts of two CPUs that ended at 5,000 s."""
    common = {
        **dict.fromkeys(("account", "partition", "qos", "width_class"), "x"),
        **{f"wait_{part}_s": 0 for part in PARTS},
        "attempt": 1,
        "standing": "ended",
        "size": 2,
        "end_time": 5_000,
        "walltime_s": 600,
        **dict.fromkeys(("peer_wait_s", "overtaken_s", "weight"), None),
    }
    return pl.DataFrame([{**common, **row} for row in rows]).with_columns(
        wait_s=pl.col("start_time") - pl.col("arrival_time"),
        occupancy_s=pl.col("end_time") - pl.col("start_time"),
    )


def test_of_who_is_not_in_the_log_there_is_nothing_to_tell(ann: Connection) -> None:
    made = page(ann, Who("user", "nobody"))
    assert made.parts == ()
    assert "no job of theirs ended in this period" in render.render_html(made)


@pytest.mark.thorough
def test_usage_stands_beside_the_target_as_in_the_report(tmp_path: Path) -> None:
    shares = {"annabella": 0.5, "beatrix": 0.5}
    usage = {"users": shares, "operator": "relative"}
    config = Config.model_validate({"clusters": ({"name": "demo", "usage": usage},)})
    with closing(database.open_snapshot(audited(tmp_path, jobs("annabella"), config))) as con:
        ((target,), none) = (page(con, who).targets for who in (ANN, Who("user", "cornelius")))
        rows = {row.name: row for of in report(con).usages for row in of.users.rows}
    assert (target.share, none) == (0.5, ())
    assert (target.mean, target.now) == (rows["annabella"].mean, rows["annabella"].now)
    assert 0.1 < target.mean < 0.2  # an eighth of the work, and one of seven users
    assert target.days == 30


def test_the_same_again_gives_the_same_bytes(ann: Connection) -> None:
    assert render.render_html(page(ann)) == render.render_html(page(ann))


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
@pytest.mark.skipif(not chromium.PROGRAM.exists(), reason="NOBODY LOOKED AT THE PAGE: no chromium")
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
        six = tuple(WaitPart(key, 1 / 6, 60.0, None) for key in PARTS)
        file.write_text(render.render_html(owner(ANN, replace(part(), parts=six))))
        browser.show(file, 375)
        rows = "[...document.querySelectorAll('tbody tr')].filter(e => e.offsetHeight).length"
        assert browser.evaluate(rows) == 6
        assert "Share, everybody" not in file.read_text()
        assert browser.complaints == []
        assert [one for one in browser.requests if not one.startswith(("file:", "data:"))] == []

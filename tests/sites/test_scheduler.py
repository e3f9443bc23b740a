"""The true scheduler, by hand: when jobs start, and why they do not start before."""

import pytest

from bench.logs.sites.kinds import DAY, HOUR, ClosedHours, NodeClass, SiteKind, Traffic, TrueRule
from tests.sites.by_hand import HandJob, by_hand, starts, told

Told = list[tuple[int, int, int, str, str | None]]

TEN = SiteKind(capacity=10)
FIRST = HandJob(0, 6, 1_000)
WIDE = HandJob(100, 8, 500)
LONG = HandJob(200, 4, 2_000)
CLASSES = (NodeClass("thin", 0.6), NodeClass("fat", 0.4))


def kind(**fields: object) -> SiteKind:
    return SiteKind(capacity=10, **fields)  # type: ignore[arg-type]


def test_easy_keeps_capacity_for_the_first_that_does_not_fit() -> None:
    """Example B of SPEC §11."""
    site = by_hand(TEN, FIRST, WIDE, LONG)
    assert starts(site) == [0, 1_000, 1_500]
    assert told(site) == [
        (1, 100, 1_000, "full", None),
        (2, 200, 1_000, "kept", None),
        (2, 1_000, 1_500, "full", None),
    ]


def test_a_job_that_ends_before_the_reservation_backfills() -> None:
    site = by_hand(TEN, FIRST, WIDE, HandJob(200, 4, 700, 800))
    assert starts(site) == [0, 1_000, 200]


def test_conservative_reserves_for_all() -> None:
    """The last fits beside the reservation of the second, but not beside that of the third."""
    jobs = (FIRST, WIDE, HandJob(150, 9, 400), HandJob(200, 2, 1_900))
    assert starts(by_hand(TEN, *jobs)) == [0, 1_000, 2_100, 200]
    site = by_hand(kind(reservations=None), *jobs)
    assert starts(site) == [0, 1_000, 1_500, 1_900]
    assert told(site)[-2:] == [(3, 200, 1_500, "kept", None), (3, 1_500, 1_900, "full", None)]


def test_without_a_guarantee_what_fits_starts() -> None:
    site = by_hand(kind(reservations=0), FIRST, WIDE, LONG)
    assert starts(site) == [0, 2_200, 200]


def test_strict_order_lets_nothing_pass() -> None:
    site = by_hand(kind(strict=True), FIRST, WIDE, HandJob(200, 1, 10))
    assert starts(site) == [0, 1_000, 1_000]
    assert told(site)[-1] == (2, 200, 1_000, "kept", None)


def test_between_passes_jobs_wait_for_the_next() -> None:
    site = by_hand(kind(interval_s=60), HandJob(10, 6, 100), HandJob(20, 6, 100))
    assert starts(site) == [60, 180]
    assert told(site) == [
        (0, 10, 60, "cycle", None),
        (1, 20, 60, "claimed", None),
        (1, 60, 160, "full", None),
        (1, 160, 180, "cycle", None),
    ]


def test_a_start_takes_time_and_its_capacity_is_claimed() -> None:
    site = by_hand(kind(latency_s=(30, 30)), HandJob(0, 6, 100), HandJob(10, 6, 100))
    assert starts(site) == [30, 160]
    assert told(site) == [
        (0, 0, 30, "cycle", None),
        (1, 10, 30, "claimed", None),
        (1, 30, 130, "full", None),
        (1, 130, 160, "cycle", None),
    ]


@pytest.mark.parametrize(
    ("second", "start", "reasons"),
    [
        (
            HandJob(10, 2, 10, release=5_000),
            5_000,
            [(1, 10, 5_000, "held", None)],
        ),
        (HandJob(10, 2, 10, depends=0), 1_000, [(1, 10, 1_000, "dependency", None)]),
        (
            HandJob(10, 5, 10, release=5_000),
            5_000,
            [(1, 10, 1_000, "full", "held"), (1, 1_000, 5_000, "held", None)],
        ),
    ],
)
def test_held_and_dependent_jobs(second: HandJob, start: int, reasons: Told) -> None:
    site = by_hand(TEN, FIRST, second)
    assert starts(site) == [0, start]
    assert told(site) == reasons


def test_a_held_job_blocks_nobody() -> None:
    site = by_hand(TEN, FIRST, HandJob(100, 8, 500, release=900), LONG)
    assert starts(site)[2] == 200


@pytest.mark.parametrize(
    ("rule", "start"),
    [
        (TrueRule(1), 1_000),
        (TrueRule(7, "cpus"), 1_000),
        (TrueRule(8, "cpus"), 10),
        (TrueRule(1, per="account"), 1_000),
        (TrueRule(1, per="partition", only="main"), 1_000),
        (TrueRule(1, only="u00"), 1_000),
        (TrueRule(1, only="u01"), 10),
        (TrueRule(1, within=("qos", "normal")), 1_000),
        (TrueRule(1, within=("node_class", "other")), 10),
        (TrueRule(1, days=(1, 2)), 10),
        # 6 × (1,000 − t) + 2 × 500 ≤ 6,000 from t = 167 on
        (TrueRule(6_000, "cpu_s"), 167),
    ],
)
def test_limits(rule: TrueRule, start: int) -> None:
    mine = (HandJob(0, 6, 1_000, user=0), HandJob(10, 2, 500, user=0), HandJob(20, 1, 10, user=2))
    site = by_hand(kind(rules=(rule,)), *mine)
    assert starts(site)[:2] == [0, start]
    expected = [(1, 10, start, "rule", None)] if start > 10 else []
    assert [one for one in told(site) if one[0] == 1] == expected


def test_a_limit_ends_with_its_last_day() -> None:
    rule = TrueRule(1, days=(0, 1))
    first = HandJob(DAY - 500, 2, 10_000, user=0)
    site = by_hand(kind(rules=(rule,)), first, HandJob(DAY - 400, 2, 10, user=0))
    assert starts(site) == [DAY - 500, DAY]


def test_exempt_jobs_count_but_are_not_limited() -> None:
    jobs = [HandJob(k, 1, 1_000, user=0, exempt=int(k == 1)) for k in range(3)]
    site = by_hand(kind(rules=(TrueRule(1),)), *jobs)
    assert starts(site) == [0, 1, 1_001]


@pytest.mark.parametrize(
    ("closed", "starts_at"),
    [
        (ClosedHours((0, 1)), [2 * HOUR, 2 * HOUR]),
        (ClosedHours((0, 1), size_above=2), [2 * HOUR, 20]),
        (ClosedHours((0, 1), walltime_above_s=HOUR), [10, 2 * HOUR]),
        (ClosedHours((1, 2), overlap=True), [10, 3 * HOUR]),
    ],
)
def test_closed_hours(closed: ClosedHours, starts_at: list[int]) -> None:
    jobs = (HandJob(10, 4, 600), HandJob(20, 2, 2 * HOUR))
    assert starts(by_hand(kind(closed=(closed,)), *jobs)) == starts_at


def test_between_passes_limits_count_what_is_about_to_start() -> None:
    jobs = [HandJob(10 + k, 2, 100, user=0) for k in range(2)]
    site = by_hand(kind(interval_s=60, rules=(TrueRule(1),)), *jobs)
    assert starts(site) == [60, 180]
    assert told(site)[1:] == [(1, 11, 160, "rule", None), (1, 160, 180, "cycle", None)]


def test_throttled_arrays() -> None:
    site = by_hand(kind(throttle=2), *[HandJob(0, 1, 100, user=0, array=7) for _ in range(3)])
    assert starts(site) == [0, 0, 100]
    assert told(site) == [(2, 0, 100, "held", None)]
    assert site.jobs["array_task"].null_count() == 0


def test_a_script_submits_when_a_job_has_ended() -> None:
    site = by_hand(TEN, HandJob(0, 1, 100), HandJob(7, 1, 10, follows=0))
    assert site.jobs["wait_s"].to_list() == [0, 0]
    assert starts(site) == [0, 107]


def test_a_cancelled_job_leaves_the_queue() -> None:
    site = by_hand(TEN, FIRST, HandJob(100, 8, 500, gives_up=300), LONG)
    assert starts(site) == [0, None, 400]
    assert told(site) == [(1, 100, 400, "full", None), (2, 200, 400, "kept", None)]
    assert site.jobs["state"].to_list() == ["COMPLETED", "CANCELLED", "COMPLETED"]


def test_capacity_that_the_log_does_not_know_to_be_out_of_service() -> None:
    site = by_hand(kind(withheld=2), HandJob(0, 6, 1_000), HandJob(10, 4, 10), HandJob(20, 5, 10))
    assert starts(site) == [0, 1_000, 1_010]
    assert told(site) == [
        (1, 10, 1_000, "unavailable", None),
        (2, 20, 1_000, "full", None),
        (2, 1_000, 1_010, "unavailable", None),
    ]


def test_classes_of_nodes() -> None:
    """One reservation for the whole machine; with separate queues, one for each class."""
    jobs = (
        HandJob(0, 5, 1_000),
        HandJob(10, 4, 10),
        HandJob(20, 3, 500, node_class=1),
        HandJob(30, 2, 100, node_class=1),
        HandJob(40, 1, 3_000, node_class=1),
    )
    site = by_hand(kind(classes=CLASSES), *jobs)
    assert starts(site) == [0, 1_000, 20, 520, 40]
    assert told(site)[0] == (1, 10, 20, "nodes", None)
    site = by_hand(
        kind(classes=CLASSES, separate=True), *jobs[:4], HandJob(40, 1, 600, node_class=1)
    )
    assert starts(site) == [0, 1_000, 20, 520, 40]
    site = by_hand(
        kind(classes=CLASSES, separate=True), *jobs[:3], HandJob(30, 4, 100, node_class=1), jobs[4]
    )
    assert starts(site) == [0, 1_000, 20, 520, 620]


def test_who_used_less_is_first_under_fairshare() -> None:
    traffic = Traffic(users=3)
    jobs = (
        HandJob(0, 10, 1_000, user=0),
        HandJob(10, 10, 100, user=0),
        HandJob(20, 10, 100, user=1),
    )
    assert starts(by_hand(kind(traffic=traffic), *jobs)) == [0, 1_000, 1_100]
    assert starts(by_hand(kind(traffic=traffic, fairshare=True), *jobs)) == [0, 1_100, 1_000]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"first": ("user", "u02")}, [0, 1_100, 1_000]),
        ({"last": ("user", "u01")}, [0, 1_100, 1_000]),
        ({"last": ("account", "a0")}, [0, 1_000, 1_100]),
    ],
)
def test_whose_jobs_come_first_or_last(fields: dict[str, object], expected: list[int]) -> None:
    jobs = (HandJob(0, 10, 1_000), HandJob(10, 10, 100), HandJob(20, 10, 100))
    assert starts(by_hand(kind(**fields), *jobs)) == expected

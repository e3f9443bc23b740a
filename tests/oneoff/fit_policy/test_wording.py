"""What elements of a site are called."""

from audit.model import Limit, Policy, Window
from audit.oneoff.fit_policy import wording
from audit.policies import Backfill, Order
from audit.scenario.fit.days import Ceiling
from audit.scenario.fit.site import Element, Kind

OFFICE = tuple(day * 24 + hour for day in range(5) for hour in range(8, 17))


def says(**element: object) -> str:
    return wording.says(Element(Kind.window, **element), "cpus")  # type: ignore[arg-type]


def test_hours() -> None:
    assert wording.hours(OFFICE) == "Mon–Fri 08–17"
    assert wording.hours([0, 1, 2, 22, 23]) == "Mon 00–03, 22–24"
    assert wording.hours([5 * 24, 6 * 24]) == "Sat–Sun 00–01"
    assert wording.hours([0, 48]) == "Mon 00–01; Wed 00–01"
    assert wording.hours(range(168)) == "Mon–Sun 00–24"


def test_elements_are_sentences() -> None:
    window = Window(hours=OFFICE, partition=("long",), walltime_above_s=14400)
    assert says(window=window, zone="UTC") == (
        "Jobs of partition long that ask for more than 4 h are not started Mon–Fri 08–17 (UTC)"
    )
    assert says(limit=Limit(most=1, per="user")) == (
        "No more than 1 job of each user run at one time, of all jobs"
    )
    assert says(limit=Limit(most=64, resource="cpus", size_above=2, size_up_to=8)) == (
        "No more than 64 CPUs run at one time, of jobs that ask for more than 2 CPUs and no more "
        "than 8 CPUs"
    )
    assert says(policy=Policy(Order.sjf, Backfill.easy, depth=5, interval_s=600)) == (
        "Order sjf, backfilling easy, with a depth of 5 and passes, in s, every 600"
    )
    assert says(ceilings=(Ceiling(0, 2 * 86_400, 5, 1),)) == (
        "Less than the whole pool was in force, on 2 days"
    )
    users = tuple(f"u{number}" for number in range(7))
    assert says(users=users).startswith("Jobs of u0, u1, u2, u3, u4 and 2 more wait")
    assert says(nodes=8) == "A node is given to one job at a time, of 8 nodes"
    assert wording.kind(Kind.chain) == "Chains"


def test_clocks_are_named_as_people_do() -> None:
    assert wording.clock("Europe/Berlin") == "Europe/Berlin"
    assert wording.clock("Etc/GMT-1") == "UTC+1 all year"
    assert wording.clock("Etc/GMT+7") == "UTC-7 all year"

"""Kills at random times: in the end, tables, pages and mails are those of calm nights."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from audit.config.places import Site
from audit.errors import DeliveryError
from audit.mail import delivery
from audit.nightly.run import run
from tests.logs import write
from tests.nightly.test_fortnight import day, left, mails, site
from tests.nightly.test_run import DAY
from tests.nightly.test_timetable import epoch

BEGIN = epoch("2026-03-20T00:00+00:00")
NIGHT = (
    "import json, signal, sys, time\nfrom pathlib import Path\n"
    "from audit.config.places import Site\nfrom audit.nightly.run import run\n"
    "from tests.nightly.test_fortnight import site\n"
    "folder, now, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])\n"
    "begun = time.process_time()\n"
    "signal.setitimer(signal.ITIMER_PROF, seconds)\n"  # its signal ends the process; 0: never
    "failures = run(Site(site(folder), folder), now).failures\n"
    "signal.setitimer(signal.ITIMER_PROF, 0)\n"
    "print(json.dumps([time.process_time() - begun, *map(str, failures)]))\n"
)


def killed(folder: Path, now: int, seconds: float) -> tuple[float, set[str]] | None:
    """Run a night, killed after some processor time.

    Returns: if it ended, the time it took, and the mails that it named as doubtful.
    """
    words = [sys.executable, "-c", NIGHT, str(folder), str(now), str(seconds)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode in {0, -signal.SIGPROF}, done.stderr
    if done.returncode:
        return None
    took, *failures = json.loads(done.stdout)
    return took, {failure.split(": ")[0] for failure in failures}


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize(
    ("seed", "nights", "kills"),
    [
        pytest.param(1, 2, 3, marks=pytest.mark.thorough),
        *(pytest.param(seed, 3, 12, marks=pytest.mark.slow) for seed in (2, 3)),
    ],
)
def test_killed_at_any_time(tmp_path: Path, seed: int, nights: int, kills: int) -> None:
    chance = random.Random(seed)
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    for folder in (calm, disturbed):
        folder.mkdir()
        site(folder)
    doubtful: set[str] = set()
    for number in range(nights):
        now = BEGIN + (number + 1) * DAY + DAY // 2
        for folder in (calm, disturbed):
            write(folder / "logs" / f"{number}.swf", day(BEGIN, number))
        whole = killed(calm, now, 0)
        assert whole is not None
        most = 0.7 * whole[0]
        ended = [killed(disturbed, now, chance.uniform(0.001, most)) for _ in range(kills)]
        assert None in ended  # later ones find less to do, and so reach the end of the night
        doubtful |= {mail for one in ended if one is not None for mail in one[1]}
        failures = run(Site(site(disturbed), disturbed), now).failures
        assert all(isinstance(failure, DeliveryError) for failure in failures), failures
        doubtful |= {str(failure).split(": ")[0] for failure in failures}
    sent = mails(disturbed)
    assert set(sent.values()) == {1}
    assert len(mails(calm)) - len(sent) <= len(doubtful)  # each that is missing was named
    if doubtful:
        where = Site(site(disturbed), disturbed)
        again = delivery.by_hand(where, now, failed=True, unknown=True)
        assert {*again.sent} == doubtful
    assert left(disturbed) == left(calm)
    assert not list(disturbed.glob(".fairaudit.duckdb.*"))

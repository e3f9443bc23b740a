"""Mails about a quiet period: a short one, or none to those who get the whole report."""

import shutil
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from audit.config.places import Site
from audit.mail.delivery import Delivered, _Draft
from audit.nightly.run import run
from tests.logs import line, log, write
from tests.mail.test_delivery import ANNA, NOW, deliver, ledger, mailing, outbox, restate
from tests.nightly.test_run import DAY, site
from tests.shared import once

FEBRUARY = 31
OWN = {"addresses": ("ben@example.org",), "charts": False, "users": ("1",)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site in whose last month every job started at once."""

    def make(folder: Path) -> None:
        settings = site(folder)
        jobs = [
            line(job, submit=int((FEBRUARY + job / 3) * DAY), wait=0, run=3_600, user=1 + job % 2)
            for job in range(28 * 3)
        ]
        write(folder / "logs" / "1.swf", log(jobs, UnixStartTime=1_767_225_600, MaxProcs=8))
        run(Site(settings, folder), NOW)

    return once(tmp_path_factory, "quiet-month-to-mail", make)


@pytest.mark.parametrize(("quiet", "state"), [(True, "sent"), (False, "quiet")])
def test_a_quiet_period_is_mailed_briefly_or_not_at_all(
    made: Path, tmp_path: Path, quiet: bool, state: str
) -> None:
    place = shutil.copytree(made, tmp_path / "site")
    settings = mailing(place, ANNA, OWN, quiet=quiet)
    deliver(place, settings)
    assert {to: states for to, (states,) in ledger(place, "state").items()} == {
        "anna": state,
        "ben": "sent",
    }
    mails = [message_from_bytes(file.read_bytes(), policy=policy.default) for file in outbox(place)]
    assert len(mails) == (2 if quiet else 1)
    for mail in mails:
        body = mail.get_body(("plain",))
        assert body is not None
        if mail["To"] == "anna@example.org":
            assert mail["Subject"].endswith("c, Feb 2026: quiet")
            assert "Quiet. No job waited over a minute" in body.get_content()
            assert len(body.get_content().split()) <= 120
    assert deliver(place, settings) == Delivered()  # and never again


def test_a_period_that_is_no_longer_quiet_is_mailed(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shutil.copytree(made, tmp_path / "site")
    settings = mailing(place, ANNA, quiet=False)
    for run_id in ("first", "late"):
        restate(place, run_id)
        done = deliver(place, settings)
        assert done.quiet == ["c/2026-02 to anna@example.org"]
        assert done.changed  # the view deliveries shows it at once
        assert done.sent == []
    monkeypatch.setattr(_Draft, "left_out", lambda _draft, _mail: False)
    assert deliver(place, settings) == Delivered()
    restate(place, "unfair")
    assert deliver(place, settings).sent == ["c/2026-02 to anna@example.org"]
    (file,) = outbox(place)
    assert b"Corrected" not in file.read_bytes()

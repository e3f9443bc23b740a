"""Each report once to each recipient: refusals, put-offs, lost connections, kills, rivals."""

import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from audit import config
from audit.config.places import Site
from audit.errors import LockedError, UsageError
from audit.files import lock
from audit.mail import delivery
from audit.mail.delivery import Delivered
from audit.mail.transport import post
from audit.nightly import status
from audit.nightly.run import run
from audit.report import standing
from audit.setup.doctor import CheckResult, examine
from audit.store import database, migrations
from audit.store.database import Connection
from tests import mailserver
from tests.logs import write
from tests.mailserver import PASSWORD, Server
from tests.nightly.test_run import PowerCutError, month, published, site
from tests.shared import once
from tests.studies import commands

NOW = 1_775_000_000
"""2026-03-31: January and February are over."""
FIVE = tuple(f"{name}@example.org" for name in ("anna", "ben", "cleo", "dora", "emil"))
LAST = "c/2026-02"
ANNA: dict[str, object] = {"addresses": ("anna@example.org",), "charts": False}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site after its night: two months reported, nothing mailed."""

    def make(folder: Path) -> None:
        settings = site(folder)
        for number in (0, 1):
            write(folder / "logs" / f"{number}.swf", month(number, jobs=15))
        run(Site(settings, folder), NOW)

    return once(tmp_path_factory, "two-months-to-mail", make)


def mailing(
    place: Path,
    *recipients: dict[str, object],
    server: Server | None = None,
    cert: Path | None = None,
    **mail: object,
) -> config.Config:
    """The site's configuration, with mail of the newest report, to a server or else a folder."""
    given: dict[str, object] = {
        "via": "outbox",
        "sender": "audit@example.org",
        "domains": ("example.org",),
        "backlog": 1,
        "backoff_s": 0,
        "attempts": 2,
        "timeout_s": 20,
    }
    if server is not None:
        given |= {"via": "smtp", "port": server.port, "ca_file": str(cert), "user": "fairaudit"}
        given["password_env"] = "MAIL_SECRET"
    return config.Config.model_validate(
        {
            **site(place).model_dump(),
            "mail": {**given, **mail},
            "recipients": recipients or ({"addresses": FIVE, "charts": False},),
        }
    )


@contextmanager
def store(place: Path) -> Iterator[Connection]:
    with closing(database.open_store(place / "fairaudit-state" / "store.duckdb")) as con:
        migrations.migrate(con)
        yield con


def deliver(
    place: Path, settings: config.Config, *, failed: bool = False, unknown: bool = False
) -> Delivered:
    with store(place) as con:
        return delivery.deliver(con, Site(settings, place), NOW, failed=failed, unknown=unknown)


def ledger(place: Path, what: str = "state, attempts") -> dict[str, tuple[object, ...]]:
    with store(place) as con:
        rows = database.fetch(con, f"SELECT recipient, {what} FROM deliveries").rows()
    assert len({row[0] for row in rows}) == len(rows)
    return {recipient.split("@")[0]: tuple(rest) for recipient, *rest in rows}


def outbox(place: Path) -> list[Path]:
    return sorted((place / "fairaudit-outbox").glob("*.eml"))


@pytest.mark.thorough
def test_one_of_five_is_refused_and_costs_nobody_else_anything(
    place: Path, server: Server, cert: Path
) -> None:
    settings = mailing(place, server=server, cert=cert)
    server.answers["cleo@example.org"] = ["550 no such user"] * 2
    done = deliver(place, settings)
    assert done.refused == [f"{LAST} to cleo@example.org"]
    assert len(done.sent) == 4
    (failure,) = done.failures
    assert "refused: localhost: 550 no such user; 'fairaudit deliver --failed'" in str(failure)
    assert deliver(place, settings) == Delivered()  # no mail is sent again by itself
    other_case = {"addresses": tuple(map(str.upper, FIVE)), "charts": False}
    assert deliver(place, mailing(place, other_case, server=server, cert=cert)) == Delivered()
    assert deliver(place, settings, failed=True).refused == done.refused
    assert deliver(place, settings, failed=True).sent == done.refused
    assert deliver(place, settings, failed=True, unknown=True) == Delivered()
    assert server.recipients == sorted(FIVE)
    assert server.asked.count("anna@example.org") == 1
    others = dict.fromkeys(("anna", "ben", "dora", "emil"), ("sent", 1, None))
    assert ledger(place, "state, attempts, error") == {**others, "cleo": ("sent", 3, None)}
    kept = (place / "fairaudit-state" / "store.duckdb").read_bytes()
    assert PASSWORD.encode() not in kept


@pytest.mark.thorough
def test_put_off_and_then_taken(place: Path, server: Server, cert: Path) -> None:
    settings = mailing(place, server=server, cert=cert)
    server.answers["ben@example.org"] = ["451 later"]
    server.content_answers["dora@example.org"] = ["452 full"]
    server.answers["emil@example.org"] = ["450 busy"] * 3
    done = deliver(place, settings)
    assert len(done.sent) == 4
    assert done.due == [f"{LAST} to emil@example.org"]
    (failure,) = done.failures
    assert "450 busy; due again" in str(failure)
    before = ledger(place, "state, attempts, message_id")
    assert before["emil"][:2] == ("claimed", 2)
    assert before["dora"][:2] == ("sent", 2)
    assert deliver(place, settings).sent == done.due
    assert ledger(place, "state, attempts, message_id")["emil"] == ("sent", 4, before["emil"][2])
    ids = {mail["Message-ID"] for _, mail in server.got}
    assert ids == {row[2] for row in before.values()}
    assert len(ids) == 5


@pytest.mark.thorough
def test_a_lost_connection_leaves_it_unknown(place: Path, server: Server, cert: Path) -> None:
    settings = mailing(place, server=server, cert=cert)
    server.content_answers["anna@example.org"] = ["drop"]
    done = deliver(place, settings)
    assert done.unknown == [f"{LAST} to anna@example.org"]
    assert len(done.sent) == 4
    assert "sends it again, perhaps for the second time" in str(done.failures[0])
    assert deliver(place, settings) == Delivered()
    assert deliver(place, settings, failed=True) == Delivered()
    assert deliver(place, settings, failed=True, unknown=True).sent == done.unknown
    assert server.recipients == sorted(FIVE)


@pytest.mark.faults
@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1, marks=pytest.mark.thorough),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10)),
    ],
)
def test_whatever_a_server_does_no_mail_is_doubled_or_lost_without_a_word(
    place: Path, server: Server, cert: Path, seed: int
) -> None:
    chance = random.Random(seed)
    settings = mailing(place, server=server, cert=cert, timeout_s=1)
    away = mailing(place, server=server, cert=cert, port=mailserver.free_port())
    untrusted = mailing(place, server=server, cert=None, ca_file=None)
    recipients = ("250 OK", "250 OK", "550 no", "451 later", "drop")
    contents = ("250 OK", "554 no", "452 full", "drop", "250 drop", "hang")
    doubtful: set[str] = set()
    for _ in range(4):
        for to in FIVE:
            server.answers[to] = [chance.choice(recipients)]
            server.content_answers[to] = [chance.choice(contents)]
        which = chance.choice((settings, settings, away, untrusted))
        doubtful |= {*deliver(place, which, failed=chance.random() < 0.5).unknown}
    server.answers.clear()
    server.content_answers.clear()
    doubtful |= {*deliver(place, settings, failed=True).unknown}
    counts = Counter(server.recipients)
    assert set(counts.values()) == {1}
    assert {f"{LAST} to {to}" for to in FIVE if to not in counts} <= doubtful
    assert {*deliver(place, settings, failed=True, unknown=True).sent} == doubtful
    counts = Counter(server.recipients)
    assert set(counts) == set(FIVE)
    assert {f"{LAST} to {to}" for to, number in counts.items() if number > 1} <= doubtful
    assert {state for state, _ in ledger(place).values()} == {"sent"}


@pytest.mark.thorough
def test_no_server_then_one(place: Path, server: Server, cert: Path) -> None:
    away = mailing(place, server=server, cert=cert, port=mailserver.free_port())
    done = deliver(place, away)
    assert len(done.due) == 5
    (failure,) = done.failures
    assert "anna@example.org and 4 more: not sent: localhost: " in str(failure)
    wrong = deliver(place, mailing(place, server=server, cert=None, ca_file=None))
    assert "its certificate cannot be verified" in str(wrong.failures[0])
    assert ledger(place)["ben"] == ("claimed", 0)
    assert ledger(place)["anna"] == ("claimed", 3)
    unset = mailing(place, server=server, cert=cert, password_env="NOT_SET_AT_ALL")
    assert "NOT_SET_AT_ALL" in str(deliver(place, unset).failures[0])
    assert len(deliver(place, mailing(place, server=server, cert=cert)).sent) == 5
    assert server.recipients == sorted(FIVE)


@pytest.mark.thorough
def test_asked_to_stop_while_it_waits(place: Path, server: Server, cert: Path) -> None:
    server.answers["emil@example.org"] = ["450 busy"] * 3
    asked = iter([False, False, True, True])
    said: list[str] = []
    settings = mailing(place, server=server, cert=cert, backoff_s=600, attempts=3)
    with store(place) as con:
        pause = delivery.pausing(said.append, lambda: next(asked))
        done = delivery.deliver(con, Site(settings, place), NOW, pause=pause)
    assert said == ["1 not sent yet (localhost: 450 busy); trying again in 600 s"]
    assert len(done.sent) == 4
    assert done.due == [f"{LAST} to emil@example.org"]
    assert "450 busy; stopped on request; due again" in str(done.failures[0])
    assert ledger(place)["emil"] == ("claimed", 1)


def test_how_far_a_mail_would_come(place: Path, server: Server, cert: Path) -> None:
    def reach(settings: config.Config) -> str | None:
        answer = post(settings.mail, place).reach()
        return None if answer is None else answer.said

    assert reach(mailing(place, server=server, cert=cert)) is None
    away = reach(mailing(place, server=server, cert=cert, port=mailserver.free_port()))
    assert "Connection refused" in str(away)
    with mailserver.running(cert, says=f"535 not {PASSWORD}") as strict:
        stranger = reach(mailing(place, server=strict, cert=cert, user="mallory"))
    assert stranger == "localhost: 535 not (password)"
    assert reach(mailing(place)) is None
    assert outbox(place) == []
    (place / "taken").write_text("a file")
    assert "mail.outbox" in str(reach(mailing(place, outbox="taken")))
    assert server.got == []


@pytest.mark.usefixtures("sound_installation")
def test_doctor_asks_whether_mail_would_go(place: Path) -> None:
    def doctor(mail: str) -> CheckResult:
        write(place / "my.toml", mail)
        (found,) = (of for of in examine(place / "my.toml", None) if of.what == "mail")
        return found

    assert doctor("").found == "none is sent (mail.via)"
    outgoing = '[mail]\nvia = "outbox"\nsender = "a@example.org"\ndomains = ["example.org"]\n'
    assert doctor(outgoing).ok
    assert outbox(place) == []
    closed = doctor(outgoing.replace("outbox", "smtp") + f"port = {mailserver.free_port()}\n")
    assert not closed.ok
    assert "Connection refused" in closed.found
    assert "[mail]" in closed.remedy


CHILD = """
import os, signal, sys
from pathlib import Path
from audit.mail.transport import Smtp
from tests.mailserver import Server
from tests.mail import test_delivery as test
if sys.argv[3] == "before":
    Smtp._connected = lambda _: os.kill(os.getpid(), signal.SIGKILL)
place, cert = Path(sys.argv[1]), Path(sys.argv[2])
test.deliver(place, test.mailing(place, server=Server(int(sys.argv[4])), cert=cert))
"""


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_for_real(place: Path, server: Server, cert: Path, when: str) -> None:
    """kill -9 between the claim and the connection, and when the mail is with the server."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, place, cert, when, str(server.port)])

    def kill(address: str) -> None:
        if address == "ben@example.org" and child.poll() is None:
            child.send_signal(signal.SIGKILL)
            child.wait(60)

    server.on_content = kill
    assert child.wait(120) == -signal.SIGKILL
    states = {name: row[0] for name, row in ledger(place).items()}
    if when == "before":
        assert set(states.values()) == {"claimed"}
        assert len(states) == 5
    else:
        assert (states["anna"], states["ben"], states["cleo"]) == ("sent", "sending", "claimed")
    done = deliver(place, mailing(place, server=server, cert=cert))
    assert len(done.sent) == {"before": 5, "after": 3}[when]
    if when == "after":
        assert done.unknown == [f"{LAST} to ben@example.org"]
        assert "the run ended while the mail was being sent" in str(done.failures[0])
        assert ledger(place)["ben"][0] == "unknown"
    assert server.recipients == sorted(FIVE)


@pytest.mark.thorough
def test_a_monitor_hears_of_a_mail_that_may_not_have_arrived(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = mailing(place)
    where = Site(settings, place)

    def problem(of: config.Config = settings) -> str | None:
        (found,) = status.look(Site(of, place), NOW).clusters
        return found.problem

    def cut(_post: object, _message: object, _to: str, sending: Callable[[], None]) -> None:
        sending()
        raise PowerCutError

    with monkeypatch.context() as broken:
        broken.setattr("audit.mail.transport.Outbox.hand_over", cut)
        with pytest.raises(PowerCutError):
            run(where, NOW)
    assert run(where, NOW).exit_code == 4  # it says so, once
    assert run(where, NOW).failures == []
    said = f"a mail may not have arrived: {LAST} to anna@example.org; 'fairaudit deliver --failed"
    assert str(problem()).startswith(said)
    assert "--unknown' sends it again, perhaps for the second time" in str(problem())
    assert problem(mailing(place, {"addresses": FIVE[1:], "charts": False})) is None
    assert delivery.by_hand(where, NOW, failed=True, unknown=True).sent == [
        f"{LAST} to anna@example.org"
    ]
    assert problem() is None
    assert len(outbox(place)) == 5


@pytest.mark.thorough
def test_two_at_once_send_each_mail_once(place: Path, server: Server, cert: Path) -> None:
    """Even where two had the store: the second sends all while the first asks for its first."""
    settings = mailing(place, server=server, cert=cert)
    rivals: list[Delivered] = []
    with store(place) as con:
        other = con.cursor()
        database.execute(other, "USE store")

        def rival(_address: str) -> None:
            server.before_rcpt = None
            rivals.append(delivery.deliver(other, Site(settings, place), NOW))

        server.before_rcpt = rival
        first = delivery.deliver(con, Site(settings, place), NOW)
        other.close()
    assert len(rivals[0].sent) == 5
    assert first == Delivered()
    assert server.recipients == sorted(FIVE)


@pytest.mark.thorough
def test_racing_for_the_same_mails(place: Path) -> None:
    settings = mailing(place)
    found: list[Delivered] = []
    with store(place) as con:
        cursors = [con.cursor() for _ in range(4)]

        def race(cursor: Connection) -> None:
            database.execute(cursor, "USE store")
            found.append(delivery.deliver(cursor, Site(settings, place), NOW))

        racers = [threading.Thread(target=race, args=(cursor,)) for cursor in cursors]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        for cursor in cursors:
            cursor.close()
    sent = [mail for done in found for mail in done.sent]
    assert len(sent) == len(set(sent))
    assert len(outbox(place)) == len({*sent, *(m for done in found for m in done.unknown)}) == 5


def test_only_who_holds_the_store_delivers(place: Path) -> None:
    with lock.held(place / "fairaudit-state" / "store.duckdb"), pytest.raises(LockedError):
        delivery.by_hand(Site(mailing(place), place), NOW)
    assert outbox(place) == []


def test_who_gets_what(place: Path) -> None:
    recipients: tuple[dict[str, object], ...] = (
        {"addresses": ("boss@example.org",), "charts": True},
        {"addresses": ("pi@example.org", "Boss@Example.org"), "accounts": ("1",)},
        {"addresses": ("day@example.org",), "periods": ("day",)},
        {"addresses": ("csv@example.org",), "accounts": ("2",), "attach": ("csv",)},
    )
    (place / "fairaudit-reports" / "c" / "2026-02" / "report.pdf").write_bytes(b"%PDF")
    settings = mailing(place, *recipients)
    settings = settings.model_copy(update={"report": config.ReportConfig(pdf=True)})
    assert len(deliver(place, settings).sent) == 3
    got = {}
    for file in outbox(place):
        mail = message_from_bytes(file.read_bytes(), policy=policy.default)
        text = mail.get_body(("plain",))
        assert text is not None
        names = [part.get_filename() for part in mail.iter_attachments()]
        said = text.get_content().replace("\r\n", "\n")
        got[mail["To"].split("@")[0]] = (mail["Subject"], said, names)
    assert set(got) == {"boss", "pi", "csv"}
    subject, text, names = got["boss"]
    # the log ends days before the month does
    assert subject == "[STALE] c, Feb 2026: only 6 days covered so far"
    assert "STALE: " in text
    assert "Account 1: so far, the log covers too few days of this period" in text
    assert names[:3] == ["c_2026-02-account-1.html", "c_2026-02.pdf", "users.csv"]
    subject, text, names = got["pi"]
    assert subject == "[STALE] c, Feb 2026: account 1: too few covered days"
    assert "Account 1: so far, the log covers too few days of this period" in text
    assert "Possible changes" not in text
    assert "Account 2" not in text
    assert names == ["c_2026-02-account-1.html"]
    assert got["csv"][2] == ["accounts.csv"]


def restate(place: Path, run_id: str) -> None:
    """As if late logs had changed the newest report."""
    with store(place) as con:
        database.execute(con, "UPDATE run SET run_id = ? WHERE period = '2026-02'", [run_id])


@pytest.mark.thorough
def test_a_report_is_mailed_again_only_when_it_is_complete_or_if_configured(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = mailing(place, ANNA)
    assert len(deliver(place, settings).sent) == 1  # stale
    assert deliver(place, settings) == Delivered()
    restate(place, "grown")  # and stale still, or partial: it was mailed as that
    assert deliver(place, settings) == Delivered()
    restate(place, "second")
    complete = standing.ReportStanding(standing.State.COMPLETE, "All.")
    monkeypatch.setattr(standing, "standing", lambda _page, _now: complete)
    assert len(deliver(place, settings).sent) == 1
    mails = [message_from_bytes(file.read_bytes(), policy=policy.default) for file in outbox(place)]
    said = "c, Feb 2026: only 6 days covered so far"
    assert {mail["Subject"] for mail in mails} == {f"[STALE] {said}", f"Corrected: {said}"}
    restate(place, "third")
    assert deliver(place, settings) == Delivered()
    assert len(deliver(place, mailing(place, ANNA, corrections=True)).sent) == 1


@pytest.mark.thorough
def test_new_definitions_mail_nothing(place: Path) -> None:
    settings = mailing(place, ANNA, corrections=True)
    assert len(deliver(place, settings).sent) == 1
    restate(place, "new")
    version = "version 0.1.0 became 0.2.0"
    for reason, mails in ((version, 0), (f"{version}; settings changed", 1)):
        with store(place) as con:
            row = ["c", "2026-02", f"m{mails}", "all", None, 1.0, 2.0, reason, "old", "new"]
            database.execute(
                con, "INSERT INTO restatement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row
            )
        assert len(deliver(place, settings).sent) == mails


def test_finished_periods_and_no_more_of_them_than_requested(place: Path) -> None:
    early = 1_770_500_000  # in February
    with store(place) as con:
        settings = mailing(place, ANNA, backlog=9)
        before = delivery.deliver(con, Site(settings, place), early, dry_run=True)
        assert before.due == ["c/2026-01 to anna@example.org"]
        both = delivery.deliver(con, Site(settings, place), NOW, dry_run=True)
        assert both.due == ["c/2026-01 to anna@example.org", f"{LAST} to anna@example.org"]
        newest = delivery.deliver(con, Site(mailing(place, ANNA), place), NOW, dry_run=True)
        assert newest.due == [f"{LAST} to anna@example.org"]
    assert ledger(place) == {}
    assert outbox(place) == []


def test_a_report_that_could_not_be_made_anew_mails_no_older_ones(place: Path) -> None:
    settings = mailing(place, ANNA)
    assert deliver(place, settings).sent == [f"{LAST} to anna@example.org"]
    with store(place) as con:  # as when the PDF of a recomputed period fails
        database.execute(con, "DELETE FROM run WHERE stage = 'report' AND period = '2026-02'")
    assert deliver(place, settings) == Delivered()


def test_periods_of_another_length_mail_only_the_latest(place: Path) -> None:
    settings = mailing(place, ANNA)
    assert len(deliver(place, settings).sent) == 1
    with store(place) as con:  # as after a change of ``period``: none of those mailed exists
        database.execute(con, "UPDATE run SET period = 'new ' || period")
        assert delivery.deliver(con, Site(settings, place), NOW, dry_run=True).due == [
            "c/new 2026-02 to anna@example.org"
        ]


def test_the_night_mails_and_tells_its_operator(place: Path, server: Server, cert: Path) -> None:
    settings = mailing(place, server=server, cert=cert)
    done = run(Site(settings, place), NOW)
    assert len(done.sent) == 5
    assert published(place, "SELECT DISTINCT state FROM deliveries") == [("sent",)]
    assert run(Site(settings, place), NOW).sent == []
    told = mailing(place, operators=("ops@example.org",))
    assert delivery.tell_operator(Site(told, place), "No report", "The disk is full.") is None
    (file,) = outbox(place)
    assert b"The disk is full." in file.read_bytes()
    away = mailing(place, server=server, port=1, operators=("ops@example.org",), cert=cert)
    lost = delivery.tell_operator(Site(away, place), "a", "b")
    assert "ops@example.org: localhost: " in str(lost)


def test_the_command(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = '[[clusters]]\nname = "c"\nzone = "Europe/Berlin"\n'
    mail = '[mail]\nvia = "outbox"\nsender = "a@example.org"\nbacklog = 1\n'
    limit = 'domains = ["example.org"]\n[[recipients]]\naddresses = ["anna@example.org"]\n'
    write(place / "config.toml", sources + mail + limit)

    def command(*words: str) -> tuple[int, str]:
        code = commands.run("deliver", "--config", place / "config.toml", *words)
        return code, "".join(capsys.readouterr())

    assert command("--dry-run") == (0, f"would send {LAST} to anna@example.org\n")
    assert outbox(place) == []
    assert command() == (0, f"sent {LAST} to anna@example.org\n")
    assert command() == (0, "nothing to send\n")
    assert command("--test-send", "ben@example.org") == (0, "sent a test mail to ben@example.org\n")
    assert len(outbox(place)) == 2
    code, said = command("--test-send", "ben@evil.org")
    assert code == 2
    assert "its domain is not among mail.domains (example.org)" in said
    assert command("--unknown")[0] == 2
    with pytest.raises(UsageError, match=r'mail\.via is "none"'):
        delivery.by_hand(Site(site(place), place), NOW)

"""Reports to their recipients: each once, whatever happens on the way.

What to send follows from the store: the reports that were made, the recipients of config.toml, and
the ledger (table ``delivery``), in which each mail has one row. A row is `claimed` before anything
is sent, `sending` from just before the mail goes over the line, then `sent`, `refused`, or again
`claimed` where the server said "later". If a run is killed while a row is `claimed`, the next run
sends the mail. If it is `sending`, nobody knows whether the mail arrived: the row becomes
`unknown`, is reported, and is sent again only on request.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from audit.config import Config, allowed, places
from audit.errors import AuditError, DeliveryError, ReportError, UsageError
from audit.files import state_folder
from audit.mail import ledger, transport
from audit.mail import message as mails
from audit.mail.transport import Answer, Outcome, Post
from audit.pipeline import drawing
from audit.report.owner import build as owners
from audit.report.record.owner import OwnerContents
from audit.report.record.page import Contents, Who
from audit.report.render import owner as owner_page
from audit.report.render import sandbox
from audit.report.text import standing
from audit.store import migrations, publish, queries
from audit.store.database import Connection

Say = Callable[[str], None]

_KILLED: Final = "the run ended while the mail was being sent"
_SETTLED: Final = (Outcome.SENT, Outcome.REFUSED, Outcome.UNKNOWN)
"""Outcomes after which a mail is not due any more; they are states of the ledger too."""
_AGAIN: Final = "'fairaudit deliver --failed' tries again"
_TWICE: Final = (
    "nobody knows whether it arrived; 'fairaudit deliver --failed --unknown' sends it again, "
    "perhaps for the second time"
)


@dataclass
class Delivered:
    """What became of the mails that were due; each reads ``CLUSTER/PERIOD to ADDRESS``."""

    sent: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # nobody said whether they were taken
    due: list[str] = field(default_factory=list)  # still to be sent; in a dry run all
    failures: list[AuditError] = field(default_factory=list)  # why mails were not sent

    @property
    def changed(self) -> bool:
        """Whether the ledger is not as it was."""
        return bool(self.sent or self.refused or self.unknown or self.due)


Pause = Callable[[float, str], bool]
"""Waits for some seconds, for a reason; returns whether to go on."""


def pausing(say: Say = lambda text: None, stopping: Callable[[], bool] = lambda: False) -> Pause:
    """Return a pause that is reported to ``say`` and ends when ``stopping`` is true."""

    def pause(seconds: float, why: str) -> bool:
        say(why)
        until = time.monotonic() + seconds
        while not stopping() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))
        return not stopping()

    return pause


def deliver(
    con: Connection,
    config: Config,
    folder: Path,
    now: int,
    *,
    failed: bool = False,
    unknown: bool = False,
    dry_run: bool = False,
    pause: Pause | None = None,
) -> Delivered:
    """Send what is due.

    Args:
        con: the store, which nobody else has open.
        config: the configuration in force.
        folder: its paths are relative to.
        now: epoch s.
        failed: also what was refused.
        unknown: with ``failed``, also what may have arrived.
        dry_run: only find out what is due; nothing is sent or noted.
        pause: waits between two tries; None: as ``pausing()`` does.
    """
    done = Delivered()
    if config.mail.via == "none":
        return done
    if not dry_run:
        _recover(con, now, done)

    @functools.cache
    def complete(report: ledger.Report) -> bool:
        page = drawing.contents_of(con, config, report.cluster, report.period)
        return standing.standing(page, now).state is standing.State.COMPLETE

    also = {"refused": failed, "unknown": failed and unknown}
    again = {"claimed", *(state for state, wanted in also.items() if wanted)}
    due = [
        mail
        for cluster in config.clusters
        for mail in ledger.due(con, cluster, config, now, complete, again)
    ]
    if dry_run:
        done.due = [mail.name for mail in due]
        return done
    claimed = [mail for mail in due if ledger.claim(con, mail, now)]
    if claimed:
        _Round(con, config, folder, now, done, pause or pausing()).run(claimed)
    return done


def by_hand(
    config: Config,
    folder: Path,
    now: int,
    *,
    failed: bool = False,
    unknown: bool = False,
    dry_run: bool = False,
    say: Say = lambda text: None,
) -> Delivered:
    """Send what is due in the store of ``fairaudit run``; options as of ``deliver``.

    Raises:
        UsageError: config.toml sends no mail, or there is no store yet.
        LockedError: another run is at work.
    """
    _require_mail(config)
    if not config.recipients:
        raise UsageError("deliver: config.toml has no [[recipients]]")
    state = folder / config.output.state
    if not state_folder.begun(state):
        raise UsageError(f"{state}: there is nothing yet; 'fairaudit run' makes the reports first")
    base = places.published_folder(config, folder)
    with (
        state_folder.held(state, "fairaudit deliver") as store,
        migrations.migrated(store, config.store.memory_limit, base=base) as con,
    ):
        which = {"failed": failed, "unknown": unknown, "dry_run": dry_run}
        done = deliver(con, config, folder, now, **which, pause=pausing(say))
        target = folder / config.output.database
        if not dry_run and done.changed and target.exists():
            # analysts see the ledger too
            publish.publish(con, target, with_group=config.output.shared_with_group)
    return done


def _require_mail(config: Config) -> None:
    if config.mail.via == "none":
        raise UsageError('deliver: mail.via is "none": nothing is sent; see config.toml, [mail]')


def try_out(config: Config, folder: Path, address: str, now: int) -> Answer:
    """Sends a mail that says that mail works.

    Raises:
        UsageError: nothing may be sent to ``address``, or no mail at all.
        DeliveryError: it could not be handed over; the message says why.
    """
    _require_mail(config)
    try:
        recipient = allowed(address, config.mail.domains)
    except ValueError as error:
        raise UsageError(f"--test-send {address!r}: {error}") from None
    text = (
        "This mail was asked for with 'fairaudit deliver --test-send'.\n"
        "That it arrived shows that reports can be mailed from there."
    )
    answer = _note(config, folder, recipient, "fairaudit: mail works", text, now)
    if answer.outcome is not Outcome.SENT:
        raise DeliveryError(f"{recipient}: {answer.outcome}: {answer.said}")
    return answer


def tell_operator(config: Config, subject: str, text: str, folder: Path = Path()) -> str | None:
    """Write to ``mail.operators`` that something could not be done.

    Returns:
        None, or which of them could not be told and why. That is never raised: it would hide what
        they were to be told.
    """
    if config.mail.via == "none":
        return None
    lost = []
    for address in config.mail.operators:
        try:
            recipient = allowed(address, config.mail.domains)
            answer = _note(config, folder, recipient, subject, text, int(time.time()))
            why = None if answer.outcome is Outcome.SENT else answer.said
        except (DeliveryError, ValueError) as error:
            why = str(error)
        if why is not None:
            lost.append(f"{address}: {why}")
    return "; ".join(lost) or None


def _note(
    config: Config, folder: Path, recipient: str, subject: str, text: str, now: int
) -> Answer:
    """A mail of text alone, tried once."""
    settings = config.mail
    assert settings.sender is not None  # config.Mail asks for it
    message_id = ledger.message_id(settings, [recipient, subject, text, now])
    envelope = mails.Envelope(settings.sender, recipient, message_id, now)
    post = transport.post(settings, folder, hides=config.hides())
    return post.hand_over(mails.note(subject, text, envelope), recipient, lambda: None)


def _recover(con: Connection, now: int, done: Delivered) -> None:
    for report, recipient in queries.run(con, "delivery_recover", error=_KILLED, now=now).rows():
        done.unknown.append(f"{report} to {recipient}")
        done.failures.append(DeliveryError(f"{report} to {recipient}: {_KILLED}: {_TWICE}"))


# --- sending ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Draft:
    """What all mails about one report share; made when the first of them is."""

    con: Connection
    config: Config
    folder: Path
    report: ledger.Report
    about: tuple[Who, ...]
    now: int

    @cached_property
    def page(self) -> Contents:
        return drawing.contents_of(self.con, self.config, self.report.cluster, self.report.period)

    @cached_property
    def standing(self) -> standing.Standing:
        return standing.standing(self.page, self.now)

    @cached_property
    def owners(self) -> dict[Who, OwnerContents]:
        """What the pages say of those whom any of these mails is about."""
        return {of.who: of for of in owners.build(self.con, self.page, self.about)}

    @cached_property
    def pictures(self) -> tuple[mails.Picture, ...]:
        return mails.pictures(self.page)

    @cached_property
    def pdf(self) -> bytes | None:
        """As it was made; None where it is not there."""
        report = self.report
        place = places.of_report(self.config, self.folder, report.cluster, report.period.name)
        try:
            return (place / drawing.PDF).read_bytes()
        except OSError:
            return None

    def letter(self, mail: ledger.Due) -> mails.Letter:
        """What one recipient gets."""
        wish = mail.wish
        spoken = [self.owners[who] for who in wish.owners]
        settings = self.config.mail
        files, remarks = self._files(wish, spoken)
        if why := mails.too_large(files, settings.attachments_mb):
            remarks.append(why)
            files = []
        pictures = self.pictures if wish.whole else mails.owner_pictures(spoken[0])
        enclosed = mails.Enclosed(pictures if wish.charts else (), tuple(files), tuple(remarks))
        about = (self.page, self.standing, settings.subject, wish, spoken)
        return mails.compose(*about, corrected=mail.corrected, enclosed=enclosed)

    def _files(
        self, wish: mails.Wish, spoken: list[OwnerContents]
    ) -> tuple[list[mails.File], list[str]]:
        """What is attached for one recipient, and what is to be said of that."""
        plain = f"{places.file_name(self.report.cluster)}_{self.report.period.name}"
        files: list[mails.File] = []
        remarks = []
        for of in spoken:
            name = f"{plain}-{of.who.file}"
            if "page" in wish.attach:
                files.append(mails.File(name, "text/html", owner_page.render_html(of).encode()))
            if "page_pdf" in wish.attach:
                pdf = owner_page.render_pdf(of, sandbox.limits(self.config.report))
                files.append(mails.File(f"{Path(name).stem}.pdf", "application/pdf", pdf))
        if "pdf" in wish.attach and self.config.report.pdf:
            if self.pdf is None:
                remarks.append("The PDF of this report is missing and could not be attached.")
            else:
                files.append(mails.File(f"{plain}.pdf", "application/pdf", self.pdf))
        if "csv" in wish.attach:
            files += mails.csv_files(self.page, () if wish.whole else wish.owners)
        return files, remarks


@dataclass
class _Round:
    """Sends claimed mails, in rounds: who is told "later" does not hold up the others."""

    con: Connection
    config: Config
    folder: Path
    now: int
    done: Delivered
    pause: Pause
    drafts: dict[str, _Draft] = field(default_factory=dict)

    def run(self, due: list[ledger.Due]) -> None:
        """Sends all of ``due``, or says why not."""
        settings, why = self.config.mail, ""
        about: dict[ledger.Report, list[Who]] = {}
        for mail in due:
            about.setdefault(mail.report, []).extend(mail.wish.owners)
        for report, of in about.items():
            owners = tuple(dict.fromkeys(of))
            self.drafts[report.name] = _Draft(
                self.con, self.config, self.folder, report, owners, self.now
            )
        try:
            post = transport.post(settings, self.folder, hides=self.config.hides())
        except DeliveryError as error:
            self._stay(due, str(error))
            return
        for tried in range(settings.attempts):
            if tried:
                pause = settings.backoff_s * 2 ** (tried - 1)
                put_off = f"{len(due)} not sent yet ({why}); trying again in {pause} s"
                if not self.pause(pause, put_off):
                    why = f"{why}; asked to stop"
                    break
            due, why, barred = self._once(post, due)
            if not due:
                return
            if barred:
                break
        self._stay(due, why)

    def _stay(self, due: list[ledger.Due], why: str) -> None:
        """Notes why mails were not sent; they stay due."""
        for mail in due:
            self.done.due.append(mail.name)
            try:
                ledger.move(self.con, mail, "claimed", "claimed", self.now, error=why)
            except ledger.TakenError:
                self.done.due.pop()
        others = f" and {len(due) - 1} more" if len(due) > 1 else ""
        text = f"{due[0].name}{others}: not sent: {why}; due again in the next run, or with "
        self.done.failures.append(DeliveryError(f"{text}'fairaudit deliver'"))

    def _once(self, post: Post, due: list[ledger.Due]) -> tuple[list[ledger.Due], str, bool]:
        """Try each mail once; return those put off, why, and whether to give up."""
        later: list[ledger.Due] = []
        why = ""
        for number, mail in enumerate(due):
            try:
                answer = self._send(post, mail)
            except ledger.TakenError:
                continue  # its row is another delivery's
            except ReportError as error:
                self._stay([mail], f"the mail could not be made: {error}")
                continue
            if answer.outcome in (Outcome.DOWN, Outcome.BARRED):
                return [*later, *due[number:]], answer.said, answer.outcome is Outcome.BARRED
            if answer.outcome is Outcome.LATER:
                later.append(mail)
                why = answer.said
            else:
                self._settled(mail, answer)
        return later, why, False

    def _send(self, post: Post, mail: ledger.Due) -> Answer:
        """One try of one mail, with its row of the ledger kept in step."""
        report = mail.report
        draft = self.drafts[report.name]
        assert self.config.mail.sender is not None  # config.Mail asks for it
        sender = self.config.mail.sender
        envelope = mails.Envelope(sender, mail.recipient, mail.message_id, self.now)
        message = mails.message(draft.letter(mail), envelope)
        begun = False

        def sending() -> None:
            nonlocal begun
            state = draft.standing.state.value
            ledger.move(self.con, mail, "claimed", "sending", self.now, report_state=state)
            begun = True

        answer = post.hand_over(message, mail.recipient, sending)
        leave, error = "sending" if begun else "claimed", answer.said or None
        state = answer.outcome.value if answer.outcome in _SETTLED else "claimed"
        ledger.move(self.con, mail, leave, state, self.now, tried=1, error=error)
        return answer

    def _settled(self, mail: ledger.Due, answer: Answer) -> None:
        """Keeps what became of a mail that is not due any more."""
        names: list[str] = getattr(self.done, answer.outcome.value)
        names.append(mail.name)
        if answer.outcome is not Outcome.SENT:
            remedy = _AGAIN if answer.outcome is Outcome.REFUSED else _TWICE
            why = f"{mail.name}: {answer.outcome}: {answer.said}; {remedy}"
            self.done.failures.append(DeliveryError(why))

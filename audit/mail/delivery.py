"""Sends reports to their recipients: each once, even if runs are killed.

The mails follow from the store: the reports that were made, the recipients of config.toml, and the
ledger (table ``delivery``), in which each mail has one row. A row is `claimed` before anything is
sent, `sending` from just before the mail is transmitted, then `sent`, `refused`, or again `claimed`
if the server said "later". If a run is killed while a row is `claimed`, the next run sends the
mail. If it is `sending`, it is unknown whether the mail arrived: the row becomes `unknown`, is
reported, and is sent again only on request.
"""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from audit.config import Config, allowed, places
from audit.config.places import Site
from audit.errors import AuditError, DeliveryError, ReportError, UsageError
from audit.files import state_folder
from audit.mail import ledger, transport
from audit.mail import message as mails
from audit.mail.transport import DeliveryOutcome, Post, Reply
from audit.pipeline import drawing
from audit.report import standing
from audit.report.contents import Contents, Who
from audit.report.owner import build as owners
from audit.report.owner import page as owner_page
from audit.report.owner.record import OwnerContents
from audit.report.render import sandbox
from audit.store import migrations, publish, queries
from audit.store.database import Connection
from audit.words import RESEND

Say = Callable[[str], None]

_KILLED: Final = "the run ended while the mail was being sent"
_SETTLED: Final = (DeliveryOutcome.SENT, DeliveryOutcome.REFUSED, DeliveryOutcome.UNKNOWN)
"""Outcomes after which a mail is not due any more; they are states of the ledger too."""
_AGAIN: Final = "'fairaudit deliver --failed' tries again"
_TWICE: Final = f"it may have arrived; {RESEND}"


@dataclass
class Delivered:
    """The outcome of the mails that were due; each reads ``CLUSTER/PERIOD to ADDRESS``."""

    sent: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # no server said whether it accepted them
    quiet: list[str] = field(default_factory=list)  # left out (``mail.quiet``)
    due: list[str] = field(default_factory=list)  # still to be sent; in a dry run all
    failures: list[AuditError] = field(default_factory=list)  # why mails were not sent

    @property
    def changed(self) -> bool:
        """Whether the ledger has changed."""
        return bool(self.sent or self.refused or self.unknown or self.quiet or self.due)


Pause = Callable[[float, str], bool]
"""Waits for some seconds, for a reason; returns whether to continue."""


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
    site: Site,
    now: int,
    *,
    failed: bool = False,
    unknown: bool = False,
    dry_run: bool = False,
    pause: Pause | None = None,
) -> Delivered:
    """Send what is due.

    Args:
        con: the store, which no other process has open.
        now: epoch s.
        failed: also send mails that were refused.
        unknown: with ``failed``, also send mails that may have arrived.
        dry_run: only list the mails that are due; send and record nothing.
        pause: waits between two attempts; default: ``pausing()``.
    """
    done = Delivered()
    config = site.config
    if config.mail.via == "none":
        return done
    if not dry_run:
        for of, recipient in queries.rows(con, "delivery_recover", error=_KILLED, now=now):
            name = f"{of} to {recipient}"
            done.unknown.append(name)
            done.failures.append(DeliveryError(f"{name}: {_KILLED}: {_TWICE}"))

    @functools.cache
    def complete(report: ledger.Report) -> bool:
        page = drawing.contents_of(con, config, report.cluster, report.period)
        return standing.standing(page, now).state is standing.State.COMPLETE

    again = {"claimed", *(["refused"] * failed), *(["unknown"] * (failed and unknown))}
    due = [
        mail
        for cluster in config.clusters
        for mail in ledger.due(con, cluster, config, now, complete, again)
    ]
    if dry_run:
        done.due = [mail.name for mail in due]
        return done
    if claimed := [mail for mail in due if ledger.claim(con, mail, now)]:
        _SendingRounds(con, site, now, done, pause or pausing()).run(claimed)
    return done


def by_hand(
    site: Site,
    now: int,
    *,
    failed: bool = False,
    unknown: bool = False,
    dry_run: bool = False,
    say: Say = lambda text: None,
) -> Delivered:
    """Send what is due in the store of ``fairaudit run``; options as of ``deliver``.

    Raises UsageError if config.toml sends no mail or there is no store, LockedError if another run
    is at work.
    """
    _require_mail(site.config)
    if not site.config.recipients:
        raise UsageError("deliver: config.toml has no [[recipients]]")
    if not state_folder.begun(site.state):
        why = "nothing is published yet; 'fairaudit run' makes the reports first"
        raise UsageError(f"{site.state}: {why}")
    which = {"failed": failed, "unknown": unknown, "dry_run": dry_run}
    with migrations.of_site(site, "deliver") as con:
        done = deliver(con, site, now, **which, pause=pausing(say))
        if not dry_run and done.changed and site.database.exists():
            # analysts see the ledger too
            publish.publish(con, site.database, with_group=site.shared)
    return done


def _require_mail(config: Config) -> None:
    if config.mail.via == "none":
        raise UsageError('deliver: mail.via is "none": nothing is sent; see config.toml, [mail]')


def try_out(site: Site, address: str, now: int) -> Reply:
    """Send a test mail.

    Raises UsageError if no mail may be sent there, DeliveryError if it could not be handed over.
    """
    _require_mail(site.config)
    text = "'fairaudit deliver --test-send' sent this mail.\nThe settings in [mail] work."
    try:
        recipient = allowed(address, site.config.mail.domains)
    except ValueError as error:
        raise UsageError(f"--test-send {address!r}: {error}") from None
    answer = _note(site, recipient, "fairaudit: mail works", text, now)
    if answer.outcome is not DeliveryOutcome.SENT:
        raise DeliveryError(f"{recipient}: {answer.outcome}: {answer.said}")
    return answer


def tell_operator(site: Site, subject: str, text: str) -> str | None:
    """Write to ``mail.operators``, by a configured ``mail.via``, that something failed.

    Return None, or which of them could not be reached and why. No error is raised, because it would
    hide the failure that was to be reported.
    """
    lost = []
    for address in site.config.mail.operators:
        try:
            recipient = allowed(address, site.config.mail.domains)
            answer = _note(site, recipient, subject, text, int(time.time()))
            why = None if answer.outcome is DeliveryOutcome.SENT else answer.said
        except (DeliveryError, ValueError) as error:
            why = str(error)
        if why is not None:
            lost.append(f"{address}: {why}")
    return "; ".join(lost) or None


def _note(site: Site, recipient: str, subject: str, text: str, now: int) -> Reply:
    """Send a mail of text alone, trying once."""
    settings = site.config.mail
    assert settings.sender is not None  # config.Mail requires it
    message_id = ledger.message_id(settings, [recipient, subject, text, now])
    envelope = mails.Envelope(settings.sender, recipient, message_id, now)
    post = transport.post(settings, site.folder, hides=site.config.hides())
    return post.hand_over(mails.note(subject, text, envelope), recipient, lambda: None)


# --- sending ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Draft:
    """The common content of all mails about one report; made with the first of them."""

    con: Connection
    site: Site
    report: ledger.Report
    about: tuple[Who, ...]
    now: int

    @cached_property
    def page(self) -> Contents:
        report = self.report
        return drawing.contents_of(self.con, self.site.config, report.cluster, report.period)

    @cached_property
    def standing(self) -> standing.ReportStanding:
        return standing.standing(self.page, self.now)

    @cached_property
    def owners(self) -> dict[Who, OwnerContents]:
        """The pages of the users and accounts that any of these mails is about."""
        return {of.who: of for of in owners.build(self.con, self.page, self.about)}

    @cached_property
    def pictures(self) -> tuple[mails.InlineImage, ...]:
        return mails.pictures(self.page)

    def left_out(self, mail: ledger.Due) -> bool:
        """Whether the period is quiet, and such mails are not sent to this recipient."""
        if self.site.config.mail.quiet or mail.wish.owners or not self.page.first:
            return False
        return self.page.first[0].quiet

    def letter(self, mail: ledger.Due) -> mails.Letter:
        """Return the content of a mail for one recipient."""
        wish, settings = mail.wish, self.site.config.mail
        spoken = [self.owners[who] for who in wish.owners]
        files, remarks = self._files(wish, spoken)
        if why := mails.too_large(files, settings.attachments_mb):
            remarks.append(why)
            files = []
        pictures = self.pictures if wish.whole else mails.owner_pictures(spoken[0])
        enclosed = mails.Enclosed(pictures if wish.charts else (), tuple(files), tuple(remarks))
        about = (self.page, self.standing, settings.subject, wish, spoken)
        return mails.compose(*about, corrected=mail.corrected, enclosed=enclosed)

    def _files(
        self, wish: mails.Subscription, spoken: list[OwnerContents]
    ) -> tuple[list[mails.Attachment], list[str]]:
        """Return the attachments for one recipient, and remarks about them."""
        report, options = self.report, self.site.config.report
        plain = f"{places.file_name(report.cluster)}_{report.period.name}"
        files: list[mails.Attachment] = []
        remarks = []
        for of in spoken:
            name = f"{plain}-{of.who.file}"
            if "page" in wish.attach:
                files.append(
                    mails.Attachment(name, "text/html", owner_page.render_html(of).encode())
                )
            if "page_pdf" in wish.attach:
                pdf = owner_page.render_pdf(of, sandbox.limits(options))
                files.append(mails.Attachment(f"{Path(name).stem}.pdf", "application/pdf", pdf))
        if "pdf" in wish.attach and options.pdf:
            folder = self.site.report(report.cluster, report.period.name)
            try:
                content = (folder / drawing.PDF).read_bytes()
                files.append(mails.Attachment(f"{plain}.pdf", "application/pdf", content))
            except OSError:
                remarks.append("The PDF of this report is missing and could not be attached.")
        if "csv" in wish.attach:
            files += mails.csv_files(self.page, () if wish.whole else wish.owners)
        return files, remarks


@dataclass
class _SendingRounds:
    """Sends claimed mails in rounds, so that a mail that is put off does not delay the others."""

    con: Connection
    site: Site
    now: int
    done: Delivered
    pause: Pause
    drafts: dict[str, _Draft] = field(default_factory=dict)

    def run(self, due: list[ledger.Due]) -> None:
        """Send all of ``due``, or record why not."""
        config, why = self.site.config, ""
        about: dict[ledger.Report, dict[Who, None]] = {}
        for mail in due:
            about.setdefault(mail.report, {}).update(dict.fromkeys(mail.wish.owners))
        for report, of in about.items():
            self.drafts[report.name] = _Draft(self.con, self.site, report, tuple(of), self.now)
        try:
            post = transport.post(config.mail, self.site.folder, hides=config.hides())
        except DeliveryError as error:
            self._stay(due, str(error))
            return
        for tried in range(config.mail.attempts):
            if tried:
                pause = config.mail.backoff_s * 2 ** (tried - 1)
                put_off = f"{len(due)} not sent yet ({why}); trying again in {pause} s"
                if not self.pause(pause, put_off):
                    why = f"{why}; stopped on request"
                    break
            due, why, barred = self._once(post, due)
            if not due:
                return
            if barred:
                break
        self._stay(due, why)

    def _stay(self, due: list[ledger.Due], why: str) -> None:
        """Record why mails were not sent; they stay due."""
        for mail in due:
            try:
                ledger.move(self.con, mail, "claimed", "claimed", self.now, error=why)
                self.done.due.append(mail.name)
            except ledger.TakenError:
                continue
        others = f" and {len(due) - 1} more" if len(due) > 1 else ""
        text = f"{due[0].name}{others}: not sent: {why}; due again in the next run, or with "
        self.done.failures.append(DeliveryError(f"{text}'fairaudit deliver'"))

    def _once(self, post: Post, due: list[ledger.Due]) -> tuple[list[ledger.Due], str, bool]:
        """Try each mail once; return those put off, the reason, and whether to give up."""
        later: list[ledger.Due] = []
        why = ""
        for number, mail in enumerate(due):
            try:
                if self.drafts[mail.report.name].left_out(mail):
                    ledger.move(self.con, mail, "claimed", "quiet", self.now)
                    self.done.quiet.append(mail.name)
                    continue
                answer = self._send(post, mail)
            except ledger.TakenError:
                continue  # its row is another delivery's
            except ReportError as error:
                self._stay([mail], f"the mail could not be made: {error}")
                continue
            if answer.outcome in (DeliveryOutcome.DOWN, DeliveryOutcome.BARRED):
                return (
                    [*later, *due[number:]],
                    answer.said,
                    answer.outcome is DeliveryOutcome.BARRED,
                )
            if answer.outcome is DeliveryOutcome.LATER:
                later.append(mail)
                why = answer.said
                continue
            names: list[str] = getattr(self.done, answer.outcome.value)
            names.append(mail.name)
            if answer.outcome is not DeliveryOutcome.SENT:
                remedy = _AGAIN if answer.outcome is DeliveryOutcome.REFUSED else _TWICE
                text = f"{mail.name}: {answer.outcome}: {answer.said}; {remedy}"
                self.done.failures.append(DeliveryError(text))
        return later, why, False

    def _send(self, post: Post, mail: ledger.Due) -> Reply:
        """Try one mail once, and update its row of the ledger."""
        draft, sender = self.drafts[mail.report.name], self.site.config.mail.sender
        assert sender is not None  # config.Mail requires it
        envelope = mails.Envelope(sender, mail.recipient, mail.message_id, self.now)
        message = mails.message(draft.letter(mail), envelope)
        leave = "claimed"

        def sending() -> None:
            nonlocal leave
            state = draft.standing.state.value
            ledger.move(self.con, mail, "claimed", "sending", self.now, report_state=state)
            leave = "sending"

        answer = post.hand_over(message, mail.recipient, sending)
        state = answer.outcome.value if answer.outcome in _SETTLED else "claimed"
        ledger.move(self.con, mail, leave, state, self.now, tried=1, error=answer.said or None)
        return answer

"""Reports to their recipients: each once, whatever happens on the way.

What is to be sent is worked out from the store: the reports that were made, the recipients of
config.toml, and the ledger (table ``delivery``), in which each mail has one row. A row is `claimed`
before anything is sent; `sending` from just before the mail goes over the line; then `sent`, or
`refused`, or back to `claimed` where the server said "later". A run that is killed leaves it
`claimed`, and the next run sends the mail; or `sending`, and then nobody knows whether it arrived:
it becomes `unknown`, is said, and is never sent again unless somebody asks for that.
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
    unknown: list[str] = field(default_factory=list)
    """Handed over, but nobody said whether they were taken."""
    due: list[str] = field(default_factory=list)
    """Still to be sent; in a dry run all that would be."""
    failures: list[AuditError] = field(default_factory=list)
    """Why mails were not sent."""

    @property
    def changed(self) -> bool:
        """Whether the ledger is not as it was."""
        return bool(self.sent or self.refused or self.unknown or self.due)


Pause = Callable[[float, str], bool]
"""Waits so many seconds, having been told what for; whether to go on."""


def pausing(say: Say = lambda text: None, stopping: Callable[[], bool] = lambda: False) -> Pause:
    """A pause that ``say`` is told of, and that ends when ``stopping`` says so."""

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
    """Sends what is due.

    Args:
        con: the store, which nobody else has open.
        config: the configuration in force.
        folder: what its paths are relative to.
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

    due = [
        mail
        for cluster in config.clusters
        for mail in ledger.due(
            con, cluster, config, now, complete, failed=failed, unknown=failed and unknown
        )
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
    """What ``fairaudit deliver`` does: ``deliver``, on the store of ``fairaudit run``.

    Raises:
        UsageError: config.toml sends no mail, or there is no store yet.
        LockedError: another run is at work.
    """
    if config.mail.via == "none":
        raise UsageError('deliver: mail.via is "none": nothing is sent; see config.toml, [mail]')
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
        done = deliver(
            con,
            config,
            folder,
            now,
            failed=failed,
            unknown=unknown,
            dry_run=dry_run,
            pause=pausing(say),
        )
        target = folder / config.output.database
        if not dry_run and done.changed and target.exists():
            # analysts see the ledger too
            publish.publish(con, target, with_group=config.output.shared_with_group)
    return done


def try_out(config: Config, folder: Path, address: str, now: int) -> Answer:
    """Sends a mail that says that mail works.

    Raises:
        UsageError: nothing may be sent to ``address``, or no mail at all.
        DeliveryError: it could not be handed over; the message says why.
    """
    if config.mail.via == "none":
        raise UsageError('deliver: mail.via is "none": nothing is sent; see config.toml, [mail]')
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
    """Writes to ``mail.operators`` that something could not be done.

    Args:
        config: the configuration in force.
        subject: one line.
        text: what could not be done, and why.
        folder: what paths of the configuration are relative to.

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
        except (DeliveryError, ValueError) as error:
            lost.append(f"{address}: {error}")
            continue
        if answer.outcome is not Outcome.SENT:
            lost.append(f"{address}: {answer.said}")
    return "; ".join(lost) or None


def _note(
    config: Config, folder: Path, recipient: str, subject: str, text: str, now: int
) -> Answer:
    """A mail of text alone, tried once."""
    settings = config.mail
    assert settings.sender is not None  # config.Mail asks for it
    message = mails.note(
        subject,
        text,
        sender=settings.sender,
        recipient=recipient,
        message_id=ledger.message_id(settings, [recipient, subject, text, now]),
        now=now,
    )
    post = transport.post(settings, folder, hides=config.hides())
    return post.hand_over(message, recipient, lambda: None)


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
        place = places.of_report(
            self.config, self.folder, self.report.cluster, self.report.period.name
        )
        try:
            return (place / "report.pdf").read_bytes()
        except OSError:
            return None

    def letter(self, mail: ledger.Due) -> mails.Letter:
        """What one recipient gets."""
        wish = mail.wish
        spoken = [self.owners[who] for who in wish.owners]
        files, remarks = self._files(wish, spoken)
        if why := mails.too_large(files, self.config.mail.attachments_mb):
            remarks.append(why)
            files = []
        pictures = self.pictures if wish.whole else mails.owner_pictures(spoken[0])
        return mails.compose(
            self.page,
            self.standing,
            self.config.mail.subject,
            wish,
            spoken,
            corrected=mail.corrected,
            enclosed=mails.Enclosed(pictures if wish.charts else (), tuple(files), tuple(remarks)),
        )

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
        for report in {mail.report for mail in due}:
            about = tuple(
                dict.fromkeys(
                    who for mail in due if mail.report == report for who in mail.wish.owners
                )
            )
            self.drafts[report.name] = _Draft(
                self.con, self.config, self.folder, report, about, self.now
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
        self.done.failures.append(
            DeliveryError(
                f"{due[0].name}{others}: not sent: {why}; due again in the next run, "
                "or with 'fairaudit deliver'"
            )
        )

    def _once(self, post: Post, due: list[ledger.Due]) -> tuple[list[ledger.Due], str, bool]:
        """Tries each mail once; gives those put off, why, and whether further tries are vain."""
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
        message = mails.message(
            draft.letter(mail),
            sender=self.config.mail.sender,
            recipient=mail.recipient,
            message_id=mail.message_id,
            now=self.now,
        )
        begun = False

        def sending() -> None:
            nonlocal begun
            state = draft.standing.state.value
            ledger.move(self.con, mail, "claimed", "sending", self.now, report_state=state)
            begun = True

        answer = post.hand_over(message, mail.recipient, sending)
        ledger.move(
            self.con,
            mail,
            "sending" if begun else "claimed",
            {
                Outcome.SENT: "sent",
                Outcome.REFUSED: "refused",
                Outcome.UNKNOWN: "unknown",
            }.get(answer.outcome, "claimed"),
            self.now,
            tried=1,
            error=answer.said or None,
        )
        return answer

    def _settled(self, mail: ledger.Due, answer: Answer) -> None:
        """Keeps what became of a mail that is not due any more."""
        if answer.outcome is Outcome.SENT:
            self.done.sent.append(mail.name)
            return
        if answer.outcome is Outcome.REFUSED:
            self.done.refused.append(mail.name)
            remedy = _AGAIN
        else:
            self.done.unknown.append(mail.name)
            remedy = _TWICE
        self.done.failures.append(
            DeliveryError(f"{mail.name}: {answer.outcome}: {answer.said}; {remedy}")
        )

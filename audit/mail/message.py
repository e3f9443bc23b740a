"""The content of a mail about a report, and the ``EmailMessage`` made of it.

Names from a log or a configuration are text in the message: characters that cannot be printed are
replaced by their code points before they reach a header, encoded words are broken, and templates
escape the rest.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final, NamedTuple

from audit.report import wording
from audit.report.charts import drawing
from audit.report.charts.style import Chart
from audit.report.contents import Contents, Who
from audit.report.finding import Notice
from audit.report.first_page.page import FirstPage
from audit.report.owner import text as owner_text
from audit.report.owner.page import owner_why
from audit.report.owner.record import OwnerContents
from audit.report.owner.text import Answer
from audit.report.render import export
from audit.report.render import page as render
from audit.report.sections.changes.charts import trend
from audit.report.sections.registry import notices
from audit.report.standing import ReportStanding, State, uncounted

_SHOWN: Final = ("why", "trend", "waits", "week")
_PICTURES: Final = 2  # charts of a mail: the first of these that exist; none shows names
_VERDICTS: Final = 2  # most users and accounts whose verdicts fit into a subject
_LONGEST: Final = 2  # most waits of one user or account that a mail describes
_SCALE: Final = 1.5
LONGEST: Final = 70
"""Characters of a subject about a whole report."""
SHORTEST: Final = 8
"""Characters of a cluster's name that a long subject keeps."""
_LINE: Final = policy.SMTP.clone(cte_type="7bit")  # no server must know 8BITMIME


class InlineImage(NamedTuple):
    """A chart inside a mail."""

    cid: str
    title: str
    note: str
    alt: str
    png: bytes
    width: int  # in pixels


class Attachment(NamedTuple):
    """An attachment."""

    name: str
    kind: str  # such as application/pdf
    content: bytes


class MailPart(NamedTuple):
    """The pool where one user or account waited most; only a verdict if there are no jobs."""

    verdict: str
    pool: str = ""  # where there are several
    answers: tuple[Answer, ...] = ()
    notes: tuple[str, ...] = ()
    advice: str = ""
    longest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subscription:
    """The parts of a report that a recipient gets."""

    whole: bool = True
    owners: tuple[Who, ...] = ()  # users and accounts with a part of their own
    attach: frozenset[str] = frozenset({"pdf", "csv"})
    charts: bool = True

    def __or__(self, other: "Subscription") -> "Subscription":
        owners = tuple(dict.fromkeys((*self.owners, *other.owners)))
        attach, charts = self.attach | other.attach, self.charts or other.charts
        return Subscription(self.whole or other.whole, owners, attach, charts)


@dataclass(frozen=True, slots=True)
class Enclosed:
    """The charts, attachments and remarks of a mail."""

    pictures: tuple[InlineImage, ...] = ()  # of the whole, or of the first of the owners
    files: tuple[Attachment, ...] = ()
    remarks: tuple[str, ...] = ()  # about the mail itself, such as what could not be attached


@dataclass(frozen=True, slots=True)
class Letter:
    """The content of a mail, before any HTML."""

    subject: str
    title: str
    standing: ReportStanding
    notices: tuple[Notice, ...]
    paragraphs: tuple[tuple[str, str], ...]
    """First words and the rest; empty unless it is about the whole report."""
    parts: tuple[MailPart, ...]
    enclosed: Enclosed
    run_id: str
    whole: bool = True


def compose(
    contents: Contents,
    standing: ReportStanding,
    subject: str,
    wish: Subscription,
    owners: Sequence[OwnerContents] = (),
    *,
    enclosed: Enclosed,
    corrected: bool = False,
) -> Letter:
    """Return the mail about a report, or about some users and accounts in it.

    Args:
        standing: whether the report covers all of its period, as of the time of sending.
        subject: template, as ``mail.subject``.
        owners: the pages of ``wish.owners``, in that order.
        corrected: whether it replaces a mail that was sent before.
    """
    # only recipients of the whole report see what names other users
    one = contents.first[0] if wish.whole and contents.first else None
    first, last = _days(contents)
    cluster = wording.name(contents.cluster)
    about = "Fairness of" if wish.whole else "Waits on"
    return Letter(
        subject=headline(contents, standing.state, subject, wish, one, owners, corrected=corrected),
        title=f"{about} {cluster}, {first} to {last}",
        standing=standing if wish.whole else uncounted(standing),
        notices=notices(contents) if wish.whole else (),
        paragraphs=one.mail if one else (),
        parts=tuple(map(_part, owners)),
        enclosed=enclosed,
        run_id=contents.provenance.run_id,
        whole=wish.whole,
    )


def _days(contents: Contents) -> tuple[str, str]:
    span = contents.span
    return wording.day(span.from_time, span.zone), wording.day(span.to_time - 1, span.zone)


def too_large(files: Sequence[Attachment], limit_mb: float) -> str | None:
    """Return why these attachments are left out; None if they are within the limit."""
    size = sum(len(file.content) for file in files) / 1e6
    if size <= limit_mb:
        return None
    limit = f"{limit_mb:g} MB, mail.attachments_mb"
    return f"The attachments ({size:.1f} MB) are above the limit ({limit}) and were left out."


def headline(
    contents: Contents,
    state: State,
    template: str,
    wish: Subscription,
    one: FirstPage | None,
    owners: Sequence[OwnerContents] = (),
    *,
    corrected: bool = False,
) -> str:
    """Return the subject: one printable line, which always shows that a report is not complete."""
    spoken = () if wish.whole else wish.owners
    span, (first, last) = contents.span, _days(contents)
    if spoken:
        verdicts = [*_of_owners(owners)]
    elif one is not None:
        mainly = f", mainly {one.mainly}" if one.mainly else ""
        verdicts = [one.word.value + mainly, one.word.value]
    else:
        days = contents.covered_days if contents.brief else 0
        verdicts = [f"only {wording.plural(days, 'day')} covered so far" if days else "no data"]
    names = {
        "cluster": wording.name(contents.cluster),
        "period": wording.brief_days(span.from_time, span.last, span.zone),
        "from": first,
        "to": last,
        "state": state.value if state is State.COMPLETE else f"[{state.value.upper()}]",
    }
    for kind in ("user", "account"):
        of_kind = [wording.name(who.name) for who in spoken if who.kind == kind]
        names[f"{kind}s"] = ", ".join(of_kind) or ("none" if spoken else f"all {kind}s")
    before = "Corrected: " if corrected else ""
    if state is not State.COMPLETE and "{state}" not in template:
        before = f"{names['state']} {before}"
    line = _filled(template, names, verdicts, LONGEST - len(before))
    named = {"{users}", "{accounts}", "{verdict}"} & set(re.findall(r"\{.*?\}", template))
    if spoken and not named:
        line = f"{line}: {', '.join(owner_text.owner(who) for who in spoken)}"
    return wording.name(before + line, 200)


def _filled(template: str, names: dict[str, str], verdicts: Sequence[str], most: int) -> str:
    """Return a subject of at most ``most`` characters, if shorter words and names reach that.

    ``verdicts``: the same, the longest first.
    """

    def line(**changed: str) -> str:
        # in one pass, so that placeholders within a name stay as they are
        values = names | changed
        return re.sub(r"\{(.*?)\}", lambda placeholder: values[placeholder[1]], template)

    texts = (line(verdict=verdict) for verdict in verdicts)
    text = next((text for text in texts if len(text) <= most), line(verdict=verdicts[-1]))
    if (over := len(text) - most) <= 0 or not template.count("{cluster}"):
        return text
    least = max(len(names["cluster"]) - over, SHORTEST)
    return line(verdict=verdicts[-1], cluster=wording.name(names["cluster"], least))


def _of_owners(owners: Sequence[OwnerContents]) -> Iterator[str]:
    """Yield the verdicts on users and accounts for a subject, the longest first.

    Of several users, the shortest is how many waited longer.
    """
    if len(owners) <= _VERDICTS:
        yield "; ".join(map(owner_text.short, owners))
        yield "; ".join(owner_text.short(of, trend=False) for of in owners)
    if len(owners) == 1:
        yield from owner_text.shortest(owners[0])
        return
    longer = sum(any(part.longer for part in of.parts) for of in owners)
    of_all = f"{wording.count(longer)} of {len(owners)} waited"
    yield f"{of_all} significantly longer than others"
    yield f"{of_all} longer"


def _part(of: OwnerContents) -> MailPart:
    if not of.parts:
        return MailPart(owner_text.nothing(of))
    most, who = of.parts[0], of.who
    longest = []
    for wait in most.longest[:_LONGEST]:
        title = wording.first_upper(owner_text.long_title(wait, most, of.span.zone))
        longest.append(" ".join((f"{title}.", *owner_text.explained(wait, who, most))))
    way = owner_text.way(most.ways[0], most) if most.ways else owner_text.no_way(most)
    return MailPart(
        owner_text.verdict(most, who, named=True),
        wording.name(most.pool.name) if len(of.parts) > 1 else "",
        owner_text.answers(most) if most.attempts else (),
        owner_text.notes(most),
        way if most.attempts else "",
        tuple(longest),
    )


def pictures(contents: Contents) -> tuple[InlineImage, ...]:
    """Return a few charts of the pool that page one is about; none without a page one."""
    if not contents.first or contents.first[0].quiet:
        return ()
    one = contents.first[0]
    pool = next(of for of in contents.pools if of.name == one.pool)
    drawn = render.charts_of(pool)
    shown = [drawn[key] for key in _SHOWN if key in drawn][:_PICTURES]
    return _pictures(shown, pool.name if len(contents.pools) > 1 else None)


def owner_pictures(of: OwnerContents) -> tuple[InlineImage, ...]:
    """Return the charts of one user or account, of the pool where it waited most."""
    if not of.parts:
        return ()
    most = of.parts[0]
    drawn = (owner_why(most, of.who.name), trend(most.trend, delayed=False))
    return _pictures(drawn, most.pool.name if len(of.parts) > 1 else None)


def _pictures(charts: Iterable[Chart | None], pool: str | None) -> tuple[InlineImage, ...]:
    if not drawing.has_png():
        return ()
    where = "" if pool is None else f" (pool {wording.name(pool)})"
    made = []
    for chart in charts:
        if chart is not None:
            png = drawing.png(chart, _SCALE)
            width = round(int.from_bytes(png[16:20], "big") / _SCALE)
            made.append(
                InlineImage(chart.key, chart.title + where, chart.note, chart.alt, png, width)
            )
    return tuple(made)


def csv_files(contents: Contents, owners: Sequence[Who] = ()) -> tuple[Attachment, ...]:
    """Return the report's tables; with ``owners``, only their own rows."""
    if not owners:
        every = itertools.chain.from_iterable(export.files(contents).values())
        return tuple(Attachment(file.name, "text/csv", file.text.encode()) for file in every)
    tables = []
    for number, pool in enumerate(contents.pools, start=1):
        end = f"-{number}" if len(contents.pools) > 1 else ""
        for of in (pool.users, pool.accounts):
            if rows := tuple(row for row in of.rows if (of.kind, row.name) in owners):
                text = export.table(pool, replace(of, rows=rows), own=True)
                tables.append(Attachment(f"{of.kind}s{end}.csv", "text/csv", text.encode()))
    return tuple(tables)


class Envelope(NamedTuple):
    """The sender, recipient and date of a mail; bare addresses."""

    sender: str
    recipient: str
    message_id: str  # in angle brackets
    now: int  # epoch s, for its date

    def holding(self, subject: str) -> EmailMessage:
        """Return a mail without a body."""
        mail = EmailMessage(policy=_LINE)
        # else a name could hold an encoded word (RFC 2047), which is decoded when it is set
        mail["Subject"] = subject.replace("=?", "= ?")
        mail["From"] = Address("fairaudit", addr_spec=self.sender)
        mail["To"] = Address(addr_spec=self.recipient)
        mail["Date"] = format_datetime(datetime.fromtimestamp(self.now, UTC))
        mail["Message-ID"] = self.message_id
        mail["Auto-Submitted"] = "auto-generated"  # prevents absence notices
        return mail


def message(letter: Letter, envelope: Envelope) -> EmailMessage:
    """Return a letter as a mail: text, HTML with its charts, attachments."""
    values: Mapping[str, object] = {"letter": letter, "state": letter.standing.state.value}
    mail = envelope.holding(letter.subject)
    mail.set_content(render.fill("email/report.txt", values))
    html_text = render.unbroken(render.fill("email/report.html", values))
    mail.add_alternative(html_text, subtype="html")
    (_, html) = mail.iter_parts()
    assert isinstance(html, EmailMessage)
    for picture in letter.enclosed.pictures:
        cid, name = f"<{picture.cid}>", f"{picture.cid}.png"
        html.add_related(picture.png, "image", "png", cid=cid, filename=name, disposition="inline")
    for file in letter.enclosed.files:
        kind, subtype = file.kind.split("/")
        mail.add_attachment(file.content, maintype=kind, subtype=subtype, filename=file.name)
    return mail


def note(subject: str, text: str, envelope: Envelope) -> EmailMessage:
    """Return a short mail of text alone, as operators get."""
    mail = envelope.holding(wording.name(subject, 200))
    lines = (wording.name(line, 2_000) if line else "" for line in text.splitlines())
    mail.set_content("\n".join(lines) + "\n")
    return mail

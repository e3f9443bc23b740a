"""What a mail about a report says, and the message made of it.

Pure: the record of the report, its state and its files come in, an ``EmailMessage`` goes out.
Whatever a log or a configuration put into a name stands in the message as text: what cannot be
printed is shown as its code point before it comes near a header, and templates escape the rest.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final, NamedTuple

from audit.report.charts import drawing
from audit.report.charts.over_time import trend
from audit.report.charts.style import Chart
from audit.report.charts.waiting import owner_why
from audit.report.judgement.page_one import PageOne, Trust, page_one
from audit.report.judgement.questions import Question
from audit.report.owner import text as said
from audit.report.owner.text import Answer
from audit.report.record.owner import OwnerContents
from audit.report.record.page import Contents, Who
from audit.report.render import export
from audit.report.render import page as render
from audit.report.text import advice, wording
from audit.report.text.notices import Notice, notices
from audit.report.text.standing import Standing, State, uncounted

_SHOWN: Final = ("why", "trend", "waits", "week")
_PICTURES: Final = 2
"""Charts of a mail: the first of these that there are; none names anybody."""
_CHANGES: Final = 2
"""Most changes that are recommended in a mail."""
_VERDICTS: Final = 2
"""Most users and accounts whose verdicts fit into a subject."""
_LONGEST: Final = 2
"""Most waits of one user or account that a mail describes."""
_SCALE: Final = 1.5
_LINE: Final = policy.SMTP.clone(cte_type="7bit")  # no server must know 8BITMIME
_MEGABYTE: Final = 1_000_000


class Picture(NamedTuple):
    """A chart inside a mail."""

    cid: str
    title: str
    note: str
    alt: str
    png: bytes
    width: int


class File(NamedTuple):
    """An attachment."""

    name: str
    kind: str  # such as application/pdf
    content: bytes


class Part(NamedTuple):
    """What is said of one user or account, where it waited most; only a verdict without jobs."""

    verdict: str
    pool: str = ""  # where there are several
    answers: tuple[Answer, ...] = ()
    notes: tuple[str, ...] = ()
    advice: str = ""
    longest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody gets of a report."""

    whole: bool = True
    owners: tuple[Who, ...] = ()  # users and accounts who are spoken of one by one, and first
    attach: frozenset[str] = frozenset({"pdf", "csv"})
    charts: bool = True

    def __or__(self, other: "Wish") -> "Wish":
        """Both."""
        return Wish(
            self.whole or other.whole,
            tuple(dict.fromkeys((*self.owners, *other.owners))),
            self.attach | other.attach,
            self.charts or other.charts,
        )


NO_WISH: Final = Wish(whole=False, attach=frozenset(), charts=False)


@dataclass(frozen=True, slots=True)
class Enclosed:
    """What goes with a mail."""

    pictures: tuple[Picture, ...] = ()  # of the whole, or of the first who is spoken of
    files: tuple[File, ...] = ()
    remarks: tuple[str, ...] = ()  # about the mail itself, such as what could not be attached


NOTHING: Final = Enclosed()


@dataclass(frozen=True, slots=True)
class Letter:
    """Everything that a mail says, before any HTML."""

    subject: str
    title: str
    standing: Standing
    notices: tuple[Notice, ...]
    verdict: str  # one sentence or two; empty to whom users or accounts alone are told of
    trust: tuple[Trust, ...]
    questions: tuple[Question, ...]
    advice: tuple[str, ...]  # what could be done
    parts: tuple[Part, ...]
    enclosed: Enclosed
    run_id: str
    whole: bool = True


def compose(
    contents: Contents,
    standing: Standing,
    subject: str,
    wish: Wish,
    owners: Sequence[OwnerContents] = (),
    *,
    corrected: bool = False,
    enclosed: Enclosed = NOTHING,
) -> Letter:
    """Return the mail about a report, or about some users and accounts in it.

    Args:
        contents: the report.
        standing: whether it covers all of its period, as of the time of sending.
        subject: template, as ``mail.subject``.
        wish: whether it is about the whole report, and about whom.
        owners: what the pages of those say, in the order of ``wish.owners``.
        corrected: whether it replaces a mail that was sent before.
        enclosed: what goes with it.
    """
    # what names others is for those who get the whole
    one = page_one(contents) if wish.whole else None
    span = contents.span
    days = f"{wording.day(span.from_time, span.zone)} to {wording.day(span.to_time - 1, span.zone)}"
    cluster = wording.name(contents.cluster)
    about = "Fairness of" if wish.whole else "Waits on"
    return Letter(
        subject=headline(contents, standing.state, subject, wish, one, owners, corrected=corrected),
        title=f"{about} {cluster}, {days}",
        standing=standing if wish.whole else uncounted(standing),
        notices=notices(contents) if wish.whole else (),
        verdict=one.verdict.sentence if one else "",
        trust=one.trust if one else (),
        questions=one.questions if one else (),
        advice=_advice(one) if one else (),
        parts=tuple(map(_part, owners)),
        enclosed=enclosed,
        run_id=contents.provenance.run_id,
        whole=wish.whole,
    )


def too_large(files: Sequence[File], limit_mb: float) -> str | None:
    """Why these attachments are left out; None where they are not above so many megabytes."""
    size = sum(len(file.content) for file in files)
    if size <= limit_mb * _MEGABYTE:
        return None
    return (
        f"The attachments ({size / _MEGABYTE:.1f} MB) are larger than mail takes here "
        f"({limit_mb:g} MB, mail.attachments_mb) and were left out."
    )


def headline(
    contents: Contents,
    state: State,
    template: str,
    wish: Wish,
    one: PageOne | None,
    owners: Sequence[OwnerContents] = (),
    *,
    corrected: bool = False,
) -> str:
    """The subject: one printable line, which always tells a report that is not complete."""
    span = contents.span
    spoken = () if wish.whole else wish.owners
    names = {
        "cluster": wording.name(contents.cluster),
        "period": wording.name(span.name),
        "from": wording.day(span.from_time, span.zone),
        "to": wording.day(span.to_time - 1, span.zone),
        "state": state.value if state is State.COMPLETE else f"[{state.value.upper()}]",
        "verdict": _of_owners(owners)
        if spoken
        else _verdict(one, contents.covered_days if contents.brief else 0),
    }
    for kind in ("user", "account"):
        of_kind = [wording.name(who.name) for who in spoken if who.kind == kind]
        names[f"{kind}s"] = ", ".join(of_kind) or ("none" if spoken else f"all {kind}s")
    # in one go: what a name holds is not looked at again
    line = re.sub(r"\{(.*?)\}", lambda placeholder: names[placeholder[1]], template)
    told = {"{users}", "{accounts}", "{verdict}"} & set(re.findall(r"\{.*?\}", template))
    if spoken and not told:
        line = f"{line}: {', '.join(said.owner(who) for who in spoken)}"
    if corrected:
        line = f"Corrected: {line}"
    if state is not State.COMPLETE and "{state}" not in template:
        line = f"{names['state']} {line}"
    return wording.name(line, 200)


def _of_owners(owners: Sequence[OwnerContents]) -> str:
    """The verdicts on users and accounts as a subject says them; of many, how many wait longer."""
    if len(owners) <= _VERDICTS:
        return "; ".join(map(said.short, owners))
    longer = sum(any(part.longer and not part.burst for part in of.parts) for of in owners)
    return f"{wording.count(longer)} of {len(owners)} waited longer than similar jobs"


def _verdict(one: PageOne | None, days: int) -> str:
    """The verdict as a subject says it, and what is better or worse than before.

    ``days`` are those covered where that is why there is none.
    """
    if one is None:
        return f"only {wording.plural(days, 'day')} covered so far" if days else "no data"
    change = one.questions[0].difference
    if change is None or change.better is None or one.place.pool.trend is None:
        return one.verdict.short
    side = "better" if change.better else "worse"
    return f"{one.verdict.short}; {side} than {one.place.pool.trend.before}"


def _advice(one: PageOne) -> tuple[str, ...]:
    of = one.place.pool.advised
    told = [advice.sentences(change, believed=of.believed) for change in of.changes[:_CHANGES]]
    return tuple(told) or (advice.nothing(of),)


def _part(of: OwnerContents) -> Part:
    if not of.parts:
        return Part(said.nothing(of))
    most, who = of.parts[0], of.who
    longest = []
    for wait in most.longest[:_LONGEST]:
        title = wording.first_upper(said.long_title(wait, most, of.span.zone))
        longest.append(" ".join((f"{title}.", *said.explained(wait, who, most))))
    return Part(
        said.verdict(most, who),
        wording.name(most.pool.name) if len(of.parts) > 1 else "",
        said.answers(most, who) if most.attempts else (),
        said.notes(most),
        said.best_way(most) if most.attempts else "",
        tuple(longest),
    )


def pictures(contents: Contents) -> tuple[Picture, ...]:
    """Return a few charts of the pool that page one is about; none without a page one."""
    one = page_one(contents)
    if one is None:
        return ()
    drawn = render.charts_of(one.place.pool)
    shown = [drawn[key] for key in _SHOWN if key in drawn][:_PICTURES]
    return _pictures(shown, one.place.pool.name if len(contents.pools) > 1 else None)


def owner_pictures(of: OwnerContents) -> tuple[Picture, ...]:
    """Return the charts of one user or account, of the pool where it waited most."""
    if not of.parts:
        return ()
    most = of.parts[0]
    drawn = (owner_why(most, of.who.name), trend(most.trend))
    return _pictures(drawn, most.pool.name if len(of.parts) > 1 else None)


def _pictures(charts: Iterable[Chart | None], pool: str | None) -> tuple[Picture, ...]:
    where = "" if pool is None else f" (pool {wording.name(pool)})"
    made = []
    for chart in charts:
        if chart is not None:
            png = drawing.png(chart, _SCALE)
            width = round(int.from_bytes(png[16:20], "big") / _SCALE)
            made.append(Picture(chart.key, chart.title + where, chart.note, chart.alt, png, width))
    return tuple(made)


def csv_files(contents: Contents, owners: Sequence[Who] = ()) -> tuple[File, ...]:
    """Return the report's tables; with ``owners``, their own rows alone."""
    if not owners:
        return tuple(
            File(file.name, "text/csv", file.text.encode())
            for of_pool in export.files(contents).values()
            for file in of_pool
        )
    tables = []
    for number, pool in enumerate(contents.pools, start=1):
        end = f"-{number}" if len(contents.pools) > 1 else ""
        for of in (pool.users, pool.accounts):
            rows = tuple(row for row in of.rows if (of.kind, row.name) in owners)
            if rows:
                text = export.table(pool, replace(of, rows=rows), own=True)
                tables.append(File(f"{of.kind}s{end}.csv", "text/csv", text.encode()))
    return tuple(tables)


class Envelope(NamedTuple):
    """From whom a mail is, to whom, and when; bare addresses."""

    sender: str
    recipient: str
    message_id: str  # in angle brackets
    now: int  # epoch s, for its date

    def holding(self, subject: str) -> EmailMessage:
        """Return a mail without a body."""
        mail = EmailMessage(policy=_LINE)
        mail["Subject"] = subject
        mail["From"] = Address("fairaudit", addr_spec=self.sender)
        mail["To"] = Address(addr_spec=self.recipient)
        mail["Date"] = format_datetime(datetime.fromtimestamp(self.now, UTC))
        mail["Message-ID"] = self.message_id
        mail["Auto-Submitted"] = "auto-generated"  # so that no absence notice answers it
        return mail


def message(letter: Letter, envelope: Envelope) -> EmailMessage:
    """Return a letter as a mail: text, HTML with its charts, attachments."""
    values: Mapping[str, object] = {"letter": letter, "state": letter.standing.state.value}
    mail = envelope.holding(letter.subject)
    mail.set_content(render.fill("email/report.txt", values))
    mail.add_alternative(render.fill("email/report.html", values), subtype="html")
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
    """Return a short mail of text alone, such as an operator gets."""
    mail = envelope.holding(wording.name(subject, 200))
    lines = (wording.name(line, 2_000) if line else "" for line in text.splitlines())
    mail.set_content("\n".join(lines) + "\n")
    return mail

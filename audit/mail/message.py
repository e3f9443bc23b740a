"""What a mail about a report says, and the message made of it.

Pure: the record of the report, its state and its files come in, an ``EmailMessage`` goes out.
Whatever a log or a configuration put into a name stands in the message as text: what cannot be
printed is shown as its code point before it comes near a header, and templates escape the rest.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final

from audit.report.charts import drawing
from audit.report.charts import pool as charts
from audit.report.contents import Contents, Entity, PoolPart
from audit.report.judgement.page_one import PageOne, Trust, page_one
from audit.report.judgement.questions import Question
from audit.report.render import export
from audit.report.render import page as render
from audit.report.text import advice, wording
from audit.report.text.notices import Notice, notices
from audit.report.text.standing import Standing, State

_SHOWN: Final = ("why", "trend", "waits", "week")
_PICTURES: Final = 2
"""Charts of a mail: the first so many of these that there are; none names anybody."""
_CHANGES: Final = 2
"""So many of the changes that help are told of."""
_SCALE: Final = 1.5
_LINE: Final = policy.SMTP.clone(cte_type="7bit")  # no server must know 8BITMIME
_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart inside a mail."""

    cid: str
    title: str
    alt: str
    png: bytes
    width: int


@dataclass(frozen=True, slots=True)
class File:
    """An attachment."""

    name: str
    kind: str  # such as application/pdf
    content: bytes


@dataclass(frozen=True, slots=True)
class Row:
    """One account in one pool, in words; beside the pool's own figure where there is one."""

    what: str
    value: str
    whole: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """What is said of one account in one pool."""

    account: str
    pool: str
    rows: tuple[Row, ...]  # none: no attempt of it ended


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody gets of a report."""

    whole: bool = True
    accounts: tuple[str, ...] = ()  # those that are spoken of one by one
    attach: frozenset[str] = frozenset({"pdf", "csv"})
    charts: bool = True


@dataclass(frozen=True, slots=True)
class Letter:
    """Everything that a mail says, before any HTML."""

    subject: str
    title: str
    standing: Standing
    notices: tuple[Notice, ...]
    verdict: str  # one sentence or two; empty to whom accounts alone are told of
    trust: tuple[Trust, ...]
    questions: tuple[Question, ...]
    advice: tuple[str, ...]  # what could be done
    parts: tuple[Part, ...]
    pictures: tuple[Picture, ...]
    files: tuple[File, ...]
    remarks: tuple[str, ...]  # about the mail itself, such as what could not be attached
    run_id: str
    whole: bool = True


def compose(
    contents: Contents,
    standing: Standing,
    subject: str,
    wish: Wish,
    *,
    corrected: bool = False,
    pictures: Sequence[Picture] = (),
    files: Sequence[File] = (),
    remarks: Sequence[str] = (),
) -> Letter:
    """The mail about a report, or about some accounts in it.

    Args:
        contents: the report.
        standing: whether it speaks of all of its period, as of the time of sending.
        subject: template, as ``mail.subject``.
        wish: whether it is about the whole report, and about which accounts.
        corrected: whether it replaces a mail that was sent before.
        pictures: charts of the whole.
        files: attachments.
        remarks: sentences about the mail itself.
    """
    one = page_one(contents)
    span = contents.span
    days = f"{wording.day(span.from_time, span.zone)} to {wording.day(span.to_time - 1, span.zone)}"
    return Letter(
        subject=headline(contents, standing.state, subject, wish, one, corrected=corrected),
        title=f"Fairness of {wording.name(contents.cluster)}, {days}",
        standing=standing,
        notices=notices(contents),
        # what names others is for those who get the whole
        verdict=one.verdict.sentence if one and wish.whole else "",
        trust=one.trust if one else (),
        questions=one.questions if one and wish.whole else (),
        advice=_advice(one) if one and wish.whole else (),
        parts=tuple(_parts(contents, wish.accounts)),
        pictures=tuple(pictures),
        files=tuple(files),
        remarks=tuple(remarks),
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
    *,
    corrected: bool = False,
) -> str:
    """The subject: one printable line, which always tells a report that is not complete."""
    span = contents.span
    accounts = () if wish.whole else wish.accounts
    names = {
        "cluster": wording.name(contents.cluster),
        "period": wording.name(span.name),
        "from": wording.day(span.from_time, span.zone),
        "to": wording.day(span.to_time - 1, span.zone),
        "state": state.value if state is State.COMPLETE else f"[{state.value.upper()}]",
        "accounts": ", ".join(wording.name(account) for account in accounts) or "all accounts",
    }
    names["verdict"] = (
        names["accounts"]
        if accounts
        else _verdict(one, contents.covered_days if contents.brief else 0)
    )
    # in one go: what a name holds is not looked at again
    line = re.sub(r"\{(.*?)\}", lambda placeholder: names[placeholder[1]], template)
    if accounts and not {"{accounts}", "{verdict}"} & set(re.findall(r"\{.*?\}", template)):
        line = f"{line}: {names['accounts']}"
    if corrected:
        line = f"Corrected: {line}"
    if state is not State.COMPLETE and "{state}" not in template:
        line = f"{names['state']} {line}"
    return wording.name(line, 200)


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
    advised = one.place.pool.advised
    if not advised.changes:
        return (advice.nothing(advised),)
    return tuple(
        advice.sentences(change, believed=advised.believed) for change in advised.changes[:_CHANGES]
    )


def _parts(contents: Contents, accounts: Sequence[str]) -> Iterator[Part]:
    for account in accounts:
        for pool in contents.pools:
            entities = [row for row in pool.accounts.rows if row.name == account]
            if entities or len(contents.pools) == 1:
                rows = tuple(row for entity in entities for row in _rows(entity, pool))
                yield Part(wording.name(account), wording.name(pool.name), rows)


def _rows(entity: Entity, pool: PoolPart) -> Iterator[Row]:
    unit = wording.resource(pool.resource)
    yield Row("Attempts that ended", wording.count(entity.attempts), wording.count(pool.attempts))
    yield Row("Never started", wording.count(entity.never_started))
    yield Row(
        "Mean wait",
        wording.duration(entity.wait_mean),
        wording.duration(pool.figure("wait_mean").value),
    )
    yield Row(f"Used ({unit}-hours)", wording.number(entity.tusa / 3600))
    yield Row(
        f"Wait per {unit}-second used (NUWT)",
        wording.number(entity.nuwt),
        wording.number(pool.accounts.figure("nuwt_pooled").value),
    )
    if entity.re_unfairness_net is not None:
        side = "short of" if entity.re_unfairness_net >= 0 else "beyond"
        yield Row(
            f"Net, {side} an equal share ({unit}-hours)",
            wording.number(abs(entity.re_unfairness_net) / 3600),
        )
    missed = entity.missed
    if missed is None or not missed.attempts:
        yield Row("Fair start times", "none that count")
        return
    yield Row("Attempts with a fair start time", wording.count(missed.attempts))
    yield Row(
        "Started later than fair (strict)",
        f"{wording.count(missed.missed_strict)} ({wording.percent(missed.missed_strict_share)})",
        wording.percent(pool.figure("missed_strict_share").value),
    )
    yield Row(
        "Started later than fair (relaxed)",
        f"{wording.count(missed.missed_relaxed)} ({wording.percent(missed.missed_relaxed_share)})",
        wording.percent(pool.figure("missed_relaxed_share").value),
    )
    yield Row(
        "Mean miss (strict)",
        wording.duration(missed.miss_strict_s / missed.attempts),
        wording.duration(pool.figure("miss_strict_mean").value),
    )
    yield Row(
        "Mean miss (relaxed)",
        wording.duration(missed.miss_relaxed_s / missed.attempts),
        wording.duration(pool.figure("miss_relaxed_mean").value),
    )


def pictures(contents: Contents) -> tuple[Picture, ...]:
    """A few charts of the pool that page one is about; none where there is no page one."""
    one = page_one(contents)
    if one is None:
        return ()
    pool = one.place.pool
    where = f" (pool {wording.name(pool.name)})" if len(contents.pools) > 1 else ""
    drawn = charts.of_pool(pool)
    shown = []
    for key in [key for key in _SHOWN if key in drawn][:_PICTURES]:
        png = drawing.png(drawn[key], _SCALE)
        width = round(int.from_bytes(png[16:20], "big") / _SCALE)
        shown.append(Picture(key, drawn[key].title + where, drawn[key].alt, png, width))
    return tuple(shown)


def csv_files(contents: Contents, accounts: Sequence[str] = ()) -> tuple[File, ...]:
    """The report's tables; with ``accounts``, their rows of the tables of accounts alone."""
    if not accounts:
        return tuple(
            File(file.name, "text/csv", file.text.encode())
            for of_pool in export.files(contents).values()
            for file in of_pool
        )
    tables = []
    for number, pool in enumerate(contents.pools, start=1):
        rows = tuple(row for row in pool.accounts.rows if row.name in accounts)
        if rows:
            end = f"-{number}" if len(contents.pools) > 1 else ""
            text = export.table(pool, replace(pool.accounts, rows=rows))
            tables.append(File(f"accounts{end}.csv", "text/csv", text.encode()))
    return tuple(tables)


def message(
    letter: Letter, *, sender: str, recipient: str, message_id: str, now: int
) -> EmailMessage:
    """A letter as a mail: text, HTML with its pictures, attachments.

    Args:
        letter: what it says.
        sender: a bare address.
        recipient: a bare address.
        message_id: in angle brackets.
        now: epoch s, for its date.
    """
    values: Mapping[str, object] = {"letter": letter, "state": letter.standing.state.value}
    mail = _envelope(letter.subject, sender, recipient, message_id, now)
    mail.set_content(render.fill("email/report.txt", values))
    mail.add_alternative(render.fill("email/report.html", values), subtype="html")
    (_, html) = mail.iter_parts()
    assert isinstance(html, EmailMessage)
    for picture in letter.pictures:
        html.add_related(
            picture.png,
            maintype="image",
            subtype="png",
            cid=f"<{picture.cid}>",
            filename=f"{picture.cid}.png",
            disposition="inline",
        )
    for file in letter.files:
        kind, subtype = file.kind.split("/")
        mail.add_attachment(file.content, maintype=kind, subtype=subtype, filename=file.name)
    return mail


def note(
    subject: str, text: str, *, sender: str, recipient: str, message_id: str, now: int
) -> EmailMessage:
    """A short mail of text alone, such as an operator gets; arguments as of ``message``."""
    mail = _envelope(wording.name(subject, 200), sender, recipient, message_id, now)
    lines = (wording.name(line, 2_000) if line else "" for line in text.splitlines())
    mail.set_content("\n".join(lines) + "\n")
    return mail


def _envelope(subject: str, sender: str, recipient: str, message_id: str, now: int) -> EmailMessage:
    mail = EmailMessage(policy=_LINE)
    mail["Subject"] = subject
    mail["From"] = Address("fairaudit", addr_spec=sender)
    mail["To"] = Address(addr_spec=recipient)
    mail["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    mail["Message-ID"] = message_id
    mail["Auto-Submitted"] = "auto-generated"  # so that nobody's absence is answered to it
    return mail

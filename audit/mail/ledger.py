"""The ledger of mails: what is due to whom, and what became of it.

Table ``delivery`` has one row for each report and recipient. Every step of it is one statement or
one transaction, done only where the row is still in the state that it is to leave.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from audit.config import Cluster, Config, Mail, allowed
from audit.errors import StoreError
from audit.mail import message as mails
from audit.model import Period
from audit.report.record.page import Who
from audit.report.text.standing import State
from audit.store import database, queries
from audit.store.database import Connection


@dataclass(frozen=True)
class Report:
    """A report that was made."""

    cluster: str
    period: Period
    run_id: str

    @property
    def name(self) -> str:
        """``CLUSTER/PERIOD``."""
        return f"{self.cluster}/{self.period.name}"


@dataclass(frozen=True)
class Due:
    """A mail to be sent."""

    report: Report
    recipient: str
    wish: mails.Wish
    message_id: str
    leave: str  # the state that its row of the ledger is in; empty: there is none
    corrected: bool  # whether the recipient has an earlier version

    @property
    def name(self) -> str:
        """``CLUSTER/PERIOD to ADDRESS``."""
        return f"{self.report.name} to {self.recipient}"

    @property
    def key(self) -> dict[str, object]:
        """What its row is found by."""
        report = self.report
        return {"run_id": report.run_id, "report": report.name, "recipient": self.recipient}


class TakenError(Exception):
    """Another delivery has this mail."""


def due(
    con: Connection,
    cluster: Cluster,
    config: Config,
    now: int,
    complete: Callable[[Report], bool],
    again: Container[str],
) -> Iterator[Due]:
    """Yield what a cluster's recipients have not got yet, oldest report first.

    Args:
        con: the store.
        cluster: whose reports.
        config: the configuration in force.
        now: epoch s.
        complete: whether a report is; asked about those that were mailed when they were not.
        again: states of the ledger that are due again.
    """
    reports = [
        Report(cluster.name, Period(name, start, end), run_id)
        for name, start, end, run_id in queries.rows(
            con, "delivery_reports", cluster=cluster.name, now=now
        )
    ]
    ends = {report.period.name: report.period.to_time for report in reports}
    ledger = queries.run(con, "delivery_ledger", cluster=cluster.name)
    for recipient, wish in _recipients(config, cluster).items():
        theirs = ledger.filter(pl.col("recipient").str.to_lowercase() == recipient.lower())
        last = max((ends.get(period, 0) for period in theirs["period"]), default=None)
        for age, report in reversed(list(enumerate(reports))):
            rows = theirs.filter(pl.col("period") == report.period.name)
            begun = last is not None and report.period.to_time > last
            if rows.is_empty() and age >= config.mail.backlog and not begun:
                continue
            leave = _leave(rows, report, config, complete, again)
            if leave is None:
                continue
            of_run = pl.col("run_id") == report.run_id
            kept = rows.filter(of_run).select("recipient", "message_id").rows()
            key = [report.run_id, report.cluster, report.period.name, recipient.lower()]
            address, id_ = kept[0] if kept else (recipient, message_id(config.mail, key))
            earlier = rows.filter(~of_run & pl.col("state").is_in(["sent", "unknown"]))
            yield Due(report, address, wish, id_, leave, corrected=earlier.height > 0)


def _leave(
    rows: pl.DataFrame,
    report: Report,
    config: Config,
    complete: Callable[[Report], bool],
    again: Container[str],
) -> str | None:
    """The state that a mail is in, empty where it has no row, if it is due; None if it is not.

    ``rows`` of the ledger are about one recipient and period, oldest change first.
    """
    current = rows.filter(pl.col("run_id") == report.run_id)
    if current.height:
        state = str(current.item(0, "state"))
        return state if state in again else None
    arrived = rows.filter(pl.col("state") == "sent")
    if arrived.height:
        lacked = arrived.item(-1, "report_state") != State.COMPLETE.value
        return "" if config.mail.corrections or (lacked and complete(report)) else None
    return "" if all(state in again for state in rows["state"]) else None


def _recipients(config: Config, cluster: Cluster) -> dict[str, mails.Wish]:
    """Who gets a cluster's reports, each once, and what of them."""
    wishes: dict[str, tuple[str, mails.Wish]] = {}
    for entry in config.recipients:
        if not entry.gets(cluster.name, cluster.period):
            continue
        owners = tuple(itertools.starmap(Who, entry.owners))
        attach = frozenset({"page"}) if owners else mails.Wish().attach
        if entry.attach is not None:
            attach = frozenset[str](entry.attach)
        wish = mails.Wish(not owners, owners, attach, entry.charts)
        for named in entry.addresses:
            address = allowed(named, config.mail.domains)
            known, before = wishes.get(address.lower(), (address, mails.NO_WISH))
            wishes[address.lower()] = (known, before | wish)
    return dict(wishes.values())


def message_id(settings: Mail, parts: Sequence[object]) -> str:
    """The id of a mail: the same for the same parts."""
    assert settings.sender is not None  # config.Mail asks for it
    domain = settings.message_id_domain or settings.sender.rsplit("@", 1)[1]
    return f"<{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}@{domain}>"


def claim(con: Connection, mail: Due, now: int) -> bool:
    """Make a mail ours to send; False where another delivery was faster."""
    if mail.leave == "claimed":
        return True
    of = {"cluster": mail.report.cluster, "period": mail.report.period.name}
    try:
        with database.transaction(con):
            whose = {"recipient": mail.recipient, "run_id": mail.report.run_id}
            queries.run(con, "delivery_forget", **of, **whose)
            row = {"message_id": mail.message_id, "now": now, "leave": mail.leave}
            claimed = queries.run(con, "delivery_claim", **mail.key, **of, **row)
    except StoreError as error:
        if _conflict(error):
            return False
        raise
    return claimed.height == 1


def move(
    con: Connection,
    mail: Due,
    leave: str,
    state: str,
    now: int,
    *,
    tried: int = 0,
    report_state: str | None = None,
    error: str | None = None,
) -> None:
    """Move a mail from one state to the next, at once and for good.

    Raises:
        TakenError: it is not in the state that it is to leave.
    """
    change = {"leave": leave, "state": state, "tried": tried, "now": now}
    told = {"report_state": report_state, "error": error}
    try:
        moved = queries.run(con, "delivery_move", **mail.key, **change, **told)
    except StoreError as problem:
        if _conflict(problem):
            raise TakenError from problem
        raise
    if moved.height != 1:
        raise TakenError


def _conflict(error: StoreError) -> bool:
    text = str(error).lower()
    return "conflict" in text or "duplicate key" in text

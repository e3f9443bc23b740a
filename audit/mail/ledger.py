"""The ledger of mails: the mails that are due, and their outcomes.

Table ``delivery`` has one row for each report and recipient. Each step is one statement or one
transaction, which has an effect only if the row is still in the expected state.
"""

import hashlib
import itertools
import json
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import polars as pl

from audit.config import Cluster, Config, Mail, allowed
from audit.errors import StoreError
from audit.mail import message as mails
from audit.model import Period
from audit.report.contents import Who
from audit.report.standing import State
from audit.store import database, queries
from audit.store.database import Connection


@dataclass(frozen=True)
class Report:
    """A report that was made."""

    cluster: str
    period: Period
    run_id: str
    redefined: bool  # whether only definitions changed since the report before

    @property
    def name(self) -> str:
        """``CLUSTER/PERIOD``."""
        return f"{self.cluster}/{self.period.name}"


@dataclass(frozen=True)
class Due:
    """A mail to be sent."""

    report: Report
    recipient: str
    wish: mails.Subscription
    message_id: str
    leave: str  # the state of its row in the ledger; empty if it has no row
    corrected: bool  # whether the recipient has an earlier version

    @property
    def name(self) -> str:
        """``CLUSTER/PERIOD to ADDRESS``."""
        return f"{self.report.name} to {self.recipient}"

    @property
    def key(self) -> dict[str, object]:
        """The key of its row."""
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
    """Yield the mails that a cluster's recipients have not received yet, oldest report first.

    Args:
        complete: whether a report is; called for those that were mailed while they were partial.
        again: states of the ledger that are due again.
    """
    found = queries.rows(con, "delivery_reports", cluster=cluster.name, now=now)
    reports = [Report(cluster.name, Period(*of[:3]), *of[3:]) for of in found]
    # also of periods whose report could not be made anew
    computed = queries.rows(con, "computed", cluster=cluster.name)
    ends = {period: to_time for period, _, to_time, _ in computed}
    over = sorted(end for end in ends.values() if end <= now)
    ledger = queries.run(con, "delivery_ledger", cluster=cluster.name)
    for recipient, wish in _recipients(config, cluster).items():
        theirs = ledger.filter(pl.col("recipient").str.to_lowercase() == recipient.lower())
        last = max((ends[period] for period in theirs["period"] if period in ends), default=None)
        for report in reversed(reports):
            age = len(over) - bisect_right(over, report.period.to_time)
            rows = theirs.filter(pl.col("period") == report.period.name)
            begun = last is not None and report.period.to_time > last
            if rows.is_empty() and age >= config.mail.backlog and not begun:
                continue
            leave = _leave(rows, report, config, complete, again)
            if leave is None:
                continue
            of_run = pl.col("run_id") == report.run_id
            key = [report.run_id, report.cluster, report.period.name, recipient.lower()]
            new = (recipient, message_id(config.mail, key))
            kept = rows.filter(of_run).select("recipient", "message_id").rows()
            earlier = rows.filter(~of_run & pl.col("state").is_in(["sent", "unknown"]))
            address, id_ = kept[0] if kept else new
            yield Due(report, address, wish, id_, leave, corrected=earlier.height > 0)


def _leave(
    rows: pl.DataFrame,
    report: Report,
    config: Config,
    complete: Callable[[Report], bool],
    again: Container[str],
) -> str | None:
    """Return the state of a mail that is due, empty if it has no row; None if it is not due.

    ``rows`` of the ledger are about one recipient and period, oldest change first.
    """
    current = rows.filter(pl.col("run_id") == report.run_id)
    if current.height:
        state = str(current.item(0, "state"))
        return state if state in again else None
    arrived = rows.filter(pl.col("state") == "sent")
    if arrived.height:
        if report.redefined:
            return None
        lacked = arrived.item(-1, "report_state") != State.COMPLETE.value
        return "" if config.mail.corrections or (lacked and complete(report)) else None
    states = {*rows["state"]}
    if "quiet" in states and report.redefined:
        return None
    return "" if all(state in again or state == "quiet" for state in states) else None


def _recipients(config: Config, cluster: Cluster) -> dict[str, mails.Subscription]:
    """Return the recipients of a cluster's reports, each once, and the parts that they get."""
    wishes: dict[str, list[tuple[str, mails.Subscription]]] = {}
    for entry in config.recipients:
        if entry.gets(cluster.name, cluster.period):
            owners = tuple(itertools.starmap(Who, entry.owners))
            attach = {"page"} if owners else mails.Subscription().attach
            attach = attach if entry.attach is None else {*entry.attach}
            wish = mails.Subscription(not owners, owners, frozenset(attach), entry.charts)
            for named in entry.addresses:
                address = allowed(named, config.mail.domains)
                wishes.setdefault(address.lower(), []).append((address, wish))
    return {of[0][0]: reduce(or_, (wish for _, wish in of)) for of in wishes.values()}


def message_id(settings: Mail, parts: Sequence[object]) -> str:
    """Return the id of a mail: the same for the same parts."""
    assert settings.sender is not None  # config.Mail requires it
    domain = settings.message_id_domain or settings.sender.rsplit("@", 1)[1]
    return f"<{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]}@{domain}>"


def claim(con: Connection, mail: Due, now: int) -> bool:
    """Claim a mail for this delivery; return False if another delivery was faster."""
    if mail.leave == "claimed":
        return True
    of = {"cluster": mail.report.cluster, "period": mail.report.period.name}
    whose = {"recipient": mail.recipient, "run_id": mail.report.run_id}
    row = {"message_id": mail.message_id, "now": now, "leave": mail.leave}
    try:
        with database.transaction(con):
            queries.rows(con, "delivery_forget", **of, **whose)
            return len(queries.rows(con, "delivery_claim", **mail.key, **of, **row)) == 1
    except StoreError as error:
        if _conflict(error):
            return False
        raise


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
    """Move a mail from one state to the next, in one statement.

    Raises TakenError if it is in another state than ``leave``.
    """
    change = {"leave": leave, "state": state, "tried": tried, "now": now}
    result = {"report_state": report_state, "error": error}
    try:
        moved = queries.rows(con, "delivery_move", **mail.key, **change, **result)
    except StoreError as problem:
        if _conflict(problem):
            raise TakenError from problem
        raise
    if len(moved) != 1:
        raise TakenError


def _conflict(error: StoreError) -> bool:
    text = str(error).lower()
    return "conflict" in text or "duplicate key" in text

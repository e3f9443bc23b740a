"""Where the fields of a JOB_FINISH record stand.

Their order is that of every version from 5.1 to 10.1: newer ones only add behind. Lists move what
stands behind them: each is preceded by its length. Source: "lsb.acct" in IBM's and Platform's
configuration references, of versions 6.2 to 10.1, and records of 9.1 and 10.1, which differ from it
in two things: the run limit stands before options3, and each host's usage has a sixth field, the
number of pairs that follow it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from audit.formats.lines import Offsets
from audit.formats.lsf.fields import Fields
from audit.formats.spans import Mask, Numbers

HEAD: Final = {
    "version": 1,
    "eventTime": 2,
    "jobId": 3,
    "options": 5,
    "numProcessors": 6,
    "submitTime": 7,
    "beginTime": 8,
    "termTime": 9,
    "startTime": 10,
    "userName": 11,
    "queue": 12,
    "numAskedHosts": 22,
}
"""Fields before the lists of hosts, by their place from 0 (the event itself)."""

BODY: Final = {
    "jStatus": 0,
    "jobName": 2,
    "command": 3,
    "mailUser": 23,
    "projectName": 24,
    "exitStatus": 25,
    "maxNumProcessors": 26,
    "loginShell": 27,
    "idx": 29,
    "rsvId": 34,
    "sla": 35,
    "exitInfo": 38,
    "chargedSAAP": 41,
    "longRsvId": 51,
    "submitExt": 53,
}
"""Fields behind the lists of hosts, counted from jStatus."""

TAIL: Final = {
    "runLimit": 0,
    "options3": 1,
    "avgMem": 2,
    "effectiveResReq": 3,
    "runTime": 13,
    "numNetworks": 15,
}
"""Fields behind the usage of hosts, counted from runLimit (8.3 and newer)."""

WHOLE: Final = (
    *("eventTime", "jobId", "numProcessors", "submitTime", "beginTime", "termTime", "startTime"),
    *("numAskedHosts", "numExHosts", "jStatus", "exitStatus", "maxNumProcessors", "idx"),
)
TEXTS: Final = (
    *("userName", "queue", "jobName", "command", "mailUser", "projectName", "loginShell"),
)
"""Fields that must be numbers or texts: they tell whether the others stand where they should."""

_USAGE: Final = 6
_UNUSED_BEHIND_NETWORKS: Final = 6  # affinity, energy and four rates
_SHOWN: Final = 40


class Layout(NamedTuple):
    """Places of fields from 0; −1 where the record has none."""

    body: Offsets  # jStatus
    hosts: Offsets  # the first of the execution hosts
    host_count: Offsets
    tail: Offsets  # runLimit
    slots: Offsets  # the first of the hosts with slots
    slot_count: Offsets
    ineligible: Offsets  # seconds that it was not eligible
    requeued: Offsets  # when it was requeued
    head: dict[str, Numbers]  # the numbers before the lists of hosts
    problem: list[str | None]  # what is wrong with it

    def place(self, name: str) -> Offsets | int:
        """Of one of the fields of this module, in each record."""
        if name in HEAD:
            return HEAD[name]
        if name == "numExHosts":
            return self.hosts - 1
        if name in BODY:
            return self.body + BODY[name]
        return np.where(self.tail < 0, -1, self.tail + TAIL[name])


def laid_out(fields: Fields) -> Layout:
    """Finds the fields of JOB_FINISH records."""
    head = {name: fields.numbers(place) for name, place in HEAD.items() if name in WHOLE}
    asked = head["numAskedHosts"].values
    hosts = HEAD["numAskedHosts"] + 2 + asked
    count = fields.numbers(hosts - 1).values
    body = hosts + count
    # Some records that name hosts which were asked for lack the list of the others.
    good = _body_fits(fields, body)
    if (lacking := (asked > 0) & ~good).any():
        lacking &= _body_fits(fields, hosts - 1)
        body = np.where(lacking, hosts - 1, body)
        hosts = np.where(lacking, hosts - 1 - asked, hosts)
        count = np.where(lacking, asked, count)
    good = (good | lacking) & (count >= 0) & (asked >= 0)
    tail, broken = _tail(fields, body, good)
    networks = fields.numbers(np.where(tail < 0, -1, tail + TAIL["numNetworks"]))
    slots = np.where(
        networks.good & (networks.values >= 0),
        tail + TAIL["numNetworks"] + 1 + 2 * networks.values + _UNUSED_BEHIND_NETWORKS + 1,
        -1,
    )
    slot_count, found = fields.numbers(np.where(slots < 0, -1, slots - 1))
    slots = np.where(found & (slot_count >= 0), slots, -1)
    ineligible = np.where(slots < 0, -1, slots + slot_count)
    ranges, ranged = fields.numbers(np.where(slots < 0, -1, ineligible + 1))
    requeued = np.where(ranged & (ranges >= 0), ineligible + 2 + 3 * ranges, -1)
    layout = Layout(
        body,
        hosts,
        count,
        tail,
        slots,
        np.where(slots < 0, 0, slot_count),
        ineligible,
        requeued,
        head,
        [],
    )
    layout.problem.extend(_problems(fields, layout, good, broken))
    return layout


def _body_fits(fields: Fields, body: Offsets) -> Mask:
    """Whether what must be a number or a text there is one."""
    fits = fields.width > body + BODY["idx"]
    for name in BODY:
        if name in WHOLE:
            fits &= fields.numbers(body + BODY[name]).good
        elif name in TEXTS:
            fits &= fields.quoted(body + BODY[name])
    return fits


def _tail(fields: Fields, body: Offsets, good: Mask) -> tuple[Offsets, Mask]:
    """Where runLimit stands, and which records end or change where they should not."""
    nowhere = np.full(len(body), -1)
    extended = good & (fields.width > body + BODY["submitExt"])
    pairs, counted = fields.numbers(np.where(extended, body + BODY["submitExt"], -1))
    usage = body + BODY["submitExt"] + 1 + 2 * pairs
    broken = extended & (~counted | (pairs < 0) | (usage > fields.width))
    used = extended & ~broken & (fields.width > usage)
    hosts, listed = fields.numbers(np.where(used, usage, -1))
    broken |= used & (~listed | (hosts < 0))
    tail = np.where(used & ~broken, usage + 1 + _USAGE * hosts, nowhere)
    fits = _tail_fits(fields, tail)
    if (odd := used & ~broken & ~fits & (hosts > 0)).any():
        for record in np.flatnonzero(odd).tolist():
            tail[record] = _behind_usage(fields, record, int(usage[record]) + 1, int(hosts[record]))
        fits = _tail_fits(fields, tail)
    broken |= used & ~broken & ~fits & (fields.width != tail)
    return np.where(fits, tail, nowhere), broken


def _tail_fits(fields: Fields, tail: Offsets) -> Mask:
    numbers = [fields.numbers(np.where(tail < 0, -1, tail + place)).good for place in range(3)]
    text = fields.quoted(np.where(tail < 0, -1, tail + TAIL["effectiveResReq"]))
    fits: Mask = numbers[0] & numbers[1] & numbers[2] & text
    return fits


def _behind_usage(fields: Fields, record: int, place: int, hosts: int) -> int:
    """Where the usage of some hosts ends, each with pairs of its own behind it."""
    one = fields.of(np.array([record]))
    for _ in range(min(hosts, int(one.width[0]))):
        pairs = int(one.numbers(np.array([place + _USAGE - 1])).values[0])
        place += _USAGE + 2 * max(pairs, 0)
        if place >= one.width[0]:
            break
    return place


def _problems(fields: Fields, layout: Layout, good: Mask, broken: Mask) -> list[str | None]:
    """What is wrong with each record; None where nothing is."""
    problems: list[str | None] = [None] * len(good)
    bad = ~good | broken
    for read in layout.head.values():
        bad |= ~read.good | (read.values < 0)
    for name in ("userName", "queue"):
        bad |= ~fields.quoted(layout.place(name))
    for record in np.flatnonzero(bad).tolist():
        problems[record] = _problem(fields, layout, record)
    return problems


def _problem(fields: Fields, layout: Layout, record: int) -> str:
    for name in (*WHOLE, *TEXTS):
        if name == "numExHosts" and layout.hosts[record] < HEAD["numAskedHosts"]:
            continue
        place = layout.place(name)
        at = np.array([place if isinstance(place, int) else int(place[record])])
        one = fields.of(np.array([record]))
        if at[0] >= one.width[0]:
            return f"{one.width[0]} fields: {name} is missing"
        value, good = one.numbers(at)
        if name in WHOLE and not (good[0] and (value[0] >= 0 or name in BODY)):
            return f"field {at[0] + 1} ({name}): '{_shown(one, at)}' is no whole number"
        if name in TEXTS and not one.quoted(at)[0]:
            return f"field {at[0] + 1} ({name}): '{_shown(one, at)}' is no text in quotes"
    return f"{fields.width[record]} fields: those behind submitExt are not where they should be"


def _shown(one: Fields, place: Offsets) -> str:
    return (one.texts(place)[0] or "")[:_SHOWN]

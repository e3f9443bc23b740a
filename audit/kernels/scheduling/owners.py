"""What owners have used and waited for, and whose turn that makes it (SPEC §4, *Queue order*).

Under ``fairshare`` an owner is a node of a share tree. There is an account of what was used below
each node, and one of what each node and its siblings used: entries of when the rate of use changed,
what had been used by then, and how much is used per second from then on. What the observed schedule
used up to ``state[SINCE]`` stands in the arrays of ``Owners``, account by account in the order of
time. What the simulation adds is entered in the ``Ledger`` as it happens, as a chain of entries for
each account. Either is found again by an index that moves little: how far each bound of each
account's windows had got.

Under ``nuwt`` an owner's account is what its attempts waited and used that have ended. Of
``multifactor`` all is in ``multifactor.py``.
"""

import math
from typing import NamedTuple

import numpy as np

from audit.kernels.arrays import Floats, FloatTable, IntCube, Ints, IntTable
from audit.kernels.compiled import inner, kernel
from audit.kernels.operators import priority
from audit.kernels.scheduling.multifactor import Books, Slurm

# Registers: elements of Ledger.state.
SINCE = 0  # until when the observed schedule says who used what; then the simulation does
SERIAL = 1  # counts the ticks for which owners were rated: what is stamped with it is up to date
TICK = 2  # the last recalculation that owners were rated for
ENTRIES = 3  # how many entries there are
REGISTERS = 4

# Entries: rows of Ledger.when, and of Ledger.amount.
TIME = 0  # when the rate of use changed
NEXT = 1  # the entry of the same account after it
VALUE = 0  # what had been used by then
RATE = 1  # what is used per second from then on

# Rows of Ledger.place, an element per account. Its chain of entries, and its stamps:
OLDEST = 0
NEWEST = 1
STAMP = 2  # the SERIAL for which its usage is known
RATED = 3  # of an owner: for which its keys are known
# between which instants its usage in windows is a line:
LINE_FROM = 4
LINE_UNTIL = 5
# of an owner, while the queue is dealt out: how many of its attempts wait, and the next one's place
SEEN = 6
DEALT = 7
PLACES = 8

# Rows of Ledger.sums, an element per account.
USED = 0  # by the last recalculation; nuwt: by what has ended in the simulation
PRIORITY = 1  # of a node among its siblings
LINE = 2  # usage at LINE_FROM,
SLOPE = 3  # and by how much it grows per second
WAITED = 4  # nuwt: by what has ended in the simulation
USED_BEFORE = 5  # nuwt: the same as observed
WAITED_BEFORE = 6
SUMS = 7

NOTHING = -1
BEFORE_ALL = -(1 << 62)
AFTER_ALL = 1 << 62
GRID = 2.0**32  # priorities closer to each other than half of 1/GRID are equal
LN_2 = math.log(2.0)


class Owners(NamedTuple):
    """Who they are, how they are ranked, and what the observed schedule says of them."""

    target: Floats  # [nodes], among siblings
    operator: int
    weights: Floats  # [depth], of windows, the latest first
    interval: int
    origin: int
    recalculation: int
    first: Ints  # [accounts + 1]: where the entries of each begin
    time: Ints  # [entries], ascending for each account
    value: Floats  # what had been used (nuwt: waited) by then
    rate: Floats  # what is used per second from then on (nuwt: what had been used by then)
    slurm: Slurm  # all that ``multifactor`` goes by, instead of the others


class Ledger(NamedTuple):
    """What a simulation adds."""

    state: Ints  # the registers
    path: IntTable  # nodes × levels: from below the root to the node; −1 beyond it
    siblings: Ints  # [nodes]: the account of what a node and its siblings use
    when: IntTable  # TIME, NEXT × entries
    amount: FloatTable  # VALUE, RATE × entries
    place: IntTable
    sums: FloatTable
    marks: IntCube  # 2 × accounts × bounds: the entry that each had got to, simulated and observed
    keys: FloatTable  # levels × nodes: what owners are compared by
    half_life: float  # > 0: instead of windows
    books: Books  # of ``multifactor``


def ledger(
    path: IntTable, siblings: Ints, bounds: int, changes: int, half_life: float, books: Books
) -> Ledger:
    """Room for ``changes`` starts and ends, under windows of so many bounds."""
    nodes, levels = path.shape
    accounts = 2 * nodes
    entries = changes * levels * 2 + 1
    return Ledger(
        state=np.zeros(REGISTERS, np.int64),
        path=path,
        siblings=siblings,
        when=np.zeros((2, entries), np.int64),
        amount=np.zeros((2, entries), np.float64),
        place=np.zeros((PLACES, accounts), np.int64),
        sums=np.zeros((SUMS, accounts), np.float64),
        marks=np.zeros((2, accounts, bounds), np.int64),
        keys=np.zeros((levels, nodes), np.float64),
        half_life=half_life,
        books=books,
    )


@inner
def open_ledger(ledger: Ledger, since: int) -> None:
    """Empties it: from ``since`` on the simulation says what happens."""
    state = ledger.state
    state[SINCE] = since
    state[SERIAL] += 1
    state[TICK] = NOTHING
    state[ENTRIES] = 0
    for account in range(ledger.place.shape[1]):
        ledger.place[OLDEST, account] = NOTHING
        ledger.place[NEWEST, account] = NOTHING
        ledger.place[LINE_UNTIL, account] = BEFORE_ALL
        ledger.sums[USED, account] = 0.0
        ledger.sums[WAITED, account] = 0.0


@inner
def grown(value: float, rate: float, lasts: int, half_life: float) -> float:
    """What was used ``lasts`` seconds after there was ``value``, ``rate`` more each second."""
    if half_life > 0.0:
        ages = lasts / half_life
        kept: float = value * 2.0**-ages
        return kept - rate * half_life / LN_2 * math.expm1(-ages * LN_2)
    return value + rate * lasts


@inner
def enter(ledger: Ledger, account: int, charge: float, now: int) -> None:
    """Enters in an account that ``charge`` more is used per second from ``now`` on."""
    last = ledger.place[NEWEST, account]
    ledger.place[LINE_UNTIL, account] = min(ledger.place[LINE_UNTIL, account], now)
    if last != NOTHING and ledger.when[TIME, last] == now:
        ledger.amount[RATE, last] += charge
        return
    entry = ledger.state[ENTRIES]
    ledger.state[ENTRIES] += 1
    ledger.when[TIME, entry] = now
    ledger.when[NEXT, entry] = NOTHING
    ledger.place[NEWEST, account] = entry
    if last == NOTHING:
        ledger.place[OLDEST, account] = entry
        ledger.amount[VALUE, entry] = 0.0
        ledger.amount[RATE, entry] = charge
        for bound in range(ledger.marks.shape[2]):
            ledger.marks[0, account, bound] = NOTHING
        return
    ledger.when[NEXT, last] = entry
    rate = ledger.amount[RATE, last]
    lasts = now - ledger.when[TIME, last]
    ledger.amount[VALUE, entry] = grown(ledger.amount[VALUE, last], rate, lasts, ledger.half_life)
    ledger.amount[RATE, entry] = rate + charge


@inner
def charge_owner(ledger: Ledger, owner: int, charge: float, now: int) -> None:
    """Lets an owner, and all above it, use ``charge`` more per second from ``now`` on."""
    for level in range(ledger.path.shape[1]):
        node = ledger.path[owner, level]
        if node == NOTHING:
            return
        enter(ledger, node, charge, now)
        enter(ledger, ledger.siblings[node], charge, now)


@kernel
def sum_up(first: Ints, time: Ints, value: Floats, rate: Floats, half_life: float) -> None:
    """Makes the values and rates of ``Owners`` of the changes of rate that stand in ``rate``."""
    for account in range(len(first) - 1):
        for entry in range(first[account] + 1, first[account + 1]):
            lasts = time[entry] - time[entry - 1]
            value[entry] = grown(value[entry - 1], rate[entry - 1], lasts, half_life)
            rate[entry] += rate[entry - 1]


@inner
def observed_by(owners: Owners, ledger: Ledger, account: int, bound: int, instant: int) -> int:
    """Index of an account's last observed entry at or before ``instant``; NOTHING: there is none.

    Looks from where it was found last time on, in steps that double.
    """
    first = owners.first[account]
    beyond = owners.first[account + 1]
    if first == beyond or owners.time[first] > instant:
        return NOTHING
    low: int = min(max(ledger.marks[1, account, bound], first), beyond - 1)
    high = low
    step = 1
    if owners.time[low] <= instant:
        while high < beyond and owners.time[high] <= instant:
            low = high
            high = high + step
            step *= 2
        high = min(high, beyond)
    else:
        while owners.time[low] > instant:
            high = low
            low = max(low - step, first)
            step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        if owners.time[middle] <= instant:
            low = middle
        else:
            high = middle
    ledger.marks[1, account, bound] = low
    return low


@inner
def simulated_by(ledger: Ledger, account: int, bound: int, instant: int) -> int:
    """The same among the entries of the simulation; instants must not go back."""
    entry: int = ledger.marks[0, account, bound]
    if entry == NOTHING:
        entry = ledger.place[OLDEST, account]
        if entry == NOTHING or ledger.when[TIME, entry] > instant:
            return NOTHING
    following = ledger.when[NEXT, entry]
    while following != NOTHING and ledger.when[TIME, following] <= instant:
        entry = following
        following = ledger.when[NEXT, entry]
    ledger.marks[0, account, bound] = entry
    return entry


@inner
def used_by(
    owners: Owners, ledger: Ledger, account: int, bound: int, instant: int
) -> tuple[float, float, int]:
    """What an account had used by ``instant``, by how much that grew, and until when it did so.

    Under a half-life: what is left of it then, and nothing of the others.
    """
    since = ledger.state[SINCE]
    used = 0.0
    rate = 0.0
    until = AFTER_ALL
    observed = min(instant, since)
    entry = observed_by(owners, ledger, account, bound, observed)
    following = owners.first[account] if entry == NOTHING else entry + 1
    if entry != NOTHING:
        rate = owners.rate[entry]
        used = grown(owners.value[entry], rate, observed - owners.time[entry], ledger.half_life)
    if instant < since:
        until = since
        if following < owners.first[account + 1]:
            until = min(until, owners.time[following])
        return used, rate, until
    rate = 0.0
    if ledger.half_life > 0.0:
        used = grown(used, 0.0, instant - since, ledger.half_life)
    entry = ledger.place[OLDEST, account]
    if entry == NOTHING:
        return used, rate, until
    if ledger.when[TIME, entry] > instant:
        return used, rate, ledger.when[TIME, entry]
    entry = simulated_by(ledger, account, bound, instant)
    rate = ledger.amount[RATE, entry]
    lasts = instant - ledger.when[TIME, entry]
    used += grown(ledger.amount[VALUE, entry], rate, lasts, ledger.half_life)
    following = ledger.when[NEXT, entry]
    if following != NOTHING:
        until = ledger.when[TIME, following]
    return used, rate, until


@inner
def usage(owners: Owners, ledger: Ledger, account: int, instant: int) -> float:
    """Decayed usage of an account: SPEC §7, ``windows`` (trailing) or ``half_life``.

    Usage in windows grows evenly until one of their bounds meets a change of rate.
    """
    place = ledger.place
    sums = ledger.sums
    if place[LINE_FROM, account] <= instant <= place[LINE_UNTIL, account]:
        line: float = sums[LINE, account] + sums[SLOPE, account] * (
            instant - place[LINE_FROM, account]
        )
        return line
    used, rate, until = used_by(owners, ledger, account, 0, instant)
    if ledger.half_life > 0.0:
        return used
    total = 0.0
    slope = 0.0
    for i in range(len(owners.weights)):
        age = (i + 1) * owners.interval
        before, older, even_until = used_by(owners, ledger, account, i + 1, instant - age)
        total += owners.weights[i] * (used - before)
        slope += owners.weights[i] * (rate - older)
        until = min(until, even_until + age)
        used = before
        rate = older
        if before == 0.0 and older == 0.0:  # nothing that old until then
            break
    sums[LINE, account] = total
    sums[SLOPE, account] = slope
    place[LINE_FROM, account] = instant
    place[LINE_UNTIL, account] = until
    return total


@inner
def rate_owner(owners: Owners, ledger: Ledger, owner: int, now: int) -> None:
    """Writes the keys of an owner: under ``fairshare``, the priorities on the way to it.

    They are those at the last multiple of the recalculation interval, and computed once for each.
    """
    state = ledger.state
    tick = (now - owners.origin) // owners.recalculation
    if tick != state[TICK]:
        state[TICK] = tick
        state[SERIAL] += 1
    if ledger.place[RATED, owner] == state[SERIAL]:
        return
    ledger.place[RATED, owner] = state[SERIAL]
    instant = owners.origin + tick * owners.recalculation
    for level in range(ledger.path.shape[1]):
        node = ledger.path[owner, level]
        key = 0.0
        if node != NOTHING:
            if ledger.place[STAMP, node] != state[SERIAL]:
                every = ledger.siblings[node]
                if ledger.place[STAMP, every] != state[SERIAL]:
                    ledger.sums[USED, every] = usage(owners, ledger, every, instant)
                    ledger.place[STAMP, every] = state[SERIAL]
                ledger.sums[USED, node] = usage(owners, ledger, node, instant)
                ledger.place[STAMP, node] = state[SERIAL]
                part = 0.0
                if ledger.sums[USED, every] > 0.0:
                    part = min(ledger.sums[USED, node] / ledger.sums[USED, every], 1.0)
                of_node = priority(owners.operator, owners.target[node], part)
                ledger.sums[PRIORITY, node] = math.floor(of_node * GRID + 0.5)
            key = ledger.sums[PRIORITY, node]
        ledger.keys[level, owner] = key


@inner
def rate_waits(owners: Owners, ledger: Ledger, owner: int) -> None:
    """Writes the key of an owner under ``nuwt``: what it waited for each second of use."""
    if ledger.place[STAMP, owner] != ledger.state[SERIAL]:
        entry = observed_by(owners, ledger, owner, 0, ledger.state[SINCE])
        ledger.sums[WAITED_BEFORE, owner] = 0.0
        ledger.sums[USED_BEFORE, owner] = 0.0
        if entry != NOTHING:
            ledger.sums[WAITED_BEFORE, owner] = owners.value[entry]
            ledger.sums[USED_BEFORE, owner] = owners.rate[entry]
        ledger.place[STAMP, owner] = ledger.state[SERIAL]
    used = ledger.sums[USED_BEFORE, owner] + ledger.sums[USED, owner]
    waited = ledger.sums[WAITED_BEFORE, owner] + ledger.sums[WAITED, owner]
    ledger.keys[0, owner] = waited / used if used > 0.0 else 0.0


@inner
def compare(ledger: Ledger, one: int, other: int) -> int:
    """1 where the first owner's turn comes before the second's, −1 after it, 0: neither."""
    if one == other:
        return 0
    for level in range(ledger.keys.shape[0]):
        if ledger.keys[level, one] > ledger.keys[level, other]:
            return 1
        if ledger.keys[level, one] < ledger.keys[level, other]:
            return -1
    return 0

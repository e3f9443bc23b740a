"""Usage and waits of owners, and whose turn that makes it (SPEC §4, *Queue order*).

An owner under FAIRSHARE is a node of a share tree. There is one account for what was used below
each node, and another for what the node and its siblings used. An account is a series of entries
of when the rate of use changed. The arrays of ``Owners`` hold what the observed schedule used up
to ``Ledger.since``; a simulation adds a chain of entries for each account. Each search starts
where the last one ended, separately for each bound of an account's windows.

An account under NUWT holds the waits and usage of the owner's ended attempts. MULTIFACTOR keeps its
own books (``multifactor``).
"""

import numpy as np
cimport cython
from libc.math cimport expm1, floor, log, pow
from libc.stdint cimport int64_t

from audit.kernels.operators cimport priority
from audit.kernels.scheduling.instants cimport floor_divide
from audit.kernels.scheduling.multifactor cimport GRID, Books
from audit.kernels.sweeps cimport first_above


cdef extern from *:
    const int64_t BEFORE_ALL "(-(INT64_C(1) << 62))"


cdef enum:
    NO_ENTRY = -1


cdef double LN_2 = log(2.0)


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Owners:
    """How owners are ranked, and what the observed schedule used."""


cdef class Ledger:
    """The usage and waits that a simulation adds."""

    def __init__(
        self, Owners owners not None, path, siblings, int64_t changes, double half_life,
        Books books not None
    ):
        cdef int64_t nodes, levels, accounts, bounds = owners.weights.shape[0] + 1
        nodes, levels = path.shape
        accounts = 2 * nodes
        self.path, self.siblings, self.half_life, self.books = path, siblings, half_life, books
        self.accounts = np.zeros(accounts, f"{'i8,' * 6} {'f8,' * 7} i8, i8")
        self.entries = np.zeros(2 * changes * levels + 1, "i8, i8, f8, f8")
        self.simulated, self.observed = np.zeros((2, accounts, bounds), np.int64)
        self.keys = np.zeros((levels, nodes))


cdef void open_ledger(Ledger ledger, int64_t since) noexcept nogil:
    """Empty the ledger: from ``since`` on the simulation counts."""
    cdef int64_t k
    ledger.since = since
    ledger.serial += 1
    ledger.tick = NO_ENTRY
    ledger.number = 0
    for k in range(ledger.accounts.shape[0]):
        ledger.accounts[k].oldest = ledger.accounts[k].newest = NO_ENTRY
        ledger.accounts[k].line_until = BEFORE_ALL
        ledger.accounts[k].used = ledger.accounts[k].waited = 0.0


cdef double grown(double value, double rate, int64_t lasts, double half_life) noexcept nogil:
    """Return the usage ``lasts`` seconds after ``value``, at ``rate`` more each second."""
    cdef double ages
    if half_life > 0.0:
        ages = lasts / half_life
        return value * pow(2.0, -ages) - rate * half_life / LN_2 * expm1(-ages * LN_2)
    return value + rate * lasts


cdef void add_entry(Ledger ledger, int64_t k, double charge, int64_t now) noexcept nogil:
    """Let account ``k`` use ``charge`` more per second from ``now`` on."""
    cdef OwnerBalance *account = &ledger.accounts[k]
    cdef int64_t last = account.newest, number = ledger.number, bound
    cdef RateChange *entry
    cdef RateChange *before
    account.line_until = min(account.line_until, now)
    if last != NO_ENTRY and ledger.entries[last].time == now:
        ledger.entries[last].rate += charge
        return
    ledger.number += 1
    account.newest = number
    entry = &ledger.entries[number]
    entry.time, entry.next = now, NO_ENTRY
    if last == NO_ENTRY:
        account.oldest = number
        entry.value, entry.rate = 0.0, charge
        for bound in range(ledger.simulated.shape[1]):
            ledger.simulated[k, bound] = NO_ENTRY
        return
    before = &ledger.entries[last]
    before.next = number
    entry.value = grown(before.value, before.rate, now - before.time, ledger.half_life)
    entry.rate = before.rate + charge


cdef void charge_owner(Ledger ledger, int64_t owner, double charge, int64_t now) noexcept nogil:
    """Let an owner and every node above it use ``charge`` more per second from ``now`` on."""
    cdef int64_t level, node
    for level in range(ledger.path.shape[1]):
        node = ledger.path[owner, level]
        if node == NO_ENTRY:
            return
        add_entry(ledger, node, charge, now)
        add_entry(ledger, ledger.siblings[node], charge, now)


def sum_up(
    const int64_t[::1] first, const int64_t[::1] time, double[::1] value, double[::1] rate,
    double half_life
):
    """Turn the changes of rate in ``rate`` into the values and rates of ``Owners``."""
    cdef int64_t account, entry
    with nogil:
        for account in range(first.shape[0] - 1):
            for entry in range(first[account] + 1, first[account + 1]):
                value[entry] = grown(
                    value[entry - 1], rate[entry - 1], time[entry] - time[entry - 1], half_life
                )
                rate[entry] += rate[entry - 1]


cdef int64_t observed_by(
    Owners owners, Ledger ledger, int64_t account, int64_t bound, int64_t instant
) noexcept nogil:
    """Return an account's last observed entry at or before ``instant``, or NO_ENTRY.

    The search starts where the last one ended, and doubles its steps.
    """
    cdef int64_t first = owners.first[account], beyond = owners.first[account + 1]
    cdef int64_t low, high, step = 1
    if first == beyond or owners.time[first] > instant:
        return NO_ENTRY
    low = high = min(max(ledger.observed[account, bound], first), beyond - 1)
    if owners.time[low] <= instant:
        while high < beyond and owners.time[high] <= instant:
            low = high
            high += step
            step *= 2
        high = min(high, beyond)
    else:
        while owners.time[low] > instant:
            high = low
            low = max(low - step, first)
            step *= 2
    low = first_above(owners.time, low + 1, high, instant) - 1
    ledger.observed[account, bound] = low
    return low


cdef int64_t simulated_by(
    Ledger ledger, int64_t account, int64_t bound, int64_t instant
) noexcept nogil:
    """Return an account's last simulated entry at or before ``instant``, which must not go back."""
    cdef int64_t entry = ledger.simulated[account, bound], following
    if entry == NO_ENTRY:
        entry = ledger.accounts[account].oldest
        if entry == NO_ENTRY or ledger.entries[entry].time > instant:
            return NO_ENTRY
    following = ledger.entries[entry].next
    while following != NO_ENTRY and ledger.entries[following].time <= instant:
        entry = following
        following = ledger.entries[entry].next
    ledger.simulated[account, bound] = entry
    return entry


cdef (double, double, int64_t) used_by(
    Owners owners, Ledger ledger, int64_t account, int64_t bound, int64_t instant
) noexcept nogil:
    """Return what an account had used by ``instant``, its growth per second, and until when.

    With a half-life: what is left of it then. The growth and its end are meaningless.
    """
    cdef double used = 0.0, rate = 0.0
    cdef int64_t until = AFTER_ALL, observed = min(instant, ledger.since)
    cdef int64_t k = observed_by(owners, ledger, account, bound, observed)
    cdef int64_t following = owners.first[account] if k == NO_ENTRY else k + 1
    cdef RateChange *entry
    if k != NO_ENTRY:
        rate = owners.rate[k]
        used = grown(owners.value[k], rate, observed - owners.time[k], ledger.half_life)
    if instant < ledger.since:
        until = ledger.since
        if following < owners.first[account + 1]:
            until = min(until, owners.time[following])
        return used, rate, until
    if ledger.half_life > 0.0:
        used = grown(used, 0.0, instant - ledger.since, ledger.half_life)
    k = ledger.accounts[account].oldest
    if k == NO_ENTRY:
        return used, 0.0, until
    if ledger.entries[k].time > instant:
        return used, 0.0, ledger.entries[k].time
    entry = &ledger.entries[simulated_by(ledger, account, bound, instant)]
    used += grown(entry.value, entry.rate, instant - entry.time, ledger.half_life)
    if entry.next != NO_ENTRY:
        until = ledger.entries[entry.next].time
    return used, entry.rate, until


cdef double decayed_usage(Owners owners, Ledger ledger, int64_t k, int64_t instant) noexcept nogil:
    """Return the decayed usage of account ``k``: SPEC §7, ``windows`` (trailing) or ``half_life``.

    Usage in windows grows evenly until one of their bounds reaches a change of rate.
    """
    cdef OwnerBalance *account = &ledger.accounts[k]
    cdef double used, rate, before, older, total = 0.0, slope = 0.0
    cdef int64_t until, even_until, age, i
    if account.line_from <= instant <= account.line_until:
        return account.line + account.slope * (instant - account.line_from)
    used, rate, until = used_by(owners, ledger, k, 0, instant)
    if ledger.half_life > 0.0:
        return used
    for i in range(owners.weights.shape[0]):
        age = (i + 1) * owners.interval
        before, older, even_until = used_by(owners, ledger, k, i + 1, instant - age)
        total += owners.weights[i] * (used - before)
        slope += owners.weights[i] * (rate - older)
        until = min(until, even_until + age)
        used, rate = before, older
        if before == 0.0 and older == 0.0:  # no use that old until then
            break
    account.line, account.slope = total, slope
    account.line_from, account.line_until = instant, until
    return total


cdef double used_at(Owners owners, Ledger ledger, int64_t k, int64_t instant) noexcept nogil:
    """Return the usage of account ``k`` at the current recalculation, computed once for each."""
    cdef OwnerBalance *account = &ledger.accounts[k]
    if account.stamp != ledger.serial:
        account.used = decayed_usage(owners, ledger, k, instant)
        account.stamp = ledger.serial
    return account.used


cdef void rate_usage(Owners owners, Ledger ledger, int64_t owner, int64_t now) noexcept nogil:
    """Write an owner's keys under FAIRSHARE: the priorities on the path to it.

    They are as of the last multiple of the recalculation interval, and computed once for each.
    """
    cdef int64_t tick = floor_divide(now - owners.origin, owners.recalculation)
    cdef int64_t instant = owners.origin + tick * owners.recalculation, level, node
    cdef double of_all, part
    if tick != ledger.tick:
        ledger.tick = tick
        ledger.serial += 1
    if ledger.accounts[owner].rated == ledger.serial:
        return
    ledger.accounts[owner].rated = ledger.serial
    for level in range(ledger.path.shape[1]):
        node = ledger.path[owner, level]
        if node == NO_ENTRY:
            ledger.keys[level, owner] = 0.0
            continue
        if ledger.accounts[node].stamp != ledger.serial:
            of_all = used_at(owners, ledger, ledger.siblings[node], instant)
            part = used_at(owners, ledger, node, instant)
            part = min(part / of_all, 1.0) if of_all > 0.0 else 0.0
            ledger.accounts[node].priority = floor(
                priority(owners.operator, owners.target[node], part) * GRID + 0.5
            )
        ledger.keys[level, owner] = ledger.accounts[node].priority


cdef void rate_waits(Owners owners, Ledger ledger, int64_t owner) noexcept nogil:
    """Write an owner's key under NUWT: its wait per unit of use."""
    cdef OwnerBalance *account = &ledger.accounts[owner]
    cdef double used, waited
    cdef int64_t entry
    if account.stamp != ledger.serial:
        entry = observed_by(owners, ledger, owner, 0, ledger.since)
        account.waited_before = account.used_before = 0.0
        if entry != NO_ENTRY:
            account.waited_before = owners.value[entry]
            account.used_before = owners.rate[entry]
        account.stamp = ledger.serial
    used = account.used_before + account.used
    waited = account.waited_before + account.waited
    ledger.keys[0, owner] = waited / used if used > 0.0 else 0.0

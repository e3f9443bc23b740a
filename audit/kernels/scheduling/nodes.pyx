"""The use of a pool's nodes by attempts, and where they start (SPEC §12).

An attempt fits if as many of its parts as it has fit on nodes of its set. It takes those with
least free (or with most, or by runs, as ``NodeFacts`` says), counted in the first resource; ties by
number. If several parts fit on a node, nodes with most of them come first. The places of an
attempt hold what it uses, or the nodes that it plans to use.

Sets of nodes are bits of words. A node is at the *level* of what is free of the first resource.
"""

import numpy as np
from libc.stdint cimport int64_t, uint64_t

from audit.kernels.choice cimport Choice, add_candidate, choose_by_key, choose_by_runs
from audit.kernels.rows cimport move, move_rows
from audit.kernels.scheduling.model cimport NOBODY, NodeFacts, Steps


cdef extern from *:
    const int64_t FAR "(INT64_C(1) << 61)"  # more than any amount


def _bits(first, member, words):
    """Return sets of nodes as bits."""
    bits = np.zeros((len(first) - 1, words), np.uint64)
    for number in range(len(first) - 1):
        nodes = member[first[number] : first[number + 1]]
        np.bitwise_or.at(bits[number], nodes >> 6, np.uint64(1) << (nodes & 63).astype(np.uint64))
    return bits


cdef class Places:
    """The use of a pool's nodes by attempts, and what is free there."""

    def __init__(self, NodeFacts nodes not None, int64_t attempts, sum):
        count, resources = nodes.capacity.shape[1], nodes.capacity.shape[0]
        shapes = int(np.max(nodes.shape, initial=-1)) + 1
        rooms = np.sort(np.diff(nodes.first))[::-1]
        places = int(rooms[:attempts].sum())
        width = (SLOTS + 1) * count + places
        self.nodes, self.sum = nodes, sum
        self.free, self.later = np.zeros((2, resources, count), np.int64)
        self.held = np.array(nodes.held)
        self.node, self.amount = np.array(nodes.node), np.array(nodes.amount)
        self.full, self.full_beside = np.zeros((2, shapes), np.int64)
        words, levels = (count >> 6) + 1, int(np.max(nodes.capacity[:1], initial=0)) + 1
        self.kept, self.level = np.zeros(words, np.uint64), np.zeros((levels, words), np.uint64)
        self.size = np.zeros(levels, np.int64)
        self.members = _bits(np.array(nodes.first_member), np.array(nodes.member), words)
        self.choice = Choice(count)
        self.fitting, self.closed = np.zeros((2, count), np.int64)
        self.begins, self.begins_on, self.ends, self.ends_on = np.zeros((4, places), np.int64)
        self.slot_shape, self.slot_changes, self.slot_end, self.slot_ended = np.zeros(
            (4, SLOTS + 1), np.int64
        )
        self.slot_later = np.zeros((resources, (SLOTS + 1) * count), np.int64)
        self.slot_parts = np.zeros((SLOTS + 1) * count, np.int64)
        self.ready, self.ready_on, self.ready_parts = np.zeros((3, width), np.int64)
        self.returns = self.changes = self.serial = 1  # no stamp is valid
        self.head = NOBODY


cdef void empty_nodes(Places on) noexcept nogil:
    """Let nothing run on any node."""
    on.free[:] = on.nodes.capacity
    find_levels(on)
    on.returns += 1
    on.changes += 1
    on.head = NOBODY
    on.plans = 0


cdef void find_levels(Places on) noexcept nogil:
    """Find the level of each node."""
    cdef int64_t node
    on.level[:] = 0
    on.size[:] = 0
    for node in range(on.free.shape[1]):
        enter_level(on, max(on.free[0, node], 0), node)


cdef inline void enter_level(Places on, int64_t level, int64_t node) noexcept nogil:
    """Put a node on a level."""
    on.level[level, node >> 6] |= (<uint64_t> 1) << (node & 63)
    on.size[level] += 1


cdef inline void leave_level(Places on, int64_t level, int64_t node) noexcept nogil:
    """Take a node from a level."""
    on.level[level, node >> 6] &= ~((<uint64_t> 1) << (node & 63))
    on.size[level] -= 1


cdef void move_nodes(Places on, int64_t holder, int64_t sign) noexcept nogil:
    """Return what a holder uses to its nodes (1), or take it (−1)."""
    cdef int64_t first = on.nodes.first[holder], place, node, before, after, x
    for place in range(first, first + on.held[holder]):
        node = on.node[place]
        for x in range(on.free.shape[0]):
            before = on.free[x, node]
            after = before + sign * on.amount[x, place]
            on.free[x, node] = after
            before, after = max(before, 0), max(after, 0)
            on.sum[x] += after - before
            if x == 0 and before != after:
                leave_level(on, before, node)
                enter_level(on, after, node)
    on.changes += 1
    if sign > 0:
        on.returns += 1


cdef void recall_nodes(Places on, int64_t job) noexcept nogil:
    """Let an attempt use the nodes that it used in the observed schedule."""
    cdef int64_t first = on.nodes.first[job], number = on.nodes.held[job]
    on.held[job] = number
    move(on.node, first, on.nodes.node, first, number)
    move_rows(on.amount, first, on.nodes.amount, first, number)
    on.head = NOBODY


cdef void copy_nodes(
    Places of, Places to, const int64_t[::1] running, int64_t number
) noexcept nogil:
    """Copy what ``number`` running attempts use, what is free, and what the head keeps."""
    cdef int64_t i
    to.free[:] = of.free
    to.level[:] = of.level
    to.size[:] = of.size
    for i in range(number):
        copy_places(of, to, running[i])
    to.returns += 1
    to.changes += 1
    to.serial += 1
    to.head, to.shadow, to.plans = of.head, of.shadow, 0
    to.since = to.returns if of.since == of.returns else 0
    to.kept[:] = of.kept


cdef void copy_places(Places of, Places to, int64_t job) noexcept nogil:
    """Copy what an attempt uses or plans to use."""
    cdef int64_t first = of.nodes.first[job]
    to.held[job] = of.held[job]
    move(to.node, first, of.node, first, of.held[job])
    move_rows(to.amount, first, of.amount, first, of.held[job])


# --- fits ----------------------------------------------------------------------------------------


cdef bint parts_fit(Places on, int64_t job, bint beside) noexcept nogil:
    """Return whether all parts fit in what is free, ``beside`` what the head keeps or anywhere."""
    cdef int64_t set = on.nodes.set[job], missing = on.nodes.parts[job], level, word
    cdef uint64_t bits
    for level in range(on.size.shape[0] - 1, on.nodes.part[0, job] - 1, -1):
        if on.size[level] == 0:
            continue
        for word in range(on.level.shape[1]):
            bits = on.level[level, word] & on.members[set, word]
            if beside:
                bits &= ~on.kept[word]
            while bits != 0:
                missing -= parts_of(on, on.free, job, (word << 6) + lowest_bit(bits))
                if missing <= 0:
                    return True
                bits &= bits - 1
    return False


cdef bint fits_held(Places on, int64_t job) noexcept nogil:
    """Return whether an attempt fits on the nodes of its plan."""
    cdef int64_t first = on.nodes.first[job], place, x
    for place in range(first, first + on.held[job]):
        for x in range(on.free.shape[0]):
            if on.amount[x, place] > on.free[x, on.node[place]] and on.amount[x, place] > 0:
                return False
    return True


# --- the choice of nodes -------------------------------------------------------------------------


cdef void choose_nodes(Places on, int64_t job, Where where) noexcept nogil:
    """Choose the nodes on which an attempt, which fits, starts now."""
    cdef bint down = on.nodes.least_loaded
    cdef int64_t missing = on.nodes.parts[job], set = on.nodes.set[job], place
    if where == Where.PLANNED:
        return
    if where == Where.ANYWHERE:
        on.head = NOBODY  # the nodes that it keeps may be taken
    on.held[job] = 0
    if on.nodes.consecutive and where != Where.KEPT_FIRST:
        take_consecutive(on, job, where)
        return
    if on.nodes.most[job] == 1:
        if where == Where.KEPT_FIRST:
            missing = take_by_level(on, job, missing, down, Where.KEPT_FIRST)
            where = Where.BESIDE
        take_by_level(on, job, missing, down, where)
        return
    on.choice.candidates = 0
    for place in range(on.nodes.first_member[set], on.nodes.first_member[set + 1]):
        suggest(on, job, on.nodes.member[place], where)
    choose_by_key(on.choice, missing)
    use_chosen(on, job)


cdef int64_t take_by_level(
    Places on, int64_t job, int64_t missing, bint down, Where where
) noexcept nogil:
    """Take up to ``missing`` nodes for one part each, level by level; return how many lack.

    KEPT_FIRST: only those that the head keeps.
    """
    cdef int64_t set = on.nodes.set[job], levels = on.size.shape[0], level, word, node, k
    cdef uint64_t bits
    for k in range(levels):
        level = levels - 1 - k if down else k
        if on.size[level] == 0:
            continue
        for word in range(on.level.shape[1]):
            bits = on.level[level, word] & on.members[set, word]
            if where == Where.KEPT_FIRST:
                bits &= on.kept[word]
            elif where == Where.BESIDE:
                bits &= ~on.kept[word]
            while bits != 0:
                if missing == 0:
                    return 0
                node = (word << 6) + lowest_bit(bits)
                bits &= bits - 1
                if serves(on, job, node, where) > 0:
                    use(on, job, node, 1)
                    missing -= 1
    return missing


cdef inline int64_t serves(Places on, int64_t job, int64_t node, Where where) noexcept nogil:
    """Return how many parts of an attempt a node takes; PLANNED: when it is expected to start."""
    if where == Where.PLANNED:
        return on.fitting[node] if on.closed[node] == 0 else 0
    return parts_of(on, on.free, job, node)


cdef inline void use(Places on, int64_t job, int64_t node, int64_t count) noexcept nogil:
    """Add a node to the places of an attempt."""
    cdef int64_t place = on.nodes.first[job] + on.held[job], x
    on.node[place] = node
    for x in range(on.free.shape[0]):
        on.amount[x, place] = count * on.nodes.part[x, job]
    on.held[job] += 1


cdef void suggest(Places on, int64_t job, int64_t node, Where where) noexcept nogil:
    """Add a node, if it takes any part, to the candidates, in the order of their numbers.

    Those with most parts come first.
    """
    cdef int64_t count = serves(on, job, node, where), key = -count
    if count == 0 or (where == Where.BESIDE and is_kept(on, node)):
        return
    if where == Where.KEPT_FIRST and is_kept(on, node):
        key -= FAR
    add_candidate(on.choice, node, count, key)


cdef void use_chosen(Places on, int64_t job) noexcept nogil:
    """Let an attempt use what was chosen."""
    cdef Py_ssize_t k
    for k in range(on.choice.number):
        use(on, job, on.choice.node[k], on.choice.parts[k])


cdef void take_consecutive(Places on, int64_t job, Where where) noexcept nogil:
    """Let an attempt use nodes as Slurm chooses them by default.

    With GPUs, what it would use on a node counts instead of what is free.
    """
    cdef int64_t missing = on.nodes.parts[job], set = on.nodes.set[job], place
    cdef Py_ssize_t c
    on.choice.candidates = 0
    for place in range(on.nodes.first_member[set], on.nodes.first_member[set + 1]):
        suggest(on, job, on.nodes.member[place], where)
    for c in range(on.choice.candidates):
        on.choice.key[c] = max(on.free[0, on.choice.candidate[c]], 0)
        if on.nodes.bound[job]:
            on.choice.key[c] = min(on.choice.count[c], missing) * on.nodes.part[0, job]
    choose_by_runs(on.choice, missing)
    use_chosen(on, job)


cdef void choose_planned(Places on, int64_t job, bint now) noexcept nogil:
    """Choose nodes from those that are ``fitting`` and not ``closed``, to start now or later.

    Later: those with least free now.
    """
    cdef int64_t missing = on.nodes.parts[job], set = on.nodes.set[job], place
    on.held[job] = 0
    if now and on.nodes.consecutive:
        take_consecutive(on, job, Where.PLANNED)
        return
    if on.nodes.most[job] == 1:
        take_by_level(on, job, missing, now and on.nodes.least_loaded, Where.PLANNED)
        return
    on.choice.candidates = 0
    for place in range(on.nodes.first_member[set], on.nodes.first_member[set + 1]):
        suggest(on, job, on.nodes.member[place], Where.PLANNED)
        if not now and on.choice.candidates > 0:
            on.choice.key[on.choice.candidates - 1] = max(
                on.free[0, on.choice.candidate[on.choice.candidates - 1]], 0
            )
    choose_by_key(on.choice, missing)
    use_chosen(on, job)


# --- what is kept from others --------------------------------------------------------------------


cdef void keep_none(Places on) noexcept nogil:
    """Let no node be kept."""
    on.head = NOBODY
    on.serial += 1
    on.kept[:] = 0


cdef void keep_home(Places on, int64_t job) noexcept nogil:
    """Keep all nodes of an attempt's partition from those behind it."""
    cdef int64_t word
    for word in range(on.kept.shape[0]):
        on.kept[word] |= on.members[on.nodes.wide[job], word]


# --- what is free later --------------------------------------------------------------------------


cdef void see_nodes_ahead(Places on, int64_t job) noexcept nogil:
    """Let ``later`` be what is free now, and ``total`` the parts of an attempt that fit in it."""
    cdef int64_t set = on.nodes.set[job], place, node
    on.later[:] = on.free
    on.total = 0
    on.fitting[:] = NOBODY  # not in the set
    for place in range(on.nodes.first_member[set], on.nodes.first_member[set + 1]):
        node = on.nodes.member[place]
        on.fitting[node] = parts_of(on, on.later, job, node)
        on.total += on.fitting[node]


cdef void add_nodes_ahead(Places on, int64_t holder, int64_t sign, int64_t job) noexcept nogil:
    """Return what a holder uses to what is free later (1), or take it (−1)."""
    cdef int64_t first = on.nodes.first[holder], place, node, count, x
    for place in range(first, first + on.held[holder]):
        node = on.node[place]
        for x in range(on.free.shape[0]):
            on.later[x, node] += sign * on.amount[x, place]
        if on.fitting[node] != NOBODY and (sign < 0 or on.fitting[node] < on.nodes.most[job]):
            count = parts_of(on, on.later, job, node)
            on.total += count - on.fitting[node]
            on.fitting[node] = count


cdef void sum_nodes(
    Places on, Steps steps, int64_t step, int64_t now, int64_t[::1] total
) noexcept nogil:
    """Write what is free on all nodes together once the steps up to now are taken."""
    cdef int64_t x, node, holder, place, sign
    for x in range(on.free.shape[0]):
        total[x] = 0
        for node in range(on.free.shape[1]):
            total[x] += on.free[x, node]
    while step < steps.number and steps.time[step] <= now:
        holder, sign = steps.holder[step], 1 if steps.ends[step] else -1
        for place in range(on.nodes.first[holder], on.nodes.first[holder] + on.held[holder]):
            for x in range(on.free.shape[0]):
                total[x] += sign * on.amount[x, place]
        step += 1

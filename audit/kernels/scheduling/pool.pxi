# The state of a simulated pool: what is free, which attempts run, which wait.
#
# The arrays of a ``Pool`` are allocated once and used for many simulations. Running attempts are in
# ``run_…``, by expected end. Queued attempts are in ``queue_…`` between ``state.head`` and
# ``state.tail``, in the order in which they are served. A started attempt leaves a gap, which fits
# nowhere, until most of the queue is gaps.


cdef extern from *:
    const int64_t HUGE "(INT64_C(1) << 62)"  # what a gap requests
    const int64_t OUT_OF_ORDER "(-(INT64_C(1) << 62))"


cdef enum:
    GAP = -1  # in queue_job
    UNKNOWN = -1  # State.shadow
    UNPLANNED = -1  # Pool.plan: not yet planned,
    LOST = -2  # or planned, but a limit forbade the start
    SLOTS = 32  # shapes whose ``ready`` is kept


cdef enum Where:
    """On which nodes an attempt starts."""
    ANYWHERE
    KEPT_FIRST  # on those that the head keeps, as far as it fits there
    BESIDE  # only on others
    PLANNED  # as planned


cdef enum Charging:
    """What the ledger records when an attempt starts."""
    NOTHING_CHARGED
    CHARGED
    BOOKED


cdef enum Bounds:
    """What is known of a block of places."""
    STALE  # nothing
    LOOSE  # bounds, some of which are too low because their attempt has left
    TIGHT


cdef struct State:
    int64_t now
    int64_t step  # number of steps taken
    int64_t arriving  # index of the next attempt to arrive
    int64_t until  # index behind the last one that does
    # Running attempts:
    int64_t running  # their number
    int64_t next_end  # when the first of them ends, or NEVER
    int64_t entered  # ends up to then are in the ledger already
    # Queued attempts:
    int64_t head  # the first place that is not a gap, if any attempt is queued
    int64_t tail  # the place behind the last one
    int64_t waiting  # their number, without gaps
    int64_t returning  # number of preempted attempts that are not in the queue yet
    int64_t sorted_for  # the instant (or tick) for which the queue is in order, or OUT_OF_ORDER
    int64_t freed  # CONSERVATIVE: what was freed since the last compression is free until then
    # The purpose of the simulation:
    int64_t target  # stop when this attempt has started, or NOBODY
    int64_t ghost  # this attempt leaves the queue at its start and occupies nothing, or NOBODY
    Charging charging
    # Passes and windows:
    int64_t due  # when the next pass is, if anything has happened since the last one, or NEVER
    int64_t served  # when the last pass from the front was,
    int64_t serves  # and when the next one is, if anything has happened since, or NEVER
    int64_t before  # the last instant; passes are ``shift`` later than the rules say
    int64_t shift
    bint news  # whether anything ended early, or capacity stepped, since the last pass
    int64_t edge  # index of the next edge of a window,
    int64_t delay  # and its shift
    int64_t quiet  # wait for edges until then if nothing else is to come; NEVER: something is
    int64_t soonest  # CONSERVATIVE: the first planned start, or NEVER
    # Passes by rank skip attempts that the last pass could not start:
    int64_t fresh  # the first place that may have changed since; 0: more may be free
    int64_t shadow  # EASY: of the head, if ``spare`` holds too; NEVER: none; or UNKNOWN


def _bits(first, member, words):
    """Return sets of nodes as bits."""
    bits = np.zeros((len(first) - 1, words), np.uint64)
    for number in range(len(first) - 1):
        nodes = member[first[number] : first[number + 1]]
        np.bitwise_or.at(bits[number], nodes >> 6, np.uint64(1) << (nodes & 63).astype(np.uint64))
    return bits


cdef class Places:
    """What attempts use on the nodes of a pool, and what is free there; see ``nodes.pxi``."""
    cdef Nodes nodes
    cdef int64_t[:, ::1] free  # resources × N, now; may be negative
    cdef uint64_t[:, ::1] level  # levels × words: the nodes on each
    cdef int64_t[::1] size  # [levels], their number
    cdef uint64_t[:, ::1] members  # sets × words
    cdef int64_t[:, ::1] later  # the same as expected at a later instant
    cdef int64_t total  # parts of an attempt that fit in ``later``
    cdef int64_t[::1] held  # [holders], the number of nodes that each uses or plans to use
    cdef int64_t[::1] node  # [places], these nodes
    cdef int64_t[:, ::1] amount  # resources × places
    cdef int64_t returns  # how often anything was returned
    cdef int64_t changes  # how often anything was taken or returned
    cdef int64_t[::1] full  # [shapes], ``returns`` when it did not fit
    # EASY: the head, its shadow, and the nodes that it keeps, until anything is returned.
    cdef int64_t head
    cdef int64_t shadow
    cdef int64_t since  # the value of ``returns``
    cdef uint64_t[::1] kept  # [words]
    cdef int64_t serial  # number of this choice
    cdef int64_t[::1] full_beside  # [shapes], ``serial`` when it did not fit beside it
    # Nodes from which some are chosen: those with the least key first.
    cdef int64_t candidates
    cdef int64_t[::1] candidate
    cdef int64_t[::1] count  # parts that fit there
    cdef int64_t[::1] key
    # Plans: when they begin and end, and on which nodes, both ascending in time.
    cdef int64_t plans
    cdef int64_t[::1] begins
    cdef int64_t[::1] begins_on
    cdef int64_t[::1] ends
    cdef int64_t[::1] ends_on
    # When how many more parts of an attempt fit on which nodes, beside running attempts. The last
    # slot is for attempts with several parts on a node; others have the slot of their shape.
    cdef int64_t[::1] slot_shape  # [SLOTS + 1]
    cdef int64_t[::1] slot_changes  # [SLOTS + 1], the value of ``changes``
    cdef int64_t[::1] slot_end
    cdef int64_t[::1] slot_ended  # running attempts that have been considered
    cdef int64_t[:, ::1] slot_later  # resources × (N of each slot), what is free then
    cdef int64_t[::1] slot_parts  # parts that fit then
    cdef int64_t[::1] ready
    cdef int64_t[::1] ready_on
    cdef int64_t[::1] ready_parts
    cdef int64_t[::1] fitting  # [N], parts that fit at an instant
    cdef int64_t[::1] closed  # [N], plans that forbid a start at an instant

    def __init__(self, Nodes nodes not None, int64_t attempts):
        count, resources = nodes.capacity.shape[1], nodes.capacity.shape[0]
        shapes = int(np.max(nodes.shape, initial=-1)) + 1
        rooms = np.sort(np.diff(nodes.first))[::-1]
        places = int(rooms[:attempts].sum())
        width = (SLOTS + 1) * count + places
        self.nodes = nodes
        self.free, self.later = np.zeros((2, resources, count), np.int64)
        self.held = np.array(nodes.held)
        self.node, self.amount = np.array(nodes.node), np.array(nodes.amount)
        self.full, self.full_beside = np.zeros((2, shapes), np.int64)
        words, levels = (count >> 6) + 1, int(np.max(nodes.capacity[:1], initial=0)) + 1
        self.kept, self.level = np.zeros(words, np.uint64), np.zeros((levels, words), np.uint64)
        self.size = np.zeros(levels, np.int64)
        self.members = _bits(np.array(nodes.first_member), np.array(nodes.member), words)
        self.candidate, self.count, self.key, self.fitting, self.closed = np.zeros(
            (5, count), np.int64
        )
        self.begins, self.begins_on, self.ends, self.ends_on = np.zeros((4, places), np.int64)
        self.slot_shape, self.slot_changes, self.slot_end, self.slot_ended = np.zeros(
            (4, SLOTS + 1), np.int64
        )
        self.slot_later = np.zeros((resources, (SLOTS + 1) * count), np.int64)
        self.slot_parts = np.zeros((SLOTS + 1) * count, np.int64)
        self.ready, self.ready_on, self.ready_parts = np.zeros((3, width), np.int64)
        self.returns = self.changes = self.serial = 1  # no stamp is valid
        self.head = NOBODY


cdef class Pool:
    """A simulated pool, with space for the attempts that are in it at one time."""
    cdef State state
    cdef bint by_nodes  # whether nodes decide what fits
    cdef Places places  # then ``free`` is a bound: the sum over nodes on which some is free
    cdef int64_t[::1] free  # [resources], now; may be negative
    cdef int64_t[::1] spare  # EASY: what the head leaves at the shadow; else working space
    cdef int64_t[::1] used  # [counters] of limits
    cdef int64_t[::1] run_expected  # expected end
    cdef int64_t[::1] run_end  # actual end
    cdef int64_t[::1] run_job
    cdef int64_t[:, ::1] run_request
    cdef int64_t[::1] queue_job  # or GAP
    cdef int64_t[::1] queue_estimate
    cdef int64_t[::1] queue_width
    cdef int64_t[:, ::1] queue_request
    cdef int64_t[::1] plan  # CONSERVATIVE: planned start, NEVER, UNPLANNED or LOST; gap: NEVER
    cdef int64_t[::1] freed  # as ``state.freed``, by what those behind this place gave up
    # Bounds of each block of 2^block_bits places: passes skip blocks where nothing can start.
    # Where an attempt has left, they may be lower than necessary.
    cdef uint8_t[::1] bounds  # [blocks], whether the next two hold
    cdef int64_t[:, ::1] shortest  # WIDTHS × blocks, the least estimate up to each width
    cdef int64_t[::1] least  # [blocks], the least request of the first resource
    cdef int64_t block_bits
    cdef int64_t long_queue  # places that take longer to examine than to bound
    cdef int64_t few_gaps  # gaps that take longer to close than to examine
    cdef int64_t[::1] order  # [places], working space
    cdef int64_t[::1] scratch  # [places], working space
    cdef int64_t[::1] return_job  # preempted attempts, and when each joins the queue again
    cdef int64_t[::1] return_at
    cdef int64_t[::1] times  # [attempts] or none, how often each gave way
    cdef Profile profile
    cdef Ledger ledger
    cdef int64_t[::1] begun  # [attempts], gets the start of each attempt that starts
    cdef int64_t[::1] promised  # [attempts] or none, gets the first plan of each attempt
    cdef int64_t[::1] first_begun  # [attempts] or none, gets the first start of each attempt

    def __init__(
        self, *, int64_t resources, int64_t attempts, int64_t steps, int64_t counters,
        Nodes nodes not None, Ledger ledger not None, begun, promised, first_begun,
        int64_t block_bits=6, int64_t long_queue=192, int64_t few_gaps=8
    ):
        cdef int64_t places = attempts + 2, blocks = (places >> block_bits) + 2
        self.by_nodes, self.places = nodes.capacity.shape[1] > 0, Places(nodes, attempts)
        self.free, self.spare = np.zeros((2, resources), np.int64)
        self.used = np.zeros(counters, np.int64)
        self.run_expected, self.run_end, self.run_job = np.zeros((3, places), np.int64)
        self.queue_job, self.queue_estimate, self.queue_width = np.zeros((3, places), np.int64)
        self.run_request, self.queue_request = np.zeros((2, resources, places), np.int64)
        self.plan, self.freed, self.order, self.scratch = np.zeros((4, places), np.int64)
        self.bounds = np.zeros(blocks, np.uint8)
        self.shortest = np.zeros((WIDTHS, blocks), np.int64)
        self.least = np.zeros(blocks, np.int64)
        self.block_bits, self.long_queue, self.few_gaps = block_bits, long_queue, few_gaps
        self.profile = Profile(resources, 4 * places + 2 * steps + 8)
        self.return_job, self.return_at = np.zeros((2, places), np.int64)
        self.ledger, self.begun, self.promised = ledger, begun, promised
        self.first_begun, self.times = first_begun, np.zeros(len(first_begun), np.int64)


cdef inline int64_t expected_end(Pool pool, int64_t r) noexcept nogil:
    """Return when a running attempt is expected to end: after now, as it still runs."""
    return max(pool.run_expected[r], pool.state.now + 1)


cdef inline bint fits_free(Pool pool, int64_t i) noexcept nogil:
    """Return whether the attempt queued at place ``i`` fits in what is free now."""
    if pool.by_nodes:
        return fits_nodes(pool.places, pool.queue_job[i])
    return fits(pool.queue_request, i, pool.free)


cdef inline bint fits_now(Pool pool, int64_t job, Jobs jobs) noexcept nogil:
    """Return whether an attempt fits in what is free now."""
    if pool.by_nodes:
        return fits_nodes(pool.places, job)
    return fits(jobs.request, job, pool.free)


cdef inline void take_or_return(Pool pool, int64_t job, int64_t sign, Jobs jobs) noexcept nogil:
    """Return the request of an attempt to what is free (1), or take it (−1)."""
    if pool.by_nodes:
        move_nodes(pool.places, pool.free, job, sign)
    else:
        add(pool.free, jobs.request, job, sign)


cdef inline bint forbids(Pool pool, int64_t k, int64_t job, Jobs jobs) noexcept nogil:
    """Return whether element ``k`` of the limits forbids its attempt to start."""
    cdef int64_t counter = jobs.limits.counter[k], asked
    if not jobs.limits.remaining[counter]:
        return exceeds(jobs.limits, k, pool.used)
    asked = jobs.limits.amount[k] * jobs.estimate[job]
    return jobs.limits.binding[k] and asked + remaining(pool, counter, jobs.limits) > jobs.limits.most[counter]


cdef int64_t remaining(Pool pool, int64_t counter, Limits limits) noexcept nogil:
    """Return the remaining amount × time of a counter, by expected ends; blocked attempts do not count."""
    cdef int64_t total = pool.used[counter], k, r, job, left
    for r in range(pool.state.running):
        job, left = pool.run_job[r], pool.run_expected[r] - pool.state.now
        if left > 0:
            for k in range(limits.first[job], limits.first[job + 1]):
                if limits.counter[k] == counter:
                    total += limits.amount[k] * left
    return total


cdef inline bint may_start(Pool pool, int64_t i, Jobs jobs) noexcept nogil:
    """Return whether limits and windows allow the attempt at place ``i``, no gap, to start now."""
    cdef int64_t k, job = pool.queue_job[i]
    if pool.used.shape[0] > 0:
        for k in range(jobs.limits.first[job], jobs.limits.first[job + 1]):
            if forbids(pool, k, job, jobs):
                return False
    return True


cdef inline bint may_start_but_late(Pool pool, int64_t i, Jobs jobs) noexcept nogil:
    """Return whether only limits on resources forbid the attempt at place ``i`` to start now."""
    cdef int64_t k, job = pool.queue_job[i]
    for k in range(jobs.limits.first[job], jobs.limits.first[job + 1]):
        if not jobs.limits.late[jobs.limits.counter[k]] and forbids(pool, k, job, jobs):
            return False
    return True


cdef inline void count(Pool pool, int64_t job, int64_t sign, Limits limits) noexcept nogil:
    """Add ``sign`` times an attempt's amounts to its counters."""
    cdef int64_t k
    if pool.used.shape[0] > 0:
        for k in range(limits.first[job], limits.first[job + 1]):
            if not limits.remaining[limits.counter[k]]:
                pool.used[limits.counter[k]] += sign * limits.amount[k]


cdef inline int64_t add_steps(
    Steps steps, int64_t step, int64_t instant, int64_t[::1] free
) noexcept nogil:
    """Add the steps from index ``step`` to an instant to ``free``; return the index behind them."""
    while step < steps.number and steps.time[step] <= instant:
        add(free, steps.change, step, 1)
        step += 1
    return step


cdef inline int64_t pass_steps(Pool pool, Steps steps) noexcept nogil:
    """Take or return what steps do up to now; return the index behind them."""
    cdef int64_t step = pool.state.step
    if not pool.by_nodes:
        return add_steps(steps, step, pool.state.now, pool.free)
    while step < steps.number and steps.time[step] <= pool.state.now:
        move_nodes(pool.places, pool.free, steps.holder[step], 1 if steps.ends[step] else -1)
        step += 1
    return step


cdef inline void take_steps(Pool pool, Model model) noexcept nogil:
    """Take the steps up to now, and count the blocked attempts that begin or end with them."""
    cdef State *state = &pool.state
    cdef int64_t first = state.step, sign, step
    state.step = pass_steps(pool, model.steps)
    if state.step > first:
        state.fresh = 0
        pool.places.head = NOBODY  # the nodes that it keeps may be among those taken
    for step in range(first, state.step):
        if model.steps.job[step] != NOBODY:
            sign = -1 if model.steps.ends[step] else 1
            count(pool, model.steps.job[step], sign, model.jobs.limits)


cdef inline void let_edges_pass(Pool pool, Limits limits) noexcept nogil:
    """Open and close windows up to now."""
    cdef State *state = &pool.state
    while edge_at(limits.edges, state.edge, state.delay) <= state.now:
        pool.used[limits.edges.counter[state.edge]] += limits.edges.change[state.edge]
        state.edge += 1
        if state.edge == limits.edges.time.shape[0] and limits.edges.cycle > 0:
            state.edge -= limits.edges.cycle
            state.delay += limits.edges.period


cdef void reset(Pool pool, const int64_t[::1] capacity) noexcept nogil:
    """Make a pool empty."""
    cdef State *state = &pool.state
    memset(state, 0, sizeof(State))
    state.next_end = state.due = state.quiet = state.soonest = NEVER
    state.served, state.serves = -AFTER_ALL, NEVER
    state.target = state.ghost = NOBODY
    state.entered = -NEVER
    pool.used[:] = 0
    move(pool.free, 0, capacity, 0, capacity.shape[0])
    if pool.by_nodes:
        empty_nodes(pool.places)


cdef void move_running(
    Pool target, int64_t to, Pool source, int64_t first, int64_t number
) noexcept nogil:
    """Copy ``number`` running attempts from place ``first`` on; the ranges may overlap."""
    move(target.run_expected, to, source.run_expected, first, number)
    move(target.run_end, to, source.run_end, first, number)
    move(target.run_job, to, source.run_job, first, number)
    move_rows(target.run_request, to, source.run_request, first, number)


cdef void hold(Pool pool, int64_t job, int64_t expected, int64_t end, Jobs jobs) noexcept nogil:
    """Enter a running attempt, and take its request from what is free."""
    cdef State *state = &pool.state
    cdef int64_t i = state.running
    take_or_return(pool, job, -1, jobs)
    while i > 0 and pool.run_expected[i - 1] > expected:
        i -= 1
    move_running(pool, i + 1, pool, i, state.running - i)
    pool.run_expected[i], pool.run_end[i], pool.run_job[i] = expected, end, job
    copy_column(pool.run_request, i, jobs.request, job)
    state.running += 1
    state.next_end = min(state.next_end, end)
    count(pool, job, 1, jobs.limits)


cdef void release(Pool pool, Jobs jobs) noexcept nogil:
    """Free what has ended by now."""
    cdef State *state = &pool.state
    cdef int64_t running = state.running, now = state.now, kept = 0, next_end = NEVER, i
    cdef int64_t first = 0  # of those that stay, and may not be in their place
    for i in range(running):
        if pool.run_end[i] > now:
            next_end = min(next_end, pool.run_end[i])
        else:
            if pool.by_nodes:
                move_nodes(pool.places, pool.free, pool.run_job[i], 1)
            else:
                add(pool.free, pool.run_request, i, 1)
            count(pool, pool.run_job[i], -1, jobs.limits)
            if first > kept:
                move_running(pool, kept, pool, first, i - first)
            kept += i - first
            first = i + 1
    if first > kept:
        move_running(pool, kept, pool, first, running - first)
    state.running = kept + running - first
    state.next_end = next_end
    state.fresh = 0


cdef void find_next_end(Pool pool) noexcept nogil:
    """Find when the first running attempt ends."""
    cdef int64_t i
    pool.state.next_end = NEVER
    for i in range(pool.state.running):
        pool.state.next_end = min(pool.state.next_end, pool.run_end[i])

# What the walk is given: the attempts of a pool, its events and its rules.


cdef enum:
    UNKNOWN = 0  # number of an unknown user: no attempt is known to belong to it
    NOBODY = -1
    FITS = -1  # instead of the short resource
    EXCEEDS = -2
    SCATTERED = -3  # enough is free, but on no set of nodes


# The order of ``audit.metrics.waits.walk.BOOKED``.
cdef enum:
    HELD, UNAVAILABLE, RULE, RULE_FREE, OWN_QUEUED, OWN_RUNNING, KEPT_OWN
    CLAIMED, KEPT, EARLIER, LATER, CYCLE, UNEXPLAINED, NODES
    CAUSES  # their number
    LAPSED = CAUSES  # of a traced attempt: unexplained, after it lapsed; rule k is LAPSED + 1 + k


cdef enum:
    RECORDED = 1  # a hold was recorded when it left the queue
    TRACED = 2  # every stretch of its wait is kept, not only holds and rules


cdef enum Hold:
    # What is recorded of a stretch of a wait, but for rules.
    NOTHING = -3
    AS_PLANNED = -2  # the scheduler planned a later start
    AS_HELD = -1
    SPAN = 5  # numbers of a stretch


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class WaitLog:
    """The attempts of a pool in their order: queued over [arrival, leave), running over [start, end).

    No arrival is before the log begins. The orders leave out attempts without such a span.
    """

    cdef const int32_t[::1] came  # [attempts]: places in (arrival, submit, sequence), each once
    cdef readonly const int64_t[::1] arrival
    cdef const int64_t[::1] leave
    cdef const int64_t[::1] start
    cdef const int64_t[::1] end
    cdef const int64_t[::1] estimate  # ≥ 1
    cdef const int32_t[::1] user  # from 1 on, or 0: unknown
    cdef const int64_t[:, ::1] request  # resources × attempts, ≥ 0: what each waits for
    cdef const int64_t[:, ::1] use  # the same while it runs
    cdef readonly const int32_t[::1] alike  # [attempts]: number of the class, by request; NOBODY: never waits
    cdef const int32_t[::1] block  # equal numbers of neighbours in by_arrival: one block, also in ``came``
    cdef const int64_t[::1] cycle  # from then on it may wait for the next pass; NEVER: not
    cdef const uint8_t[::1] flags  # sums of RECORDED and TRACED
    cdef const int32_t[::1] first_hold  # its holds are [first_hold, last_hold) of the pool's
    cdef const int32_t[::1] last_hold
    cdef const int32_t[::1] by_arrival  # of those that wait: ascending
    cdef const int32_t[::1] by_leave  # of the same
    cdef const int32_t[::1] by_cycle  # of the same, those with an instant of the cycle in the wait
    cdef const int32_t[::1] by_start
    cdef const int32_t[::1] by_end
    cdef const int32_t[::1] by_planned  # those that run beyond their planned end, by it
    cdef readonly const int32_t[::1] starters  # all that start since the log begins, by start and order
    cdef const int32_t[::1] due  # [attempts]: place in ``expected`` of the expected end
    cdef const int64_t[::1] expected  # different expected ends, ascending


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class LogCourse:
    """Events of the pool itself."""

    cdef int64_t begin  # where the log begins
    cdef const int64_t[::1] step  # when the capacity changes, ascending
    cdef const int64_t[:, ::1] change  # steps × resources
    cdef const int64_t[::1] cut  # further instants at which something changes, ascending
    cdef const int64_t[::1] held  # [holds], the attempt
    cdef const int64_t[::1] hold_from
    cdef const int64_t[::1] hold_to
    cdef const int64_t[::1] hold_as  # the number of a recorded rule, or one of ``Hold``
    cdef const int64_t[::1] by_hold  # the holds that last, by their begin and by their end
    cdef const int64_t[::1] by_release
    cdef const int64_t[::1] first_outage  # parts + 1: the outages of each part of the machine
    cdef const int64_t[::1] outage_from  # ascending in each part
    cdef const int64_t[::1] outage_to


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class Ruled:
    """Limits, then windows; L and W may be 0."""

    cdef const int64_t[:, ::1] counter  # L × attempts: what counts it, or −1: not in the scope
    cdef const int64_t[:, ::1] amount  # L × attempts: what it adds while it runs
    cdef const uint8_t[::1] remaining  # L: whether amounts count × what is left of ``length``
    cdef const int64_t[::1] length  # [attempts], s ≥ 1: the walltime
    cdef const int64_t[:, ::1] binding  # L × attempts: 0: it counts, but the limit does not hold it
    cdef const int64_t[::1] most  # L
    cdef const int64_t[::1] valid_from  # L
    cdef const int64_t[::1] valid_to  # L
    cdef const int64_t[:, ::1] reach  # W × attempts: how far it must end before a closing; 0: none
    cdef const int64_t[::1] first_span  # W + 1: the closed spans of each window
    cdef const int64_t[::1] span_from
    cdef const int64_t[::1] span_to
    cdef Py_ssize_t counters
    cdef Py_ssize_t recorded  # rules without a bound: ``LogCourse.hold_as`` says when they forbid


cdef inline bint is_held(WaitLog log, LogCourse course, int64_t i, int64_t at) noexcept nogil:
    """Return whether a known hold of attempt ``i`` lasts at an instant."""
    return _recorded_as(log, course, i, at, AS_HELD, AS_HELD) != NOTHING


cdef inline int64_t recorded_rule(WaitLog log, LogCourse course, int64_t i, int64_t at) noexcept nogil:
    """Return the number of the rule that is recorded to forbid attempt ``i``, or NOTHING."""
    return _recorded_as(log, course, i, at, 0, NEVER)


cdef inline bint is_planned(WaitLog log, LogCourse course, int64_t i, int64_t at) noexcept nogil:
    """Return whether the scheduler's own plan starts attempt ``i`` later than an instant."""
    return _recorded_as(log, course, i, at, AS_PLANNED, AS_PLANNED) != NOTHING


cdef inline int64_t _recorded_as(
    WaitLog log, LogCourse course, int64_t i, int64_t at, int64_t low, int64_t high
) noexcept nogil:
    cdef Py_ssize_t hold
    for hold in range(log.first_hold[i], log.last_hold[i]):
        if course.hold_from[hold] <= at < course.hold_to[hold] and low <= course.hold_as[hold] <= high:
            return course.hold_as[hold]
    return NOTHING


cdef int64_t MOST = NEVER // 2  # amounts × time end here


@cython.final
cdef class Counting:
    """What limits count, and which closed span comes next."""

    cdef int64_t[::1] running  # [counters]
    cdef double[::1] planned  # [counters]: Σ amount × planned end, of limits of remaining time
    cdef int64_t[::1] claimed  # [counters]: by claims of the walk, valid if the stamp is the walk's
    cdef int64_t[::1] stamp
    cdef int64_t[::1] span  # [W]: the closed span at or after the instant
    cdef int64_t walk

    def __cinit__(self, Ruled rules):
        """Count nothing."""
        self.running, self.claimed, self.stamp = np.zeros((3, rules.counters), np.int64)
        self.planned = np.zeros(rules.counters)
        self.span = np.array(rules.first_span[: rules.first_span.shape[0] - 1])
        self.walk = 0


cdef inline bint is_forbidden(Ruled rules, Counting counting, int64_t i, int64_t at) noexcept nogil:
    """Return whether a rule forbids attempt ``i``, given what runs and what has claimed."""
    cdef Py_ssize_t rule
    for rule in range(rules.most.shape[0] + counting.span.shape[0]):
        if forbids(rules, counting, rule, i, at):
            return True
    return False


cdef inline bint forbids(
    Ruled rules, Counting counting, Py_ssize_t rule, int64_t i, int64_t at
) noexcept nogil:
    """Return whether a rule (limits, then windows) forbids attempt ``i``."""
    cdef Py_ssize_t window = rule - rules.most.shape[0]
    cdef int64_t span
    if window >= 0:
        span = counting.span[window]
        if rules.reach[window, i] == 0 or span == rules.first_span[window + 1]:
            return False
        return rules.span_from[span] < at + rules.reach[window, i]
    return allowed(rules, counting, rule, i, at) <= 0


cdef inline int64_t allowed(
    Ruled rules, Counting counting, Py_ssize_t rule, int64_t i, int64_t at
) noexcept nogil:
    """Return how many attempts equal to ``i`` a limit allows; NEVER: any number."""
    cdef int64_t counter = rules.counter[rule, i], room
    cdef double level, adds
    if counter < 0 or not rules.binding[rule, i]:
        return NEVER
    if not rules.valid_from[rule] <= at < rules.valid_to[rule]:
        return NEVER
    if rules.remaining[rule]:
        level = counting.planned[counter] - <double> counting.running[counter] * at
        adds = <double> rules.amount[rule, i] * rules.length[i]
        if level + adds > rules.most[rule]:
            return 0
        room = rules.most[rule] - <int64_t> level
    else:
        room = rules.most[rule] - counting.running[counter]
    if counting.stamp[counter] == counting.walk:
        room -= counting.claimed[counter]
    return room // adds_of(rules, rule, i) if room > 0 else 0


cdef inline int64_t adds_of(Ruled rules, Py_ssize_t rule, int64_t i) noexcept nogil:
    """Return what attempt ``i`` adds to a limit when it starts, at most ``MOST``."""
    if not rules.remaining[rule]:
        return rules.amount[rule, i]
    return <int64_t> min(<double> rules.amount[rule, i] * rules.length[i], MOST)


cdef inline void count_running(
    Ruled rules, Counting counting, int64_t i, int64_t start, bint overdue, int64_t sign
) noexcept nogil:
    """Count attempt ``i``, which starts (1) or ends (−1), also later than planned."""
    cdef Py_ssize_t rule
    for rule in range(rules.most.shape[0]):
        if not rules.remaining[rule]:
            if rules.counter[rule, i] >= 0:
                counting.running[rules.counter[rule, i]] += sign * rules.amount[rule, i]
        elif sign > 0 or not overdue:
            count_planned(rules, counting, rule, i, start, sign)


cdef inline void count_planned(
    Ruled rules, Counting counting, Py_ssize_t rule, int64_t i, int64_t start, int64_t sign
) noexcept nogil:
    """Count what attempt ``i`` adds to a limit of remaining time (1), or no longer adds (−1)."""
    cdef int64_t counter = rules.counter[rule, i], amount
    if counter >= 0:
        amount = sign * rules.amount[rule, i]
        counting.running[counter] += amount
        counting.planned[counter] += <double> amount * (start + rules.length[i])


cdef inline void count_claims(Ruled rules, Counting counting, int64_t i, int64_t count) noexcept nogil:
    """Count claims of attempts equal to ``i``."""
    cdef Py_ssize_t rule
    cdef int64_t counter, adds
    for rule in range(rules.most.shape[0]):
        counter = rules.counter[rule, i]
        if counter >= 0:
            if counting.stamp[counter] != counting.walk:
                counting.stamp[counter] = counting.walk
                counting.claimed[counter] = 0
            adds = adds_of(rules, rule, i)
            if <double> count * adds + counting.claimed[counter] > MOST:  # no limit binds it
                counting.claimed[counter] = MOST
            else:
                counting.claimed[counter] += count * adds


cdef void move_spans(Ruled rules, Counting counting, int64_t now) noexcept nogil:
    """Move on to the closed spans at or after ``now``."""
    cdef Py_ssize_t w
    for w in range(counting.span.shape[0]):
        while (
            counting.span[w] < rules.first_span[w + 1]
            and rules.span_to[counting.span[w]] <= now
        ):
            counting.span[w] += 1

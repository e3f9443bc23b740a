"""The use of a pool's nodes by attempts."""

from libc.stdint cimport int64_t, uint64_t

from audit.kernels.choice cimport Choice
from audit.kernels.rows cimport parts_on
from audit.kernels.scheduling.model cimport NOBODY, NodeFacts, Steps


cdef enum:
    SLOTS = 32  # shapes whose ``ready`` is kept


cdef extern from *:
    int64_t lowest_bit "__builtin_ctzll"(uint64_t) nogil


cdef enum Where:
    """On which nodes an attempt starts."""
    ANYWHERE
    KEPT_FIRST  # on those that the head keeps, as far as it fits there
    BESIDE  # only on others
    PLANNED  # as planned


cdef class Places:
    cdef NodeFacts nodes
    cdef int64_t[:, ::1] free  # resources × N, now; may be negative
    cdef int64_t[::1] sum  # [resources], of what is free where any is
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
    cdef Choice choice
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


cdef void empty_nodes(Places on) noexcept nogil
cdef void move_nodes(Places on, int64_t holder, int64_t sign) noexcept nogil
cdef void recall_nodes(Places on, int64_t job) noexcept nogil
cdef void copy_nodes(
    Places of, Places to, const int64_t[::1] running, int64_t number
) noexcept nogil
cdef void copy_places(Places of, Places to, int64_t job) noexcept nogil
cdef bint parts_fit(Places on, int64_t job, bint beside) noexcept nogil
cdef bint fits_held(Places on, int64_t job) noexcept nogil
cdef void choose_nodes(Places on, int64_t job, Where where) noexcept nogil
cdef void choose_planned(Places on, int64_t job, bint now) noexcept nogil
cdef void keep_none(Places on) noexcept nogil
cdef void keep_home(Places on, int64_t job) noexcept nogil
cdef void see_nodes_ahead(Places on, int64_t job) noexcept nogil
cdef void add_nodes_ahead(Places on, int64_t holder, int64_t sign, int64_t job) noexcept nogil
cdef void sum_nodes(
    Places on, Steps steps, int64_t step, int64_t now, int64_t[::1] total
) noexcept nogil


cdef inline int64_t parts_of(
    Places on, const int64_t[:, ::1] free, int64_t job, int64_t node
) noexcept nogil:
    """Return how many parts of an attempt fit on a node."""
    return parts_on(on.nodes.part, job, on.nodes.most[job], free, node, NOBODY)


cdef inline bint fits_nodes(Places on, int64_t job) noexcept nogil:
    """Return whether an attempt fits in what is free now.

    An attempt that does not fit will not until something is returned.
    """
    cdef int64_t shape = on.nodes.shape[job]
    if on.full[shape] == on.returns:
        return False
    if parts_fit(on, job, False):
        return True
    on.full[shape] = on.returns
    return False


cdef inline bint fits_beside(Places on, int64_t job) noexcept nogil:
    """Return whether an attempt fits beside the nodes that the head keeps."""
    cdef int64_t shape = on.nodes.shape[job]
    if on.full_beside[shape] == on.serial:
        return False
    if parts_fit(on, job, True):
        return True
    on.full_beside[shape] = on.serial
    return False


cdef inline bint is_kept(Places on, int64_t node) noexcept nogil:
    """Return whether the head keeps a node."""
    return (on.kept[node >> 6] >> (node & 63)) & 1

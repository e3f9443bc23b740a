"""What a simulation enters in the ledger of owners, for the orders that depend on them."""

from audit.kernels.scheduling.model cimport NOBODY, Jobs, Order, by_owner
from audit.kernels.scheduling.multifactor cimport book_end, book_start, open_accounts
from audit.kernels.scheduling.owners cimport charge_owner, open_ledger
from audit.kernels.scheduling.pool cimport (
    BOOKED,
    CHARGED,
    NOTHING_CHARGED,
    OUT_OF_ORDER,
    State,
)


cdef void open_books(Pool pool, Model model, int64_t since) noexcept nogil:
    """Begin the ledger of a simulation that continues the observed schedule at ``since``.

    The steps taken so far are those that planners were shown (``foresee``). What their blocked
    attempts hold since then, or gave back, is entered too.
    """
    cdef State *state = &pool.state
    cdef int64_t job, i
    open_ledger(pool.ledger, since)
    state.sorted_for = OUT_OF_ORDER
    state.charging = NOTHING_CHARGED
    if model.rules.order == Order.MULTIFACTOR:
        state.charging = BOOKED
        open_accounts(model.owners.slurm, pool.ledger.books, since)
        for i in range(state.running):
            job = pool.run_job[i]
            book_start(
                pool.ledger.books,
                model.jobs.owner[job],
                model.jobs.charge[job],
                pool.run_end[i] - model.jobs.occupancy[job],
            )
    if model.rules.order == Order.FAIRSHARE:
        state.charging = CHARGED
        for i in range(state.running):
            job = pool.run_job[i]
            charge_owner(pool.ledger, model.jobs.owner[job], model.jobs.charge[job], since)
    if by_owner(model.rules):
        for i in range(state.step):
            enter_blocked(
                pool, model.steps.job[i], model.steps.ends[i], model.steps.time[i], model
            )


cdef void enter_ended(Pool pool, Model model) noexcept nogil:
    """Enter what ends now."""
    cdef int64_t now = pool.state.now, job, i
    for i in range(pool.state.running):
        if pool.run_end[i] <= now:
            job = pool.run_job[i]
            if model.rules.order == Order.FAIRSHARE:
                charge_owner(
                    pool.ledger, model.jobs.owner[job], -model.jobs.charge[job], now
                )
            elif model.rules.order == Order.MULTIFACTOR:
                book_ended(pool, job, pool.run_end[i], model.jobs)
            else:
                count_ended(pool, job, pool.run_end[i], model.jobs)


cdef void enter_blocked(
    Pool pool, int64_t job, bint ends, int64_t time, Model model
) noexcept nogil:
    """Enter a blocked attempt that begins or ends now; NOBODY: nothing is entered."""
    cdef double charge
    cdef int64_t gone
    if job == NOBODY:
        return
    charge = model.jobs.charge[job]
    if model.rules.order == Order.FAIRSHARE:
        charge_owner(
            pool.ledger, model.jobs.owner[job], -charge if ends else charge, pool.state.now
        )
    elif model.rules.order == Order.MULTIFACTOR:
        if ends:
            book_ended(pool, job, time, model.jobs)
        elif model.jobs.occupancy[job] > 0:
            book_start(pool.ledger.books, model.jobs.owner[job], charge, time)
    elif ends:
        gone = time + 1 if model.jobs.occupancy[job] == 0 else time
        if gone > pool.ledger.since:  # else the observed schedule has counted it
            count_ended(pool, job, time, model.jobs)


cdef void book_ended(Pool pool, int64_t job, int64_t end, Jobs jobs) noexcept nogil:
    """Book what an attempt used until it ended; the observed schedule has earlier ends."""
    if jobs.occupancy[job] > 0:
        book_end(
            pool.ledger.books,
            jobs.owner[job],
            jobs.charge[job],
            end - jobs.occupancy[job],
            end,
            end > pool.ledger.since,
        )


cdef void count_ended(Pool pool, int64_t job, int64_t end, Jobs jobs) noexcept nogil:
    """Add what an attempt waited and used to what its owner did."""
    cdef int64_t owner = jobs.owner[job]
    pool.ledger.accounts[owner].waited += end - jobs.occupancy[job] - jobs.arrival[job]
    pool.ledger.accounts[owner].used += jobs.charge[job]
    pool.state.sorted_for = OUT_OF_ORDER

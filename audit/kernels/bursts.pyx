"""The last earlier attempt of the same owner, for runs of submissions (``metrics.bursts``)."""

from libc.stdint cimport int64_t


def last_gone(
    const int64_t[::1] owner, const int64_t[::1] gone, int64_t[::1] latest, int64_t[::1] before
):
    """Write when the last earlier attempt of the same owner was gone.

    Args:
        owner, gone: of each attempt, in order of arrival.
        latest: per owner, the value for its first attempt; overwritten.
        before: written, one element per attempt.
    """
    cdef Py_ssize_t k
    with nogil:
        for k in range(owner.shape[0]):
            before[k] = latest[owner[k]]
            latest[owner[k]] = max(latest[owner[k]], gone[k])

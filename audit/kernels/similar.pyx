"""Distances between a prediction and earlier ones (SPEC §13)."""

from libc.math cimport fabs
from libc.stdint cimport int64_t

cdef double OTHER_FITS = 1.0, OTHER_USER = 1.5, OTHER_PARTITION = 3.0, AGE_S = 100.0 * 86_400.0


def distances(
    const double[:, ::1] measured, const int64_t[:, ::1] labels, const int64_t[::1] made_at,
    int64_t low, int64_t high, int64_t subject, double[::1] out
):
    """Write the distances of the rows from ``low`` up to ``high`` from the row ``subject``.

    Args:
        measured: [rows, features], multiplied by their weights.
        labels: [rows, 3]: whether it fits in free capacity, user, partition.
        made_at: [rows], ascending, epoch s.
        out: [high − low] or longer.
    """
    cdef Py_ssize_t features = measured.shape[1], i, x
    cdef double sum
    with nogil:
        for i in range(low, high):
            sum = (made_at[subject] - made_at[i]) / AGE_S
            for x in range(features):
                sum += fabs(measured[subject, x] - measured[i, x])
            if labels[i, 0] != labels[subject, 0]:
                sum += OTHER_FITS
            if labels[i, 1] != labels[subject, 1]:
                sum += OTHER_USER
            if labels[i, 2] != labels[subject, 2]:
                sum += OTHER_PARTITION
            out[i - low] = sum

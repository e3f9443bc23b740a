"""Nodes from which some are chosen for the parts of an attempt."""

cimport cython
from libc.stdint cimport int64_t


@cython.final
cdef class Choice:
    # Candidates, in the order of their numbers
    cdef Py_ssize_t candidates
    cdef int64_t[::1] candidate
    cdef int64_t[::1] count  # parts that fit there
    cdef int64_t[::1] key
    # Those that were chosen, in this order
    cdef Py_ssize_t number
    cdef int64_t[::1] node
    cdef int64_t[::1] parts


cdef void choose_by_key(Choice choice, int64_t missing) noexcept nogil
cdef void choose_by_runs(Choice choice, int64_t missing) noexcept nogil


cdef inline void add_candidate(
    Choice choice, int64_t node, int64_t count, int64_t key
) noexcept nogil:
    """Add a node, behind those with a lower number."""
    choice.candidate[choice.candidates] = node
    choice.count[choice.candidates] = count
    choice.key[choice.candidates] = key
    choice.candidates += 1

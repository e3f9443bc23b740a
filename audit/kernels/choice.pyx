"""Choose nodes for the parts of an attempt (SPEC §12)."""

cimport cython
import numpy as np
from libc.stdint cimport INT64_MAX as NEVER, INT64_MIN, int64_t


@cython.final
cdef class Choice:
    """Candidates, and which of them take how many parts."""

    def __cinit__(self, Py_ssize_t nodes):
        """Choose among up to ``nodes``; there are no candidates yet."""
        self.candidate, self.count, self.key = np.zeros((3, nodes), np.int64)
        self.node, self.parts = np.zeros((2, nodes), np.int64)
        self.candidates = self.number = 0


cdef inline int64_t _take(Choice choice, Py_ssize_t c, int64_t missing) noexcept nogil:
    """Choose a candidate; return how many parts still lack a place."""
    cdef int64_t count = min(choice.count[c], missing)
    choice.node[choice.number] = choice.candidate[c]
    choice.parts[choice.number] = count
    choice.number += 1
    choice.count[c] = 0
    return missing - count


cdef void choose_by_key(Choice choice, int64_t missing) noexcept nogil:
    """Choose candidates with the least keys until all parts have a place; ties by number."""
    cdef int64_t level = INT64_MIN, next_level
    cdef Py_ssize_t c
    choice.number = 0
    while missing > 0 and level != NEVER:
        next_level = NEVER
        for c in range(choice.candidates):
            if choice.key[c] == level and missing > 0:
                missing = _take(choice, c, missing)
            elif choice.key[c] > level:
                next_level = min(next_level, choice.key[c])
        level = next_level


cdef void choose_by_runs(Choice choice, int64_t missing) noexcept nogil:
    """Choose candidates as Slurm does by default, which must have places for all parts.

    Of the runs of consecutive nodes that take a part of it, an attempt gets that with the least sum
    of keys that suffices; there one node that takes all of it, with the least key, else nodes in
    their order. If no run suffices, it gets all of the largest one, and the rest in the same way.
    """
    choice.number = 0
    while missing > 0:
        missing = _take_from_run(choice, missing)


cdef int64_t _take_from_run(Choice choice, int64_t missing) noexcept nogil:
    """Choose candidates of the best run; return how many parts still lack a place."""
    cdef Py_ssize_t begin = 0, end, best = 0, behind = 0, chosen = -1, c
    cdef int64_t parts, total, of_best = -1
    cdef bint enough = False, better
    while begin < choice.candidates:
        end, parts, total = begin, 0, 0
        while end < choice.candidates and (
            end == begin or choice.candidate[end] == choice.candidate[end - 1] + 1
        ):
            parts += choice.count[end]
            total += choice.key[end] if choice.count[end] > 0 else 0
            end += 1
        if parts >= missing:
            better = not enough or total < of_best
        else:
            better = not enough and total > of_best
        if parts > 0 and better:
            best, behind = begin, end
            enough = parts >= missing
            of_best = total
        begin = end
    for c in range(best, behind):
        if choice.count[c] >= missing and (chosen < 0 or choice.key[c] < choice.key[chosen]):
            chosen = c
    if chosen >= 0:
        return _take(choice, chosen, missing)
    for c in range(best, behind):
        if missing > 0 and choice.count[c] > 0:
            missing = _take(choice, c, missing)
    return missing

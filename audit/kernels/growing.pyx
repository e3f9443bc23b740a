"""Tables of whole numbers to which rows are added one by one."""

import numpy as np
cimport cython
from cython cimport view
from libc.stdint cimport INT64_MAX as NEVER, int64_t
from libc.stdlib cimport free, realloc


@cython.final
cdef class GrowingTable:
    """Rows of ``width`` numbers; at most ``most`` are kept."""

    def __cinit__(self, Py_ssize_t width, Py_ssize_t most = NEVER):
        """Make an empty table."""
        self.held, self.width, self.count, self.places, self.most = NULL, width, 0, 0, most

    def __dealloc__(self):
        """Free the memory."""
        free(self.held)

    def taken(self):
        """Return the rows as an array, [count, width]; the table is then empty.

        Raises MemoryError if there was no memory for some.
        """
        if self.places < 0:
            raise MemoryError
        shape = (self.count, self.width)
        if not self.count * self.width:
            return np.empty(shape, np.int64)
        cdef void *less = realloc(self.held, self.count * self.width * sizeof(int64_t))
        cdef view.array made = view.array(shape, sizeof(int64_t), "q", allocate_buffer=False)
        made.data = <char *>(self.held if less == NULL else less)
        made.callback_free_data = free
        self.held, self.count, self.places = NULL, 0, 0
        return np.asarray(made)


cdef int64_t* add_row(GrowingTable table) noexcept nogil:
    """Return a new row to be filled; NULL: enough are kept, or there is no memory."""
    cdef int64_t* held
    if table.count == table.most or table.places < 0:
        return NULL
    if table.count == table.places:
        table.places = max(2 * table.places, 1 << 12)
        held = <int64_t*> realloc(table.held, table.places * table.width * sizeof(int64_t))
        if held == NULL:
            table.places = -1
            return NULL
        table.held = held
    table.count += 1
    return table.held + (table.count - 1) * table.width

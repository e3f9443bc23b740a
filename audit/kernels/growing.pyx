"""Tables of whole numbers to which rows are added one by one."""

import numpy as np
cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy


@cython.final
cdef class Table:
    """Rows of ``width`` numbers; at most ``most`` are kept."""

    def __cinit__(self, Py_ssize_t width, Py_ssize_t most = NEVER):
        """Make an empty table."""
        self.held, self.width, self.count, self.places, self.most = NULL, width, 0, 0, most

    def __dealloc__(self):
        """Free the memory."""
        free(self.held)

    def taken(self):
        """Return the rows as an array, [count, width]; the table is then empty."""
        made = np.empty((self.count, self.width), np.int64)
        cdef int64_t[:, ::1] out = made
        if self.count > 0:
            memcpy(&out[0, 0], self.held, self.count * self.width * sizeof(int64_t))
        free(self.held)
        self.held, self.count, self.places = NULL, 0, 0
        return made


cdef int64_t* add_row(Table table) noexcept nogil:
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

"""Tables of whole numbers to which rows are added one by one."""

cimport cython
from libc.stdint cimport int64_t


@cython.final
cdef class GrowingTable:
    cdef int64_t* held
    cdef Py_ssize_t width
    cdef Py_ssize_t count
    cdef Py_ssize_t places  # −1: there was no memory
    cdef Py_ssize_t most


cdef int64_t* add_row(GrowingTable table) noexcept nogil

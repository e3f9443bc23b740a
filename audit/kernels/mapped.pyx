"""Arrow arrays in a file that is mapped into memory, so that the system can drop their pages.

The interface is Arrow's C data interface, by which polars reads and writes columns without a copy:
https://arrow.apache.org/docs/format/CDataInterface.html
"""

from libc.errno cimport errno
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport strcmp, strerror
from posix.mman cimport MADV_DONTNEED, MAP_FAILED, MAP_SHARED, PROT_READ, madvise, mmap, munmap
from posix.types cimport off_t
from posix.unistd cimport SEEK_END, _SC_PAGESIZE, lseek, sysconf
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New

cdef extern from "<unistd.h>" nogil:
    ssize_t pwrite(int fd, const void *buffer, size_t size, off_t at)

cdef extern from *:
    """
    #include <pthread.h>
    #include <stdint.h>

    struct ArrowSchema {
        const char *format, *name, *metadata;
        int64_t flags, n_children;
        struct ArrowSchema **children, *dictionary;
        void (*release)(struct ArrowSchema *);
        void *private_data;
    };
    struct ArrowArray {
        int64_t length, null_count, offset, n_buffers, n_children;
        const void **buffers;
        struct ArrowArray **children, *dictionary;
        void (*release)(struct ArrowArray *);
        void *private_data;
    };
    struct ArrowArrayStream {
        int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
        int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
        const char *(*get_last_error)(struct ArrowArrayStream *);
        void (*release)(struct ArrowArrayStream *);
        void *private_data;
    };
    static pthread_mutex_t fairaudit_maps = PTHREAD_MUTEX_INITIALIZER;
    static void fairaudit_lock(void) { pthread_mutex_lock(&fairaudit_maps); }
    static void fairaudit_unlock(void) { pthread_mutex_unlock(&fairaudit_maps); }
    """
    struct ArrowSchema:
        const char *format
        ArrowSchema *dictionary
        void (*release)(ArrowSchema *) noexcept nogil

    struct ArrowArray:
        int64_t length, null_count, offset, n_buffers
        const void **buffers
        void (*release)(ArrowArray *) noexcept nogil
        void *private_data

    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream *, ArrowSchema *) noexcept nogil
        int (*get_next)(ArrowArrayStream *, ArrowArray *) noexcept nogil

    void fairaudit_lock() noexcept nogil
    void fairaudit_unlock() noexcept nogil

cdef enum:
    ALIGNED = 64  # bytes, as Arrow recommends


cdef struct MappedFile:
    char *begin
    size_t size
    MappedFile *before
    MappedFile *after


cdef MappedFile *maps = NULL  # all live ones; under the lock


cdef void _release_array(ArrowArray *array) noexcept nogil:
    """Unmap the file of an array; any thread may drop it."""
    global maps
    cdef MappedFile *held = <MappedFile *>array.private_data
    if held != NULL:
        fairaudit_lock()
        if held.before != NULL:
            held.before.after = held.after
        else:
            maps = held.after
        if held.after != NULL:
            held.after.before = held.before
        fairaudit_unlock()
        munmap(held.begin, held.size)
        free(held)
    free(array.buffers)
    array.release = NULL


cdef void _free_array(object capsule) noexcept:
    cdef ArrowArray *array = <ArrowArray *>PyCapsule_GetPointer(capsule, b"arrow_array")
    if array.release != NULL:
        array.release(array)
    free(array)


cdef void _free_schema(object capsule) noexcept:
    cdef ArrowSchema *schema = <ArrowSchema *>PyCapsule_GetPointer(capsule, b"arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef int _bits(const char *format) noexcept nogil:
    """Return the bits of one element of a format of Arrow; 0: of no fixed number."""
    if strcmp(format, b"b") == 0:
        return 1
    if strcmp(format, b"c") == 0 or strcmp(format, b"C") == 0:
        return 8
    if strcmp(format, b"s") == 0 or strcmp(format, b"S") == 0:
        return 16
    if strcmp(format, b"i") == 0 or strcmp(format, b"I") == 0 or strcmp(format, b"f") == 0:
        return 32
    if strcmp(format, b"l") == 0 or strcmp(format, b"L") == 0 or strcmp(format, b"g") == 0:
        return 64
    if strcmp(format, b"vu") == 0:
        return 128
    return 0


cdef size_t _size(const ArrowArray *array, int bits, int64_t number) noexcept nogil:
    """Return the bytes of a buffer."""
    cdef int64_t views = array.n_buffers - 3  # of strings: how many buffers have their bytes
    if number >= 2:
        if number < array.n_buffers - 1:
            return (<const int64_t *>array.buffers[array.n_buffers - 1])[number - 2]
        return views * sizeof(int64_t)
    return ((array.offset + array.length) * (bits if number else 1) + 7) // 8


cdef bint _is_mapped(const ArrowArray *array) noexcept nogil:
    """Return whether the values of an array are in a file already."""
    cdef const char *at = <const char *>array.buffers[1]
    cdef bint found = False
    fairaudit_lock()
    cdef MappedFile *one = maps
    while one != NULL and not found:
        found = one.begin <= at < one.begin + one.size
        one = one.after
    fairaudit_unlock()
    return found


cdef int _write(int fd, const char *at, size_t size, off_t place) noexcept nogil:
    """Return 0, or the system's number of the error."""
    cdef ssize_t done
    while size:
        done = pwrite(fd, at, size, place)
        if done < 0:
            return errno
        at += done
        size -= done
        place += done
    return 0


cdef int _copy(const ArrowArray *array, int bits, int fd, ArrowArray *made) noexcept nogil:
    """Write an array behind the file's end, and map it; return 0, or the number of the error."""
    global maps
    cdef off_t page = sysconf(_SC_PAGESIZE)
    cdef off_t begin = (lseek(fd, 0, SEEK_END) + page - 1) // page * page
    cdef off_t place = begin
    cdef int64_t number
    cdef size_t size
    cdef int error
    made.length, made.null_count, made.offset = array.length, array.null_count, array.offset
    made.n_buffers = array.n_buffers
    made.release = _release_array
    made.buffers = <const void **>calloc(array.n_buffers, sizeof(void *))
    cdef MappedFile *held = <MappedFile *>calloc(1, sizeof(MappedFile))
    if made.buffers == NULL or held == NULL:
        free(held)
        return errno
    for number in range(array.n_buffers):
        if array.buffers[number] != NULL:
            size = _size(array, bits, number)
            error = _write(fd, <const char *>array.buffers[number], size, place)
            if error:
                free(held)
                return error
            place += (size + ALIGNED - 1) // ALIGNED * ALIGNED
    held.size = max(place - begin, 1)
    held.begin = <char *>mmap(NULL, held.size, PROT_READ, MAP_SHARED, fd, begin)
    if held.begin == <char *>MAP_FAILED:
        free(held)
        return errno
    place = 0
    for number in range(array.n_buffers):
        if array.buffers[number] != NULL:
            made.buffers[number] = held.begin + place
            place += (_size(array, bits, number) + ALIGNED - 1) // ALIGNED * ALIGNED
    made.private_data = held
    fairaudit_lock()
    held.after = maps
    if maps != NULL:
        maps.before = held
    maps = held
    fairaudit_unlock()
    return 0


cdef class MappedColumn:
    """A column whose values are in a file, for a reader of Arrow's arrays; it can be read once."""

    cdef object capsules

    def __arrow_c_array__(self, requested_schema=None):
        capsules, self.capsules = self.capsules, None
        return capsules


def mapped(stream, int fd):
    """Write a column behind the end of a file, and return it as mapped from there; None: it was.

    Args:
        stream: capsule of an Arrow stream with one array of numbers, truth values or strings.
        fd: file that nobody shortens; it may be closed, and needs no name, while it is mapped.

    Raises:
        OSError: the file cannot be written or mapped.
        ValueError: the column has another type or number of arrays.
    """
    cdef ArrowArrayStream *source = <ArrowArrayStream *>PyCapsule_GetPointer(
        stream, b"arrow_array_stream"
    )
    cdef ArrowSchema *schema = <ArrowSchema *>calloc(1, sizeof(ArrowSchema))
    cdef ArrowArray *made = <ArrowArray *>calloc(1, sizeof(ArrowArray))
    if schema == NULL or made == NULL:
        free(schema)
        free(made)
        raise MemoryError
    of_schema = PyCapsule_New(schema, b"arrow_schema", _free_schema)
    of_array = PyCapsule_New(made, b"arrow_array", _free_array)
    cdef ArrowArray array, more
    array.release = more.release = NULL
    cdef int bits = 0, error = 0
    cdef bint before = False
    with nogil:
        if source.get_schema(source, schema) == 0 and source.get_next(source, &array) == 0:
            bits = _bits(schema.format) if schema.dictionary == NULL else 0
            if bits and array.release != NULL and source.get_next(source, &more) == 0:
                if more.release != NULL:
                    more.release(&more)
                elif _is_mapped(&array):
                    before = True
                else:
                    error = _copy(&array, bits, fd, made)
        if array.release != NULL:
            array.release(&array)
    if before:
        return None
    if error:
        raise OSError(error, (<bytes>strerror(error)).decode())
    if made.release == NULL:
        raise ValueError("not one array of numbers, truth values or strings")
    cdef MappedColumn column = MappedColumn()
    column.capsules = (of_schema, of_array)
    return column


def forget():
    """Drop the pages of all mapped columns from memory; what is read again comes from the file."""
    cdef MappedFile *one
    with nogil:
        fairaudit_lock()
        one = maps
        while one != NULL:
            madvise(one.begin, one.size, MADV_DONTNEED)
            one = one.after
        fairaudit_unlock()


def count():
    """Return the number of mapped columns."""
    cdef Py_ssize_t number = 0
    fairaudit_lock()
    cdef MappedFile *one = maps
    while one != NULL:
        number += 1
        one = one.after
    fairaudit_unlock()
    return number

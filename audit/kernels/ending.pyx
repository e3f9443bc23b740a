"""The last sentence of a process that a library ends, such as for lack of memory.

Python's own handlers cannot say it: they run when the interpreter goes on, which it does not.
"""

from libc.signal cimport SIG_DFL, SIGABRT, SIGSEGV, raise_, signal
from libc.string cimport memcpy
from posix.unistd cimport STDERR_FILENO, write

cdef enum:
    LONGEST = 500

cdef char sentence[LONGEST]
cdef size_t length = 0


cdef void _end(int number) noexcept nogil:
    write(STDERR_FILENO, sentence, length)
    signal(number, SIG_DFL)
    raise_(number)


def say_if_ended(const unsigned char[::1] text):
    """Write ``text`` (at most 500 bytes of it) to stderr if SIGABRT or SIGSEGV ends the process."""
    global length
    length = min(<size_t>text.shape[0], <size_t>LONGEST)
    if length > 0:
        memcpy(sentence, &text[0], length)
    signal(SIGABRT, _end)
    signal(SIGSEGV, _end)

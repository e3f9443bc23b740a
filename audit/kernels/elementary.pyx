"""exp, expm1, log and log1p of the C library, element by element.

Those of numpy differ in their last digits between processors with and without AVX-512.
"""

from libc.math cimport exp as c_exp, expm1 as c_expm1, log as c_log, log1p as c_log1p

import numpy as np

ctypedef double (*Function)(double) noexcept nogil


cdef object of_each(Function function, object values):
    of = np.asarray(values, np.float64, order="C")
    out = np.empty_like(of)
    cdef const double[::1] at = of.reshape(-1)
    cdef double[::1] result = out.reshape(-1)
    cdef Py_ssize_t k
    with nogil:
        for k in range(at.shape[0]):
            result[k] = function(at[k])
    return out


def exp(values not None):
    """Return e^x of each value, an array of the same shape."""
    return of_each(c_exp, values)


def expm1(values not None):
    """Return e^x − 1 of each value, an array of the same shape."""
    return of_each(c_expm1, values)


def log(values not None):
    """Return the natural logarithm of each value, an array of the same shape; −∞ of 0."""
    return of_each(c_log, values)


def log1p(values not None):
    """Return log(1 + x) of each value, an array of the same shape; −∞ of −1."""
    return of_each(c_log1p, values)

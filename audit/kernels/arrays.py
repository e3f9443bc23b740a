"""The arrays that kernels take: C-contiguous, of one to three dimensions."""

import numpy as np

Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
IntTable = np.ndarray[tuple[int, int], np.dtype[np.int64]]
IntCube = np.ndarray[tuple[int, int, int], np.dtype[np.int64]]
Floats = np.ndarray[tuple[int], np.dtype[np.float64]]
FloatTable = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]
BoolTable = np.ndarray[tuple[int, int], np.dtype[np.bool_]]
Counts = np.ndarray[tuple[int], np.dtype[np.uint8]]
CountTable = np.ndarray[tuple[int, int], np.dtype[np.uint8]]
Codes = np.ndarray[tuple[int], np.dtype[np.uint32]]
Words = np.ndarray[tuple[int], np.dtype[np.uint64]]

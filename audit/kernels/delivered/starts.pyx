"""Fair starts on what the machine delivered (SPEC §10).

With the later arrivals left in, and all starts pinned, the observed schedule results exactly.
"""

cimport cython
from libc.math cimport floor
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t

import numpy as np

from audit.kernels.sweeps cimport first_above

include "model.pxi"
include "passes.pxi"
include "sweep.pxi"
include "fair_start.pxi"
include "last_run.pxi"

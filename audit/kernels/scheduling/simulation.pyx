"""Schedules simulated from instant to instant (SPEC §4, §5, §10; docs/simulation.md).

Times are epoch seconds. Attempts come in the order (arrival, submit, sequence) and are known by
their index in it. Tables have one row per resource; ``capacity`` has the amounts before any step.
All parts are one module, so that the compiler can inline their functions into each other.
"""

import numpy as np
cimport cython
from libc.math cimport exp, expm1, floor, log, pow
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

from audit.kernels.operators cimport priority
from audit.kernels.rows cimport add, copy_column, fits, move, move_rows, parts_on
from audit.kernels.sweeps cimport first_above

include "multifactor.pxi"
include "owners.pxi"
include "model.pxi"
include "pool.pxi"
include "nodes.pxi"
include "node_plans.pxi"
include "queue.pxi"
include "passes.pxi"
include "loop.pxi"
include "fair_start.pxi"
include "preemption.pxi"
include "start_queue.pxi"
include "agreement.pxi"
include "tabu.pxi"

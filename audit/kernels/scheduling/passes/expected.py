"""What planners expect to become free: expected ends and planned steps, in their order."""

from audit.kernels.arrays import IntTable
from audit.kernels.compiled import inner
from audit.kernels.scheduling.profile import NEVER, add_amounts
from audit.kernels.scheduling.space import EXPECTED, RUNNING, Space, Steps


@inner
def next_planned(steps: Steps, step: int) -> int:
    """The first planned step from index ``step`` on, or their number."""
    while step < steps.number and not steps.planned[step]:
        step += 1
    return step


@inner
def next_expected(space: Space, steps: Steps, ended: int, step: int) -> int:
    """The next expected end or planned step, or NEVER.

    ``ended`` of those that run are expected to have ended by now, and ``step`` is the next planned
    step.
    """
    instant = NEVER
    if ended < space.state[RUNNING]:
        instant = space.run[EXPECTED, ended]
    if step < steps.number:
        instant = min(instant, steps.time[step])
    return instant


@inner
def add_expected(
    space: Space, steps: Steps, ended: int, step: int, instant: int, free: IntTable, column: int
) -> tuple[int, int]:
    """Adds to a column of ``free`` what ``next_expected`` says of ``instant``.

    Gives what ``next_expected`` has to be called with for the instant after it.
    """
    while ended < space.state[RUNNING] and space.run[EXPECTED, ended] == instant:
        add_amounts(free, column, space.held, ended, 1, space.resources)
        ended += 1
    while step < steps.number and steps.time[step] == instant:
        add_amounts(free, column, steps.change, step, 1, space.resources)
        step = next_planned(steps, step + 1)
    return ended, step

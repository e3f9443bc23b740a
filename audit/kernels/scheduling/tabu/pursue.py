"""A pool under conservative backfilling whose plan a tabu search optimises (SPEC §8, *TS*)."""

from audit.kernels.arrays import Ints, Words
from audit.kernels.compiled import inner, kernel
from audit.kernels.scheduling.loop import arrive, end_due, happen, next_instant
from audit.kernels.scheduling.passes.planned import foresee, pass_conservative
from audit.kernels.scheduling.profile import NEVER, forget_past
from audit.kernels.scheduling.space import ALIVE, ARRIVING, NOW, UNTIL, Jobs, Model, Space, reset
from audit.kernels.scheduling.tabu.search import (
    INTERRUPTED,
    LACKING,
    MET,
    RUNS,
    TAKEN,
    WHO,
    Room,
    Search,
    optimise,
)


@kernel
def prepare(space: Space, model: Model, capacity: Ints, since: int) -> None:
    """Makes of a space an empty pool at ``since``, to which all attempts are still to come."""
    reset(space, capacity)
    space.state[NOW] = since
    space.state[UNTIL] = len(model.jobs.arrival)
    foresee(space, model)


@kernel
def pursue(space: Space, room: Room, model: Model, search: Search, words: Words) -> bool:
    """Simulates a pool from ``state[NOW]`` on, until nothing waits and nobody arrives any more.

    Args:
        space: the state, after ``prepare``; ``begun`` holds the starts of blocked attempts.
        room: for the search; ``state[TAKEN]`` random words have been used.
        model: what is simulated: first come first served, ``conservative``. ``owner`` numbers users
            and ``charge`` is what an attempt uses in all.
        search: when and how long.
        words: random.

    Returns:
        Whether it came to the end. Else a search is due that needs ``state[LACKING]`` words: call
        it again with them, ``state[TAKEN]`` reset. While it searches, another thread may set
        ``state[CEASE]``: the search then ends with the best plan so far.
    """
    state = space.state
    jobs = model.jobs
    while True:
        resumed = room.state[INTERRUPTED] > 0
        if not resumed:
            news = happen(space, model)
            first = state[ARRIVING]
            arrive(space, model)
            meet(room, jobs, space.begun, first, state[ARRIVING])
            run_passes(space, model, news)
        since_search = (state[NOW] - search.origin) % search.every
        if state[ALIVE] > 0 and since_search == 0:
            if must_ask(room, search, state[ALIVE], len(words), resumed):
                return False
            forget_past(space.profile, state[NOW])
            account(room, jobs, space.begun, state[NOW])
            optimise(space, room, jobs, search, words)
            run_passes(space, model, False)
        instant = next_instant(space, model)
        if instant == NEVER:
            return True
        if state[ALIVE] > 0:
            instant = min(instant, state[NOW] + search.every - since_search)
        state[NOW] = instant


@inner
def must_ask(room: Room, search: Search, waiting: int, words: int, resumed: bool) -> bool:
    """Whether the caller is to be asked before a search, and notes that it is."""
    state = room.state
    state[LACKING] = search.turns * waiting
    lacks = state[TAKEN] + state[LACKING] > words
    asks = lacks or (search.timed and not resumed)
    state[INTERRUPTED] = int(asks)
    return bool(asks)


@inner
def run_passes(space: Space, model: Model, news: bool) -> None:
    """Passes of ``conservative``, until one starts nothing that ends at once."""
    again = space.state[ALIVE] > 0
    while again:
        again = pass_conservative(space, model, news)
        if again:
            news = end_due(space, model)


@inner
def meet(room: Room, jobs: Jobs, begun: Ints, first: int, beyond: int) -> None:
    """Notes who has arrived, from index ``first`` on: who is queued, and the blocked that start."""
    met, state = room.met, room.state
    for job in range(first, beyond):
        if jobs.rank[job] >= 0 or begun[job] != NEVER:
            met[WHO, state[MET]] = job
            met[RUNS, state[MET]] = 0
            state[MET] += 1


@inner
def account(room: Room, jobs: Jobs, begun: Ints, now: int) -> None:
    """Enters with their owners who has started or ended by now."""
    met = room.met
    kept = 0
    for i in range(room.state[MET]):
        job = met[WHO, i]
        runs = met[RUNS, i]
        if begun[job] <= now:
            owner = jobs.owner[job]
            expected = float(jobs.estimate[job] * jobs.request[0, job])
            if runs == 0:
                runs = 1
                room.seen[owner] += 1
                room.waited[owner] += begun[job] - jobs.arrival[job]
                room.used[owner] += expected
            if begun[job] + jobs.occupancy[job] <= now:
                room.used[owner] += jobs.charge[job] - expected
                continue
        met[WHO, kept] = job
        met[RUNS, kept] = runs
        kept += 1
    room.state[MET] = kept

"""CPU of each stage of an audit or a night, measured within its process."""

import resource
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

AUDIT: Mapping[str, str] = {
    # what is called where: in which stage its time counts, but for that of stages within
    "audit.oneoff.audit.audit": "other",
    "audit.pipeline.opening.open_logs": "reading",
    "audit.pipeline.opening.take_in_by_name": "reading",
    "audit.pipeline.opening.result": "attempts from the store",
    "audit.pipeline.opening.LogRequest.setting": "settings",
    "audit.cluster.compute.population.describe": "describing attempts",
    "audit.cluster.compute.charges.charged": "penalties",
    "audit.cluster.compute.charges.compare": "penalties",
    "audit.cluster.compute.histories": "history of usage",
    "audit.cluster.compute.resource_equality": "resource equality, overtakes",
    "audit.cluster.compute.performance.overtakes": "resource equality, overtakes",
    "audit.pipeline.inferring.inferred": "inferring rules",
    "audit.pipeline.inferring.shown": "limits and chains",
    "audit.pipeline.inferring.find_windows": "windows",
    "audit.scenario.windows.search.compared_starts": "agreement of policies",
    "audit.scenario.windows.search.as_table": "agreement of policies",
    "audit.scenario.windows.search._agreeing": "agreement with each window",
    "audit.pipeline.inferring.agreement": "agreement of policies",
    "audit.pipeline.inferring.passes_shown": "causes of waits",
    "audit.cluster.compute.account.account": "causes of waits",
    "audit.cluster.compute.unstartable": "unstartable jobs",
    "audit.cluster.compute.similar.similar_waits": "similar jobs",
    "audit.cluster.compute.similar.stuck": "similar jobs",
    "audit.cluster.compute.fair_start_times": "fair start times",
    "audit.cluster.compute.delivered": "delays by later arrivals",
    "audit.cluster.delivered.agreement": "agreement of policies",
    "audit.cluster.delivered.agreement_on_nodes": "agreement of policies",
    "audit.cluster.compute.predicted": "predicted starts",
    "audit.cluster.compute.OfLog.of": "passed over",
    "audit.cluster.compute.OfLog.passed_over": "passed over",
    "audit.cluster.compute.model_fidelity": "model fidelity",
    "audit.cluster.compute.users.by_entities": "users and accounts",
    "audit.cluster.compute.summarise": "summary",
    "audit.cluster.compute.advise": "advice",
    "audit.pipeline.computing.results.replace": "joining results",
    "audit.store.database.insert": "writing results",
    "audit.store.queries.failed_checks": "checks",
    "audit.report.build.build": "reading the report's figures",
    "audit.report.build.pools": "figures of pools",
    "audit.report.sections.changes.section.attempts.course_sums": "trend",
    "audit.report.sections.changes.section.trend_of": "trend",
    "audit.pipeline.drawing.draw": "making the page",
    "audit.oneoff.audit.publish.free": "writing the file",
}

NIGHT: Mapping[str, str] = {
    **{
        place: stage
        for place, stage in AUDIT.items()
        if not place.startswith(("audit.oneoff.", "audit.pipeline.opening."))
    },
    "audit.nightly.run.run": "other",
    "audit.nightly.run.pulling.ingest": "reading",
    "audit.nightly.due.compute": "due periods",
    "audit.nightly.due.of_period": "inferring rules",
    "audit.nightly.keeping.archiving.put_away": "archiving",
    "audit.nightly.due.report": "making the page",
    "audit.nightly.run._publish": "publishing",
    "audit.store.publish.compact": "compacting",
}
"""The same of a night."""


class Stopwatch:
    """Counts CPU for the innermost stage that is at work.

    Args:
        stages: by what is called where, the stage in which its time counts.
    """

    def __init__(self, stages: Mapping[str, str]) -> None:
        self.cpu_s = dict.fromkeys(stages.values(), 0.0)
        self._at_work = ["other"]
        self._since = 0.0
        for place, stage in stages.items():
            owner, name = place_of(place)
            timed = self.around(stage, getattr(owner, name))
            setattr(owner, name, staticmethod(timed) if _is_made(owner, name) else timed)

    def around(self, stage: str, do: Callable[..., Any]) -> Callable[..., Any]:
        """``do``, whose time is counted for a stage; of a generator, that of each of its parts."""

        def timed(*arguments: Any, **named: Any) -> Any:
            with self._at(stage):
                made = do(*arguments, **named)
            return self._parts(stage, made) if isinstance(made, Generator) else made

        return timed

    def _parts(self, stage: str, made: Iterator[Any]) -> Iterator[Any]:
        while True:
            with self._at(stage):
                try:
                    part = next(made)
                except StopIteration:
                    return
            yield part

    @contextmanager
    def _at(self, stage: str) -> Iterator[None]:
        self.count()
        self._at_work.append(stage)
        try:
            yield
        finally:
            self.count()
            self._at_work.pop()

    def count(self) -> None:
        """Counts what was spent since the last call."""
        now = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        self.cpu_s[self._at_work[-1]] += now - self._since
        self._since = now


def _is_made(owner: Any, name: str) -> bool:
    """Whether a class makes itself by that name; its method is bound already."""
    return isinstance(owner, type) and isinstance(vars(owner).get(name), classmethod)


def place_of(place: str) -> tuple[Any, str]:
    """The module or class that holds what is called ``place``, and its name there."""
    parts = place.split(".")
    owner: Any = import_module("audit")
    for at, part in enumerate(parts[1:-1], start=2):
        with suppress(ModuleNotFoundError):
            import_module(".".join(parts[:at]))
        owner = getattr(owner, part)
    return owner, parts[-1]

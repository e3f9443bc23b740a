"""Ingests logs into the store: each once, completely or not at all."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from audit.errors import LogError, SeveralClustersError, UsageError
from audit.formats.dialects import Parsed
from audit.ingest import people
from audit.ingest.attempts import settle, settle_new
from audit.ingest.logs import Opened, Unread, clusters, lines_at, parsed_blocks
from audit.ingest.people import AS_THEY_ARE, PeopleFilter
from audit.ingest.quarantine import EXAMPLES, Counted, beyond_limit, weigh_ages, weigh_dates
from audit.ingest.rereading import by_hand, forget, held_as, identify, identify_text, keep_decisions
from audit.model import REFUSALS, RefusalCode
from audit.progress import OnProgress, silent
from audit.store import queries
from audit.store.database import Connection, insert, transaction

BATCH_ROWS: Final = 2 * 122_880
"""Minimum number of records of an insert, unless it is the last: two row groups of DuckDB."""
KEPT_REFUSALS: Final = 10_000  # maximum number of refused records of a log that are kept
KEPT_TEXT: Final = 1 << 25  # maximum size of their texts, in bytes; all others are counted
SHORTEST: Final = 16  # number of bytes of the shortest record
WORTH_STOPPING: Final = 1 << 24  # least number of unread bytes for which reading stops early

STRAY: Final = 0.05  # maximum share of records with other cluster names that are taken for damaged


class Named(NamedTuple):
    """A cluster's name."""

    cluster: str  # in the store
    source: str  # origin of the name
    called: str | None  # in the records of logs that name several; those of others are skipped
    people_filter: PeopleFilter = AS_THEY_ARE


Naming = Callable[[Sequence[str]], Named]
"""Returns the name, given the sorted names in the records of all logs.

Raises UsageError where the user must choose one. Called again when later records name more.
"""


def called_by(wanted: str | None, named: Sequence[str], flag: str) -> str | None:
    """Return the name in the records of the cluster called ``wanted`` in the store.

    It is the same name if the records have it, else their only name. If they have several,
    SeveralClustersError is raised; ``flag`` is the option that chooses one.
    """
    if wanted in named:
        return wanted
    if len(named) > 1:
        raise SeveralClustersError(
            "the records are of several clusters",
            f": {', '.join(named)}; choose one ({flag})",
            f"; choose one ({flag})",
        )
    return named[0] if named else None


class RenamedError(Exception):
    """Records change the name under which earlier ones were inserted."""


class ClusterNames:
    """The cluster names in the records read until now, and the resulting name.

    If nearly all records name one cluster, it is that one: the other names are damaged.
    """

    def __init__(self, logs: Sequence[Opened], naming: Naming) -> None:
        self.used = False  # whether anything was inserted under the name
        self.strays: frozenset[str] = frozenset()
        """Damaged names, whose records are refused."""
        self._logs = logs
        self._naming = naming
        self._names: set[str] = set()
        self._named: Named | None = None

    def now(self, more: Iterable[str] = ()) -> Named:
        """Return the name once ``more`` names are known."""
        more = set(more)
        if self._named is None or not more <= self._names:
            self._names |= more
            before, self._named = self._named, self._ask()
            if self.used and self._named != before:
                raise RenamedError
        return self._named

    def _ask(self) -> Named:
        try:
            return self._naming(sorted(self._names))
        except UsageError:
            # records that come later may settle it, and an error lists all names
            counted: Counter[str] = Counter()
            for log in self._logs:
                counted.update(clusters(log))
            self._names.update(counted)
            if main := _main(counted):
                self.strays = frozenset(self._names - {main})
                return self._naming([main])
            return self._naming(sorted(self._names))


def _main(counted: Counter[str]) -> str | None:
    if not counted:
        return None
    ((name, most),) = counted.most_common(1)
    others = counted.total() - most
    # of a few records, one may be damaged
    return name if others <= max(STRAY * counted.total(), min(1, most // 10)) else None


class Taken(NamedTuple):
    """Counts of one log."""

    file: str
    records: int
    refused: int
    known: bool  # it was in the store already
    steps: int = 0  # records of parts of jobs, which are not attempts
    elsewhere: int = 0  # records of other clusters, skipped
    problems: tuple[str, ...] = ()  # of its header and its records, in words for the user
    lost: str = ""  # corrections by hand that reading it again dropped, in words as well


def take_in(
    con: Connection,
    cluster: str,
    logs: Sequence[Opened],
    *,
    now: int | None = None,
    called: str | None = None,
    limit: float = 1.0,
    on_progress: OnProgress = silent,
) -> list[Taken]:
    """Ingest logs of a cluster with a known name; errors as ``take_in_by_name``, of any log.

    ``called`` is the cluster's name in logs that name several: records of others are counted and
    skipped. Without it, logs may name one cluster only.
    """
    named = Named(cluster, "the caller", called)
    intake = take_in_by_name(
        con, logs, lambda names: named, limit=limit, now=now, on_progress=on_progress
    )
    for log in intake.kept_out:
        raise log.error
    return intake.taken


class Intake(NamedTuple):
    """The result for several logs."""

    named: Named
    taken: list[Taken]
    kept_out: list[Unread]
    """Logs that changed or are damaged, and those of sources with too many refusals.

    Nothing of them is in the store.
    """


def take_in_by_name(
    con: Connection,
    logs: Sequence[Opened],
    naming: Naming,
    *,
    limit: float = 1.0,
    now: int | None = None,
    on_progress: OnProgress = silent,
) -> Intake:
    """Ingest logs under the cluster name of their records, or of the caller.

    All logs are inserted in one transaction; known logs are skipped. Of a log that has grown the
    new part is inserted, as a separate input. Records that several logs share count once, and the
    order of logs does not matter (``attempts.resolve``). Each log is parsed once: only if later
    records change the cluster's name, or logs must be left out, is everything repeated.
    Reading stops as soon as a source must exceed the limit.

    Args:
        con, logs: an open store, and ``open_logs``.
        naming: names the cluster.
        limit: maximum share of refused records of a source, 0 to 1.
        now: epoch second stored with refused lines; None for reproducible results.
        progress: called after each block, in bytes.

    Raises:
        StoreError: the store cannot be written. It is as it was before.
        UsageError: what ``naming`` raises; or a log names several clusters and none was chosen.
        LogError: every log was left out; this is the error of the first.
    """
    left = list(logs)
    kept_out: list[Unread] = []
    names = ClusterNames(left, naming)
    while True:
        try:
            with transaction(con):
                taken = _take_in_all(con, left, names, now, limit, on_progress)
                named = names.now()
                _refuse_beyond(con, named.cluster, left, taken, limit)
                people.check(con, named.cluster)
                _weigh(con, named, left, taken, now)
                return Intake(named, taken, kept_out)
        except RenamedError:
            names.used = False
        except _KeptOutError as out:
            kept_out += [Unread(log.source.path, out.error) for log in out.logs]
            left = [log for log in left if log not in out.logs]
            if not left:
                raise kept_out[0].error from None
            names = ClusterNames(left, naming)


def _weigh(
    con: Connection, named: Named, logs: Sequence[Opened], taken: Sequence[Taken], now: int | None
) -> None:
    paths = _paths(named, logs)
    both = zip(logs, taken, strict=True)
    new = [identify(named.cluster, log) for log, of in both if not of.known]
    weigh_ages(con, named.cluster, new, paths, now)
    weigh_dates(con, named.cluster, paths, now)


def _paths(named: Named, logs: Sequence[Opened]) -> dict[str, Path]:
    """Return the paths of logs by input id; none if their text must not be kept."""
    if named.people_filter.hides:
        return {}
    return {
        identify_text(named.cluster, text.sha256, log.reading): log.source.path
        for log in logs
        for text in (log.source, log.source.known)
        if text is not None
    }


class _KeptOutError(Exception):
    """Logs that must be left out, and why."""

    def __init__(self, logs: Sequence[Opened], error: LogError) -> None:
        super().__init__()
        self.logs = logs
        self.error = error


def _refuse_beyond(
    con: Connection, cluster: str, logs: Sequence[Opened], taken: Sequence[Taken], limit: float
) -> None:
    """Raise _KeptOutError where too many of a source's new records were refused."""
    new = [(log, of) for log, of in zip(logs, taken, strict=True) if not of.known]
    for name in dict.fromkeys(log.part for log, _ in new):
        _judge(con, cluster, logs, [(log, of) for log, of in new if log.part == name], limit)


def _judge(
    con: Connection,
    cluster: str,
    logs: Sequence[Opened],
    part: Sequence[tuple[Opened, Taken]],
    limit: float,
    unread: int = 0,
) -> None:
    """Raise _KeptOutError if too many of the records of one source were refused.

    ``unread`` is the number of bytes that were not read: each record has ``SHORTEST`` at least.
    """
    records, refused = sum(of.records for _, of in part), sum(of.refused for _, of in part)
    if refused <= limit * (records + unread / SHORTEST):
        return
    first: list[tuple[str, int, str]] = []
    for log, of in part:
        if of.refused and len(first) < EXAMPLES:
            input_id = identify(cluster, log)
            lines = queries.rows(con, "refused_lines", input_id=input_id, most=EXAMPLES)
            first += [(log.name, line, reason) for line, reason in lines]
    log = part[0][0]
    where = log.part if len(part) > 1 or unread else log.where
    counted = Counted(where, log.dialect.title, records, refused, tuple(first[:EXAMPLES]), unread)
    of_part = [other for other in logs if other.part == log.part]
    raise _KeptOutError(of_part, beyond_limit(counted, limit))


def _take_in_all(
    con: Connection,
    logs: Sequence[Opened],
    names: ClusterNames,
    now: int | None,
    limit: float,
    on_progress: OnProgress,
) -> list[Taken]:
    taken: list[Taken] = []
    new: list[str] = []
    lost: list[str] = []  # jobs of which records were removed
    size = sum(log.source.size for log in logs)
    done = 0
    for number, log in enumerate(logs):
        what = f"reading {log.name}"
        on_progress(what, done, size)
        held = queries.run(con, "inputs_of_content", content_sha256=log.source.sha256)
        if not held.is_empty():
            names.now(_names_held(held, log))
        known: str | None = None
        outdated: list[str] = []
        try:
            if not held.is_empty() or log.source.outdated:
                known, outdated = held_as(con, names.now().cluster, log)
        except LogError as error:
            raise _KeptOutError([log], error) from error
        decided = by_hand(con, outdated)
        if known is None:
            lost += forget(con, names.now().cluster, outdated) if outdated else []
            both = zip(logs, taken, strict=False)
            before = [(a, of) for a, of in both if not of.known and a.part == log.part]
            after = sum(a.source.size for a in logs[number + 1 :] if a.part == log.part)
            try:
                for position, of in _take_in_one(con, log, names, now):
                    unread = log.source.size - position + after
                    if unread >= WORTH_STOPPING:
                        part = [*before, (log, of)]
                        _judge(con, names.now().cluster, logs, part, limit, unread)
                    on_progress(what, done + position, size)
            except LogError as error:  # it changed while it was read
                raise _KeptOutError([log], error) from error
            new.append(identify(names.now().cluster, log))
        done += log.source.size
        on_progress(what, done, size)
        input_id = known or identify(names.now().cluster, log)
        row = queries.run(con, "input", input_id=input_id).row(0, named=True)
        counts = (row["records"], row["refused"], known is not None, row["steps"])
        problems = tuple(json.loads(row["header"])["problems"])
        undone = keep_decisions(con, input_id, decided) if outdated else ""
        problems += tuple(filter(None, (_AGAIN, undone))) if outdated else ()
        taken.append(Taken(row["file"], *counts, row["elsewhere"], problems, undone))
    if new:
        settle_new(con, names.now().cluster, new)
        if lost:
            settle(con, names.now().cluster, lost)
    return taken


_AGAIN: Final = "was read before by other columns, or in another zone: its records are replaced"


def _names_held(held: pl.DataFrame, log: Opened) -> Iterable[str]:
    if (held["elsewhere"] > 0).any():
        return clusters(log)
    return held["log_cluster"].drop_nulls().to_list()


def _take_in_one(
    con: Connection, log: Opened, names: ClusterNames, now: int | None
) -> Iterator[tuple[int, Taken]]:
    """Insert one log block by block; yield the position after each, and what was read."""
    counted = {"records": 0, "refused": 0, "unkept": 0, "steps": 0, "elsewhere": 0}
    text_left = KEPT_TEXT
    kept_names: set[str] = set()
    remarks: Counter[str] = Counter()
    cut: int | None = None  # line of a record that the log ends within
    file = log.name
    for position, parsed in _batches(parsed_blocks(log)):
        named = names.now(parsed.records["cluster"].drop_nulls().unique().to_list())
        strayed = pl.col("cluster").is_in(list(names.strays)).fill_null(value=False)
        records, lost = parsed.records.filter(~strayed), parsed.records.filter(strayed)
        elsewhere = len(records)
        if named.called is not None:
            records = records.filter((pl.col("cluster") == named.called).fill_null(value=True))
        elsewhere -= len(records)
        kept_names.update(records["cluster"].drop_nulls().unique().to_list())
        remarks.update(parsed.remarks)
        ends = parsed.refusals.filter(pl.col("code") == RefusalCode.CUT)["line"]
        cut = ends.item(-1) if len(ends) else None
        if len(kept_names) > 1:
            listed = ", ".join(clusters(log))
            raise SeveralClustersError(
                f"{log.where}: has records of several clusters",
                f" ({listed}): choose one",
                ": choose one (clusters.name)",
            )
        names.used = True
        labels = {"cluster": named.cluster, "input_id": identify(named.cluster, log)}
        refused = pl.concat([parsed.refusals, _strays(log, lost, named.called)])
        refused = named.people_filter.refusals(refused)
        records = named.people_filter.records(records).drop("cluster")
        insert(con, "records", records, {**labels, "attempt": 1, "superseded": False})
        kept = _kept(refused, KEPT_REFUSALS - counted["refused"] + counted["unkept"], text_left)
        text_left -= int(kept["text"].str.len_bytes().sum())
        insert(con, "refused", kept, {**labels, "file": file, "refused_at": now})
        counted["records"] += len(parsed.records) + len(parsed.refusals) + parsed.steps
        counted["refused"] += len(refused)
        counted["unkept"] += len(refused) - len(kept)
        counted["steps"] += parsed.steps
        counted["elsewhere"] += elsewhere
        yield position, Taken(file, counted["records"], counted["refused"], known=False)
    names.used = True
    problems = [f"{text} ({number:,} records)" for text, number in sorted(remarks.items())]
    if cut is not None:
        problems.append(
            f"ends within a record (line {cut}): it was cut, or is still being written; what "
            "follows is missing"
        )
    _insert_input(con, log, names.now(), counted, min(kept_names, default=None), problems)


def _insert_input(
    con: Connection,
    log: Opened,
    named: Named,
    counted: Mapping[str, int],
    log_cluster: str | None,
    problems: Sequence[str],
) -> None:
    said = named.people_filter.header(log)
    header = {
        "people": named.people_filter.fingerprint,
        "reading": log.reading,
        "zone": said.zone,
        "capacity": dict(said.capacity),
        "entries": dict(said.entries),
        "problems": [*said.problems, *problems],
    }
    row = {
        "input_id": identify(named.cluster, log),
        "cluster": named.cluster,
        "file": log.name,
        "source": log.origin or log.name,
        "dialect": log.dialect.name,
        "content_sha256": log.source.sha256,
        "bytes": log.source.size,
        "log_cluster": log_cluster,
        **counted,
        "duplicates": 0,
        "header": json.dumps(header, sort_keys=True),
    }
    insert(con, "inputs", pl.DataFrame([row]))


def _kept(refused: pl.DataFrame, most: int, most_bytes: int) -> pl.DataFrame:
    """Return the first refused records that may be kept."""
    first = refused.head(most)
    return first.filter(first["text"].str.len_bytes().cum_sum() <= most_bytes)


def _strays(log: Opened, lost: pl.DataFrame, called: str | None) -> pl.DataFrame:
    """Return the refusals of records with a damaged cluster name."""
    if lost.is_empty():
        return pl.DataFrame(schema=REFUSALS)
    texts = lines_at(log.source.path, lost["byte_offset"])
    reason = pl.format(
        "names the cluster '{}', nearly all others '{}': damaged?", "cluster", pl.lit(called)
    )
    return lost.select(
        "line",
        "byte_offset",
        code=pl.lit(RefusalCode.CLUSTER.value),
        reason=reason,
        text=pl.Series([texts[offset] for offset in lost["byte_offset"]], dtype=pl.String),
    )


def _batches(blocks: Iterator[tuple[int, Parsed]]) -> Iterator[tuple[int, Parsed]]:
    """Join blocks into large inserts: DuckDB writes only whole row groups straight to the file."""
    held: list[Parsed] = []
    position = 0
    for position, parsed in blocks:
        held.append(parsed)
        if sum(part.records.height + part.refusals.height for part in held) >= BATCH_ROWS:
            yield position, _joined(held)
            held = []
    if held:
        yield position, _joined(held)


def _joined(parts: list[Parsed]) -> Parsed:
    return Parsed(
        pl.concat(part.records for part in parts),
        pl.concat(part.refusals for part in parts),
        sum(part.steps for part in parts),
        remarks=sum((Counter(part.remarks) for part in parts), Counter[str]()),
    )

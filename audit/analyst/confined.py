"""The process that runs analysts' SQL: it can read one database and write nothing.

``audit.analyst.reader`` starts it and talks to it through a socket, which, unlike a named pipe, has
no path. The process loads its libraries, receives the database as an open descriptor, and gives up
all rights that ``audit.files.confine`` can drop before it opens anything written by others.
"""

import io
import json
import os
import resource
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from audit.analyst import answers
from audit.analyst.messages import DEFECT, DONE, FAILED, LARGEST, OUTPUT, receive, send
from audit.errors import AuditError, StoreError
from audit.files import confine
from audit.store import catalogue, database, saved, selection
from audit.store.database import SNAPSHOT, Connection
from audit.store.grammar import Grammar
from audit.words import Format

_SPARE_BYTES: Final = 2**30
"""Memory allowed beyond DuckDB's own limit, which ignores allocations of single functions, such as
``repeat('x', 1000000000)``."""

_CONTROL_GROUP: Final = ("/proc/self/cgroup", "/sys/fs/cgroup")
"""Where DuckDB reads the limits of its control group; it aborts if it may not."""


def serve(channel: int) -> None:
    """Answer the requests on a socket, given by its descriptor, until it is closed."""
    confine.end_with_parent()
    offline = confine.leave_network()
    confine.write_nothing()
    confine.status()
    saved.every()  # its files are out of reach later
    with socket.socket(fileno=channel) as peer:
        process = _ConfinedProcess(peer, offline=offline)
        while (message := receive(peer)) is not None:
            _, content, descriptors = message
            process.answer(json.loads(content), descriptors)


class _ConfinedProcess:
    """The requests, and what they opened."""

    def __init__(self, peer: socket.socket, *, offline: bool) -> None:
        self._peer = peer
        self._offline = offline
        self._con: Connection | None = None
        self._grammar: Grammar | None = None
        self._names: frozenset[str] = frozenset()
        self._source = self._called = "the database"

    def answer(self, request: dict[str, Any], descriptors: Sequence[int]) -> None:
        """Answer one request."""
        methods: dict[str, Callable[..., object]] = {
            "open": self._open,
            "table": self._table,
            "layers": self._layers,
            "query": self._query,
        }
        method = methods[request.pop("do")]
        try:
            answer = method(*descriptors, **request)
        except (AuditError, MemoryError) as error:
            text = str(error).replace(self._source, self._called)
            send(self._peer, FAILED, json.dumps([type(error).__name__, text]).encode())
        except Exception:  # the parent raises it again
            send(self._peer, DEFECT, traceback.format_exc().encode())
        else:
            send(self._peer, DONE, json.dumps(answer).encode())

    def _open(self, source: int, **request: Any) -> dict[str, Any]:
        """Open the database of a descriptor (``sql.Reader``)."""
        limits = request["memory_limit"], request["timeout_s"]
        if request["frames"]:
            import polars  # noqa: F401 - its files are out of reach later
        self._source, self._called = f"/proc/self/fd/{source}", request["path"]
        path, base, archive = (Path(p) for p in (self._source, request["base"], request["archive"]))
        folder = [os.open(archive, os.O_PATH)] if archive.is_dir() else []
        system = _system()
        version = confine.restrict([source, *folder, *system])
        con = database.open_locked(path, *limits)
        try:
            files = [name for pair in catalogue.archived(con, SNAPSHOT) for name in pair]
            if files:
                con.close()
                within = catalogue.open_files(archive, base, files)
                confine.restrict([source, *within, *system])
                catalogue.close(within)
                con = database.open_locked(path, *limits, files, base)
            catalogue.refuse_programs(con, SNAPSHOT)
        except BaseException:
            con.close()
            raise
        self._con, self._names = con, selection.readable(con)
        self._grammar = Grammar()
        return {"landlock": version, "offline": self._offline}

    def _table(self, source: int, name: str) -> None:
        """Take the rows of a descriptor as a temporary table of texts (``sql.Reader``)."""
        import polars as pl

        assert self._con is not None
        assert self._grammar is not None
        with os.fdopen(source, "rb") as file:
            file.seek(0)
            rows = pl.read_ipc(io.BytesIO(file.read()))
        self._grammar.refuse_taken(name, self._names)
        database.keep(self._con, name, rows)
        self._grammar.keep(name)

    def _layers(self) -> dict[str, Any]:
        """Restrict this process as for a database, and report which restrictions hold."""
        version = confine.restrict(_system())
        grammar = Grammar()
        try:
            grammar.check("WITH x AS (COPY (SELECT 1) TO 'x') FROM x", frozenset())
            parse = False
        except StoreError:
            parse = True
        grammar.close()
        return {
            "landlock": version,
            "offline": self._offline,
            "parse": parse,
            "writes_nothing": resource.getrlimit(resource.RLIMIT_FSIZE) == (0, 0),
        }

    def _query(self, **request: Any) -> list[str]:
        """Write the rows of a statement or saved query; return remarks."""
        assert self._con is not None
        assert self._grammar is not None
        form = Format(request["form"])
        copies = 2 if form is Format.parquet else 1  # its rows are collected before writing
        data_bytes = copies * request["memory_bytes"] + _SPARE_BYTES
        confine.limit(data_bytes=data_bytes, cpu_s=request["cpu_s"])
        text, parameters = request["text"], dict[str, object](request["parameters"])
        if request["saved"]:
            known = saved.named(text)
            parameters, text = saved.arguments(self._con, known, request["parameters"]), known.sql
        for part in [text] if request["saved"] else self._grammar.parts(text):
            select = selection.select(self._con, self._grammar, self._names, part, parameters)
        out = cast("BinaryIO", _Out(self._peer, on_terminal=request["on_terminal"]))
        most, raw = request["rows"], request["raw"]
        return list(answers.write(self._con, select, form, out, most=most, raw=raw))


def _system() -> list[int]:
    """Open files needed later: of the control group, and of modules that Python loads on demand."""
    libraries = [os.path.dirname(os.__file__)]  # noqa: PTH120
    libraries += [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    places = [place for place in (*_CONTROL_GROUP, *libraries) if Path(place).exists()]
    return [os.open(place, os.O_PATH | os.O_CLOEXEC) for place in places]


class _Out:
    """An output that the parent writes to the user's stdout."""

    def __init__(self, peer: socket.socket, *, on_terminal: bool) -> None:
        self._peer = peer
        self._on_terminal = on_terminal

    def isatty(self) -> bool:
        return self._on_terminal

    def write(self, content: bytes | memoryview) -> int:
        with memoryview(content) as whole:
            for start in range(0, len(whole), LARGEST):
                send(self._peer, OUTPUT, whole[start : start + LARGEST])
            return len(whole)

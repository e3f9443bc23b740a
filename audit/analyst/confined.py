"""The process in which analysts' SQL runs: it can read one database, and write nothing.

``audit.analyst.reader`` starts it and speaks with it through a socket, which cannot be opened by a
path as a pipe can. It loads its libraries, then gets the database as an open descriptor, gives up
all that ``audit.files.confine`` can take, and only then opens what someone else wrote.
"""

from __future__ import annotations

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
"""What the process may take beyond the memory that DuckDB may: DuckDB counts what it stores, not
what a single function makes of a value (``repeat('x', 1000000000)``)."""

_CONTROL_GROUP: Final = ("/proc/self/cgroup", "/sys/fs/cgroup")
"""Where DuckDB looks for the limits of its control group, and dies if it may not."""


def serve(channel: int) -> None:
    """Answer the requests that come through a socket, until it is closed."""
    confine.end_with_parent()
    offline = confine.leave_network()
    confine.write_nothing()
    confine.status()
    saved.every()  # its files are out of reach later
    with socket.socket(fileno=channel) as peer:
        one = _Process(peer, offline=offline)
        while (message := receive(peer)) is not None:
            _, content, descriptors = message
            one.answer(json.loads(content), descriptors)


class _Process:
    """What the process has opened."""

    def __init__(self, peer: socket.socket, *, offline: bool) -> None:
        self._peer = peer
        self._offline = offline
        self._con: Connection | None = None
        self._grammar: Grammar | None = None
        self._names: frozenset[str] = frozenset()
        self._source = self._called = "the database"

    def answer(self, request: dict[str, Any], descriptors: Sequence[int]) -> None:
        """Do what is asked, and say how it went."""
        todo: dict[str, Callable[..., object]] = {
            "open": self._open,
            "layers": self._layers,
            "query": self._query,
        }
        ask = todo[request.pop("do")]
        try:
            said = ask(*descriptors, **request)
        except (AuditError, MemoryError) as error:
            text = str(error).replace(self._source, self._called)
            send(self._peer, FAILED, json.dumps([type(error).__name__, text]).encode())
        except Exception:  # the parent raises it anew
            send(self._peer, DEFECT, traceback.format_exc().encode())
        else:
            send(self._peer, DONE, json.dumps(said).encode())

    def _open(self, source: int, **request: Any) -> dict[str, Any]:
        """Open the database of a descriptor; see ``reader.Reader``."""
        limits = request["memory_limit"], request["timeout_s"]
        if request["frames"]:
            import polars  # noqa: F401 - its files are out of reach later
        self._source, self._called = f"/proc/self/fd/{source}", request["path"]
        path, base = Path(self._source), Path(request["base"])
        archive = Path(request["archive"])
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

    def _layers(self) -> dict[str, Any]:
        """Restrict this process as for a database, and say what holds."""
        system = _system()
        version = confine.restrict(system)
        checked = Grammar()
        try:
            checked.check("WITH x AS (COPY (SELECT 1) TO 'x') FROM x", frozenset())
            parse = False
        except StoreError:
            parse = True
        checked.close()
        return {
            "landlock": version,
            "offline": self._offline,
            "parse": parse,
            "writes_nothing": resource.getrlimit(resource.RLIMIT_FSIZE) == (0, 0),
        }

    def _query(self, **request: Any) -> list[str]:
        """Write the rows of a statement, or of a saved query; what has to be said of them."""
        assert self._con is not None
        assert self._grammar is not None
        form = Format(request["form"])
        copies = 2 if form is Format.parquet else 1  # its rows are gathered before they are written
        confine.limit(
            data_bytes=copies * request["memory_bytes"] + _SPARE_BYTES, cpu_s=request["cpu_s"]
        )
        text, parameters = request["text"], dict[str, object](request["parameters"])
        if request["saved"]:
            known = saved.named(text)
            parameters, text = saved.arguments(self._con, known, request["parameters"]), known.sql
        asked = selection.select(self._con, self._grammar, self._names, text, parameters)
        out = _Out(self._peer, on_terminal=request["on_terminal"])
        return list(
            answers.write(
                self._con,
                asked,
                form,
                cast("BinaryIO", out),
                most=request["rows"],
                raw=request["raw"],
            )
        )


def _system() -> list[int]:
    """What nothing works without: the control group, and modules that Python loads when needed."""
    libraries = [os.path.dirname(os.__file__)]  # noqa: PTH120
    libraries += [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    places = [place for place in (*_CONTROL_GROUP, *libraries) if Path(place).exists()]
    return [os.open(place, os.O_PATH | os.O_CLOEXEC) for place in places]


class _Out:
    """Where rows are written: the parent, which writes them to the user's stdout."""

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

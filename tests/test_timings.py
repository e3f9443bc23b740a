"""The cost of stages."""

from collections.abc import Iterator

import pytest

from audit import timings
from audit.progress import Progress
from audit.timings import Stage, Timings


def test_the_time_until_the_next_stage_belongs_to_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu: Iterator[float] = iter([1.5, 2.0, 5.0])
    wall: Iterator[float] = iter([12.0, 13.0, 20.0])
    monkeypatch.setattr(timings, "_OPENED", 10.0)
    monkeypatch.setattr(timings, "_cpu_s", lambda: next(cpu))
    monkeypatch.setattr(timings, "_peak_mib", lambda: 100.0)
    monkeypatch.setattr("audit.timings.time.monotonic", lambda: next(wall))
    watch = Timings()
    watch.update("reading a.swf", 0, 2)
    watch.update("reading a.swf", 1, 2)
    watch.update("computing", 0, 1)
    watch.update("computing", 1, 1)
    watch.end()
    assert watch.stages == [
        Stage("loading", 1.5, 2.0, 100.0),
        Stage("reading a.swf", 0.5, 1.0, 100.0),
        Stage("computing", 3.0, 7.0, 100.0),
    ]
    *_, whole = watch.lines()
    assert whole.split() == ["all", "5.00", "10.00", "100"]


def test_a_system_that_tells_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timings, "_OWN", timings._OWN / "missing")
    watch = Timings()
    watch.end()
    assert [stage.peak_mib for stage in watch.stages] == [None]
    assert len(list(watch.lines())) == 3


def test_a_table_follows_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(lines=False, timings=True) as progress:
        progress.update("reading\na", 1, 1)
    heads = [line.split()[0] for line in capsys.readouterr().err.splitlines()]
    assert heads == ["stage", "loading", "reading\\na", "all"]

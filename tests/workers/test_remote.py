"""Work done elsewhere has the same results as here, bit for bit, for any parts."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import __version__
from audit.config import Config
from audit.errors import UsageError
from audit.metrics.draws import Draws
from audit.model import Policy
from audit.oneoff.fit_policy import plan as fit
from audit.oneoff.study import StudyPlan
from audit.oneoff.whatif import plan as whatif
from audit.pipeline.opening import ClusterLog, LogRequest, open_log
from audit.scenario.driver import Effort
from audit.scenario.fair_start import fair_starts
from audit.scenario.scenario import ScenarioChange
from audit.studies import plans
from audit.workers import remote
from audit.workers.executors import computed
from audit.workers.parcels import Packer
from audit.workers.remote import difference, identity, kernels, program
from tests.logs import write
from tests.naive.simulation import Log as Slow
from tests.naive.simulation import Ranking
from tests.strategies import arrays, logs, policies, rankings
from tests.workers.scattered import Scattered, small_log


@given(logs(limited=True), policies(intervals=True), rankings(), st.integers(1, 5))
def test_starts_are_the_same_from_parcels_and_in_any_parts(
    slow: Slow, policy: Policy, ranking: Ranking, number: int
) -> None:
    work = arrays(slow, ranking)
    here = fair_starts(work, policy)
    there = fair_starts(work, policy, effort=Effort(Scattered(parts=number)))
    assert all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> ClusterLog:
    path = tmp_path_factory.mktemp("logs") / "small.swf"
    write(path, small_log())
    return open_log(LogRequest(logs=[path], zone="UTC"), Config())


@pytest.mark.parametrize(
    "of",
    [
        plans.grid(None, 60, plans.loads("0.8"), 128),
        plans.users(None, None),
        plans.sensitivity(None, None, 3, None),
        fit.plan(),
        whatif.plan(ScenarioChange(without=("1",)), None, Config(), Path()),
        plans.workload(None, 2),
    ],
    ids=["grid", "users", "sensitivity", "fit", "whatif", "workload"],
)
def test_the_cells_of_every_study_can_be_sent(
    of: Callable[[ClusterLog, Draws], StudyPlan], small: ClusterLog
) -> None:
    cell = of(small, Draws(1, 100)).cells[-1]
    [(_, there)] = Scattered().each(computed, None, [cell.compute])
    assert there.equals(cell.compute())


def nothing(_: None) -> Callable[[int], int]:
    return _failing


def _failing(part: int) -> int:
    raise UsageError(f"no load {part}")


def test_an_error_in_a_part_is_raised_as_it_is() -> None:
    with pytest.raises(UsageError, match="no load 2"):
        list(Scattered().each(nothing, None, [2]))


def test_a_worker_that_computes_with_something_else_refuses(tmp_path: Path) -> None:
    ours = {**identity(), "kernels": "other"}
    for found in (remote.run(str(tmp_path), ours, b""), remote.unfit(str(tmp_path), ours)):
        assert re.search(r"kernels \w{12}, here other", str(found))


def test_a_folder_that_is_not_shared_is_named_by_its_key(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    for found in (remote.run(gone, identity(), b""), remote.unfit(gone, identity())):
        assert re.search(r"cannot use .*gone .*compute\.folder must be a folder", str(found))


def test_a_worker_that_can_do_parts_is_fit_and_leaves_nothing(tmp_path: Path) -> None:
    assert remote.unfit(str(tmp_path), identity()) == ""
    assert list(tmp_path.iterdir()) == []


def counted(frame: pl.DataFrame) -> Callable[[int], int]:
    PREPARED.append(frame.height)
    return _plus_one


def _plus_one(part: int) -> int:
    return part + 1


PREPARED: list[int] = []


def test_shared_objects_are_opened_once(tmp_path: Path) -> None:
    PREPARED.clear()
    packer = Packer(tmp_path)
    work = packer.packed((counted, pl.DataFrame({"x": [1, 2]})))
    (tmp_path / remote.WORK).write_bytes(work)
    for part in (1, 2, 3):
        remote.run(str(tmp_path), identity(), packer.packed(part))
    assert PREPARED == [2]


def test_a_worker_forgets_older_work(tmp_path: Path) -> None:
    for name in "abc":
        folder = tmp_path / name
        folder.mkdir()
        packer = Packer(folder)
        (folder / remote.WORK).write_bytes(packer.packed((counted, pl.DataFrame())))
        remote.run(str(folder), identity(), packer.packed(1))
    held = [Path(folder).name for folder in remote._at_hand]
    assert held == ["b", "c"]


def test_it_names_the_version_and_the_kernels() -> None:
    found = identity()
    assert found["fairaudit"] == __version__
    assert kernels().startswith(found["kernels"])
    assert len(found["kernels"]) == 12


def test_differences_show_both_values() -> None:
    ours = {"fairaudit": "1.0", "kernels": "abc", "numpy": "2"}
    assert difference(ours, dict(ours)) is None
    assert difference(ours, {**ours, "kernels": "xyz"}) == "kernels xyz, here abc"
    assert difference(ours, {"numpy": "3"}) == (
        "fairaudit unknown, here 1.0; kernels unknown, here abc; numpy 3, here 2"
    )


@pytest.mark.parametrize(
    ("fingerprint", "file"), [(program, "a.py"), (kernels, "kernels/built.json")]
)
def test_fingerprints_are_those_of_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fingerprint: Any, file: str
) -> None:
    monkeypatch.setattr(remote, "PACKAGE", tmp_path)
    assert kernels.__wrapped__() == "not compiled"
    (tmp_path / "kernels").mkdir()
    found = []
    for text in ("1", "2", "1"):
        write(tmp_path / file, text)
        found.append(fingerprint.__wrapped__())
    assert found[0] == found[2] != found[1]

"""[M]'s table, figures and examples, from the formulas."""

from fractions import Fraction

import numpy as np
import pytest

from audit.metrics.fairshare.penalty import RELATIVE, movers
from audit.studies.penalties import compute as penalties
from tests.naive.penalties import penalty as exact
from tests.studies.penalties.test_rules import TABLE_1


def test_every_penalty_is_judged_and_table_1_is_the_papers() -> None:
    judged = penalties.judged()
    assert {row.penalty for row, _, _ in judged} == set(RELATIVE)
    assert len({row.label for row, _, _ in judged}) == len(judged)
    of_table_1 = {
        row.label: tuple(verdict.kept for verdict in verdicts)
        for row, verdicts, _ in judged
        if row.in_table_1
    }
    assert of_table_1 == TABLE_1
    assert not any(all(verdict.kept for verdict in verdicts) for _, verdicts, _ in judged)


@pytest.mark.parametrize("figure", penalties.FIGURES, ids=lambda figure: f"figure {figure.number}")
def test_surfaces_are_the_formulas(figure: penalties.Surfaces) -> None:
    for name, weights in figure.panels:
        rows = penalties.surface(name, weights)
        assert rows.height == (penalties.STEPS + 1) ** 2
        by = dict(zip(("cpus", "mem_bytes"), map(Fraction, weights), strict=True))
        for cpus, memory, height in rows.gather_every(7).rows():
            held = {"cpus": Fraction(cpus), "mem_bytes": Fraction(memory)}
            assert height == pytest.approx(float(exact(name, held, by)), rel=1e-12, abs=1e-15)


def test_surfaces_rise_away_from_the_eye() -> None:
    """So nothing is hidden: each step back, or up, is higher on the page."""
    for figure in penalties.FIGURES:
        for name, weights in figure.panels:
            side = penalties.STEPS + 1
            height = penalties.surface(name, weights)["penalty"].to_numpy().reshape(side, side)
            assert (np.diff(height, axis=0) >= -1e-15).all()
            assert (np.diff(height, axis=1) >= -1e-15).all()


def test_problems_a_and_b() -> None:
    assert [(of.problem, of.penalty, of.charged) for of in penalties.PROBLEMS] == [
        ("A", "max_capped", 1.0),
        ("A", "max_scaled", 0.5),
        ("B", "max_capped", 0.5),
        ("B", "max_scaled", 0.5),
    ]


def test_one_job_or_nine() -> None:
    rows = {row[0]: row[1:] for row in penalties.splitting().rows()}
    assert rows["product"][:2] == pytest.approx((0.81, 0.09))
    assert rows["product_weighted"][:2] == pytest.approx((0.9, 0.9))
    # (1 − 0.9)(1 − 0.18) = 0.082; (1 − 0.1)(1 − 0.02) = 0.882
    assert rows["root"] == pytest.approx((0.9, 0.9, 1 - 0.082**0.5, 9 * (1 - 0.882**0.5)))
    for name in ("cpu", "max", "sum"):
        assert rows[name][0] == pytest.approx(rows[name][1])
        assert rows[name][2] == pytest.approx(rows[name][3])


def test_a_fortnight_of_memory() -> None:
    parts = {
        (name, user): part
        for name, user, part in penalties.fortnight()
        .select("penalty", "entity", "usage_fraction")
        .rows()
    }
    assert parts["cpu", "memory"] == pytest.approx(1 / 11)
    assert parts["max", "memory"] == parts["root", "memory"] == pytest.approx(1 / 2)
    assert parts["product", "memory"] == pytest.approx(0.1 / (0.1 + 0.125))
    assert movers(penalties.fortnight())["penalty"].to_list() == ["max", "max"]


def test_exempting_gpus() -> None:
    rows = penalties.exempting()
    assert rows.row(-1) == pytest.approx((1.0, 1.0, 1 / 3))
    assert rows["exempt"].to_list() == pytest.approx((rows["gpus"] / 3).to_list())
    assert (rows["exempt"] <= rows["root"]).all()


def test_charged_by_hand() -> None:
    rows = {name: parts for name, *parts in penalties.charged(penalties.fortnight()).iter_rows()}
    assert rows["cpu"] == pytest.approx([1 / 11, 10 / 11, 0])
    assert rows["max"] == pytest.approx([1 / 2, 1 / 2, 1 / 2 - 1 / 11])

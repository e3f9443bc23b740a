"""The check of statements, by statements that are hard to read; see also tests/security."""

import pytest

from audit.store.grammar import Grammar, Values


@pytest.mark.parametrize(
    "literal", [r"E'it\'s ('", r"e'\\' || '('", "'it''s ('", "'ON ('", "$a$ ('; $a$"]
)
def test_a_pivot_without_values_is_read_whatever_its_literals_hold(literal: str) -> None:
    asked = Grammar().check(f"PIVOT (SELECT {literal} AS a, 1 AS b) ON a USING sum(b)", frozenset())
    assert isinstance(asked, Values)
    assert len(asked.queries) == 1

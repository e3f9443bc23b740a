"""Constraints, as jobs of real sites write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.features import met, named

NODE = ("amd", "ssd", "rack1", "gpu_mem:80gb")


@pytest.mark.parametrize(
    ("constraint", "is_met"),
    [
        ("ssd", True),
        ("intel", False),
        ("gpu_mem:80gb", True),
        ("amd&ssd", True),
        ("amd&intel", False),
        ("intel|amd", True),
        ("intel|avx512", False),
        ("[rack1|rack2]", True),
        ("[rack2|rack3]", False),
        ("ssd&[rack1|rack2]", True),
        ("ssd&[rack2|rack3]", False),
        ("(amd&ssd)|intel", True),
        ("((intel|amd)&ssd)&tape", False),
        ("[(intel&ssd)|(amd&tape)]", False),
        # unclear
        ("intel*2", True),
        ("intel*2&amd*4", True),
        ("intel*2&tape", False),
        ("(intel&tape)*4", True),
        ("intel&tape|amd", True),
        ("!amd", True),
        ("intel,tape", True),
        ("(intel", True),
        ("intel&", True),
        ("", True),
        ("(" * 999 + "x" + ")" * 999, True),
    ],
)
def test_whether_a_node_meets_a_constraint(constraint: str, is_met: bool) -> None:
    assert met(constraint, NODE) is is_met


@given(st.text("ab&|()[]*2\0\1 ", max_size=12))
def test_more_features_meet_no_less(text: str) -> None:
    if not met(text, ("a", "b")):  # there is no negation
        assert not met(text, ("a",))
        assert not met(text, ())


def test_named() -> None:
    assert named("a&(b|c)&[d|e]") == {"a", "b", "c", "d", "e"}
    assert named("a*2&b*4") == {"a", "b"}
    assert named("[a*2&b]") == {"a", "b"}
    assert named("a 'b'") == {"a 'b'"}
    assert named("") == set()

"""The table of dialects, and what is said of a log that none of them reads."""

import pytest

from audit.errors import DialectError
from audit.formats import dialects
from tests.logs import busy


def test_every_dialect_is_in_the_table_under_its_name() -> None:
    assert "swf" in dialects.table()
    for name, dialect in dialects.table().items():
        assert dialect.name == name
        assert dialect.title


def test_detects_by_content() -> None:
    assert dialects.detect(busy().encode(), "x").name == "swf"


def test_an_unknown_log_is_shown() -> None:
    with pytest.raises(DialectError) as caught:
        dialects.detect(b"\n\xffJobID|User|State\n", "a/b.swf")
    message = str(caught.value)
    assert message.startswith("a/b.swf: not a log that fairaudit reads (known: ")
    assert r"\\xffJobID|User|State" in message
    assert caught.value.exit_code == 2

"""The last sentence of a process."""

import signal

import pytest

from audit.kernels import ending
from tests import processes


@pytest.mark.parametrize("text", [b"", b"ended\n", b"x" * 600])
def test_at_most_500_bytes_are_written_and_the_signal_stays(text: bytes) -> None:
    script = f"from {ending.__name__} import say_if_ended\nsay_if_ended({text!r})\n"
    for last, number in (("os.abort()", signal.SIGABRT), ("pass", 0)):
        done = processes.python("-c", f"import os\n{script}{last}", text=False)
        assert done.returncode == -number
        assert done.stderr == (text[:500] if number else b"")

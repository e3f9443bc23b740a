"""The remaining rights of a process that gave up all that it can."""

from pathlib import Path

import pytest

from audit.files import confine
from tests import processes
from tests.places import ROOT

PROGRAM = """
import errno, os, resource, signal, socket, sys
sys.path.insert(0, sys.argv[1])
from audit.files import confine

folder, file, other = sys.argv[2:5]
listening = socket.create_server(("127.0.0.1", 0))
port = listening.getsockname()[1]
inherited = os.open(other, os.O_WRONLY | os.O_APPEND)
confine.status()
network = sys.argv[5] == "network" or confine.leave_network()
confine.restrict([os.open(path, os.O_PATH) for path in (folder, file)])
confine.write_nothing()

def tried(what):
    try:
        what()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

print(tried(lambda: open(folder + "/inner").close()))
print(tried(lambda: open(file).close()))
print(tried(lambda: open(other).close()))
print(tried(lambda: open("/proc/self/environ").close()))
print(tried(lambda: os.open(folder + "/inner", os.O_WRONLY)))
print(tried(lambda: os.open(f"/proc/self/fd/{inherited}", os.O_WRONLY)))
print(tried(lambda: os.truncate(file, 0)))
print(tried(lambda: os.mkdir(folder + "/new")))
print(tried(lambda: os.unlink(folder + "/inner")))
print(tried(lambda: os.rename(folder + "/inner", folder + "/other")))
print(tried(lambda: os.write(inherited, b"x")))
print(tried(lambda: os.execv("/bin/true", ["true"])))
print(tried(lambda: socket.create_connection(("127.0.0.1", port), 5)))
print(tried(lambda: os.kill(os.getppid(), 0)))
confine.limit(data_bytes=1 << 24, cpu_s=10)
try:
    bytes(1 << 28)
except MemoryError:
    print("MemoryError")
confine.limit(data_bytes=1 << 24, cpu_s=0)
while sys.argv[5] != "network":  # once is enough: it takes a second
    pass
"""


@pytest.mark.skipif(confine.landlock() < 6, reason="needs Landlock with ABI 6")
@pytest.mark.parametrize("network", ["network", "no network"])
def test_only_what_is_named_can_be_read_and_nothing_written(tmp_path: Path, network: str) -> None:
    folder, file, other = tmp_path / "folder", tmp_path / "file", tmp_path / "other"
    folder.mkdir()
    for path in (folder / "inner", file, other):
        path.write_text("content")
    done = processes.python("-u", "-c", PROGRAM, *(ROOT, folder, file, other), network)
    said = done.stdout.split()
    assert said[:2] == ["done", "done"], done.stderr
    assert said[2:10] == ["EACCES"] * 8
    assert said[10:12] == ["EFBIG", "EACCES"]
    assert said[12] in ("EACCES", "ENETUNREACH")
    assert said[13:] == ["EPERM", "MemoryError"]
    assert done.returncode == (0 if network == "network" else -24)  # SIGXCPU
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder", "inner", "other"]
    for path in (folder / "inner", file, other):
        assert path.read_text() == "content"

"""Spellings of times, memory, nodes, chunks and hosts, by hand."""

import pytest

from audit.formats.pbs import allocations
from audit.formats.pbs.allocations import Amounts
from audit.formats.shaping import LARGEST


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("15240kb", 15_240 << 10),
        ("1993mb", 1993 << 20),
        ("8gb", 8 << 30),
        ("2TB", 2 << 40),
        ("4224531456b", 4_224_531_456),
        ("128849018880", 128_849_018_880),
        ("12.27M", int(12.27 * (1 << 20))),
        ("3w", 24),
        ("2gw", 16 << 30),
        ("9999999pb", None),
        ("much", None),
        ("-1", None),
        ("", None),
    ],
)
def test_sizes(text: str, number: int | None) -> None:
    assert allocations.size(text) == number


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("5:ncpus=13", Amounts(65, 5, 0)),
        ("2:ncpus=4:mem=8gb:ngpus=1+1:ncpus=2:mpiprocs=2", Amounts(10, 3, 2, 16 << 30)),
        ("1", Amounts(1, 1, 0)),
        ("ncpus=4:mem=1gb", Amounts(4, 1, 0, 1 << 30)),
        ("host=n1+2:vnode=n2", Amounts(3, 3, 0)),
        ("999999999:ncpus=999", Amounts(None, None, 0)),
        (f"1:ncpus={LARGEST}+1:ncpus=1", Amounts(None, 2, 0)),
        ("", Amounts(1, 1, 0)),
    ],
)
def test_select(text: str, amounts: Amounts) -> None:
    assert allocations.selected(text) == amounts


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("4:ppn=8", Amounts(32, 4, 0)),
        ("2:ppn=28+2:ppn=1", Amounts(58, 4, 0)),
        ("1:ppn=28:gpus=1:default", Amounts(28, 1, 1)),
        ("n7:ppn=8+n8", Amounts(9, 2, 0)),
        ("2:ppn=4:gpus=2+4:ppn=1:gpus=1", Amounts(12, 6, 8)),
        ("1:ppn=24:gpu=4:reqmem=128849018880:gpu", Amounts(24, 1, 4)),
        ("2:bigmem#shared", Amounts(2, 2, 0)),
    ],
)
def test_nodes(text: str, amounts: Amounts) -> None:
    assert allocations.of_nodes(text) == amounts


@pytest.mark.parametrize(
    ("text", "allocated"),
    [
        ("n1/0+n1/1+n2/0", (Amounts(3, 2), "n1,n2", "cpus=2,1")),
        ("n1/0-15+n2/0,3-5", (Amounts(20, 2), "n1,n2", "cpus=16,4")),
        ("n[1-3]/0-7+m/0-1", (Amounts(26, 4), "n1,n2,n3,m", "cpus=8(x3),2")),
        ("c1/0*13+c2/1*4", (Amounts(17, 2), "c1,c2", "cpus=13,4")),
        ("c1/0*4+c2/0*4+c1/1*2", (Amounts(10, 2), "c1,c2", "cpus=6,4")),
        ("n1/7+n1-gpu/0+n1-gpu/1", (Amounts(1, 1, 2), "n1", None)),
        ("n1/7+n2/0+n2-gpu/0", (Amounts(2, 2, 1), "n1,n2", "cpus=1(x2) gpus=0,1")),
        ("n1", (Amounts(None, 1), "n1", None)),
        ("n1+n2/0-3", (Amounts(None, 2), "n1,n2", None)),
        ("[host]/0*0", (Amounts(None, 1), None, None)),
        ("n 1/0+n2/0", (Amounts(2, 2), None, None)),
        ("n[1-99999]/0", (Amounts(1, 1), None, None)),
        ("n1:ssinodes=2:mem=1kb:ncpus=4", (Amounts(4, 1, None, 1024), "n1", None)),
        ("(n1:ncpus=2)+(n2:ncpus=1)", (Amounts(3, 2), "n1,n2", "cpus=2,1")),
        ("n[1-2]/0+" * 3 + "m/0", (Amounts(7, 3), "n1,n2,m", "cpus=3(x2),1")),
    ],
)
def test_hosts(text: str, allocated: tuple[Amounts, str | None, str | None]) -> None:
    assert allocations.on_hosts(text) == allocated


@pytest.mark.parametrize(
    ("text", "allocated"),
    [
        (
            "(n1:ncpus=4:mem=8388608kb)+(n2:ncpus=4)",
            (Amounts(8, 2, None, 8 << 30), "n1,n2", f"cpus=4(x2) mem_bytes={8 << 30},0"),
        ),
        (
            "(n1[0]:ncpus=4:ngpus=1+n1[1]:ncpus=2)+(n2[0]:ncpus=1:ngpus=3)",
            (Amounts(7, 2, 4), "n1,n2", "cpus=6,1 gpus=1,3"),
        ),
        (
            "([h][1]:mem=1kb:ngpus=2:ncpus=24+[h][0]:ngpus=2:ncpus=24)",
            (Amounts(48, 1, 4, 1024), None, None),
        ),
        ("n1", (Amounts(None, 1), "n1", None)),
        ("", (Amounts(None, 1), None, None)),
    ],
)
def test_vnodes(text: str, allocated: tuple[Amounts, str | None, str | None]) -> None:
    assert allocations.on_vnodes(text) == allocated


def test_thousands_of_tasks_are_not_counted_one_by_one() -> None:
    assert allocations.on_hosts("n1/0-268435455").amounts == Amounts(LARGEST, 1)


def test_hosts_that_are_too_many_are_unknown() -> None:
    hosts = "+".join(f"r{k}n[1-9999]/0" for k in range(7))
    assert allocations.on_hosts(hosts) == (Amounts(), None, None)

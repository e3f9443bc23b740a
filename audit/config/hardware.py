"""Section [clusters.hardware], and the tables of nodes [[clusters.pools.nodes]]."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from audit.config.sections import ConfigFault, ConfigSection, checked, in_bytes
from audit.hostlists import expand
from audit.words import first_of

_Count = Annotated[int | None, Field(ge=0)]
_Text = Annotated[str | None, Field(min_length=1)]


class Nodes(ConfigSection):
    """Some equal nodes of a pool."""

    names: Annotated[
        str, checked(expand, 'must be names of nodes, such as "n[001-100]", at most 65,536')
    ]
    cpus: _Count = None
    mem: Annotated[str, checked(in_bytes, "must be an amount of memory")] | None = None
    gpus: _Count = None
    gpu_type: Annotated[str | None, Field(pattern=r"^[^\s,:=]+$")] = None
    features: tuple[str, ...] | None = None
    partitions: tuple[str, ...] = ()

    @property
    def each(self) -> list[str]:
        """The names, one by one."""
        return expand(self.names) or []


class HardwareConfig(ConfigSection):
    """Files that describe a cluster's nodes, when they were out of service, and its limits."""

    nodes: _Text = None
    events: _Text = None
    reservations: _Text = None
    qmgr: _Text = None


def faults(pools: Sequence[Sequence[Nodes]]) -> Iterator[ConfigFault]:
    """Yield the names of nodes that occur several times in the tables of a cluster's pools."""
    counts = Counter(name for tables in pools for table in tables for name in table.each)
    twice = sorted(name for name, number in counts.items() if number > 1)
    if twice:
        yield ConfigFault(("pools",), f"nodes that occur twice: {first_of(twice)}", twice[0])

"""Which program printed a listing of machines, by its content."""

import json
from collections.abc import Mapping

from audit.formats.nodes import pbsnodes, scontrol, sinfo
from audit.formats.nodes.machine import NodeListing

EXPECTED = (
    "the output of 'scontrol show node -o' or '--json', 'sinfo -N -o \"%N|%c|%m|%G|%f|%R|%T\"' or "
    "'pbsnodes -a', also with '-F json'"
)


def read(text: str) -> NodeListing:
    """Return the machines of a text; without any if no program is recognised."""
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return _of_json(text)
    if scontrol.RECORD.search(text):
        return scontrol.read(text)
    if (found := sinfo.header(text)) is not None:
        return sinfo.read(text, *found)
    if pbsnodes.recognised(text):
        return pbsnodes.read(text)
    return NodeListing(problems=(f"no list of nodes; expected is {EXPECTED}",))


def _of_json(text: str) -> NodeListing:
    try:
        content = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else "nested too deeply"
        return NodeListing(problems=(f"no JSON: {why}",))
    nodes = content.get("nodes") if isinstance(content, Mapping) else None
    if isinstance(nodes, Mapping) and nodes:
        return pbsnodes.read_json(nodes)
    if not isinstance(nodes, list):
        return NodeListing(problems=(f"no list 'nodes' in the JSON; expected is {EXPECTED}",))
    return scontrol.read_json(nodes)

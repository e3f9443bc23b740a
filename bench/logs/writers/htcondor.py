"""Records as HTCondor prints them, in each of its forms."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal
from xml.sax.saxutils import escape

import polars as pl

from audit.formats.htcondor.records import quoted
from audit.formats.shaping import MIB

Form = Literal["long", "raw", "json", "jsonl", "xml"]

_ID: Final = re.compile(r"(?:([^#]+)#)?(\d+)\.(\d+)")
_STATUS: Final = {"PENDING": 1, "RUNNING": 2, "CANCELLED": 3, "SUSPENDED": 7}
_LINE_BREAKS: Final = {ord("\n"): "\\n", ord("\r"): "\\r"}


def write(frame: pl.DataFrame, form: Form = "long") -> bytes:
    """Attempts as a history in one of its forms; memory in MiB, rounded down.

    Characters that a form cannot hold are escaped: line breaks in ``long`` and
    ``raw``, control characters in ``xml``, NUL in all.

    Args:
        frame: columns of ``model.RECORDS``; ids are `ClusterId.ProcId`, with `schedd#` or without.
        form: ``raw`` is what a schedd's file holds.
    """
    return printed([ad_of(row) for row in frame.iter_rows(named=True)], form)


def printed(ads: Sequence[Mapping[str, Any]], form: Form) -> bytes:
    """Ads in one of the forms of a history; expressions are texts as in JSON, ``/Expr(…)/``."""
    match form:
        case "json":
            text = "[\n" + "\n,\n".join(json.dumps(ad, indent=2) for ad in ads) + "\n]\n"
        case "jsonl":
            text = "".join(json.dumps(ad) + "\n" for ad in ads)
        case "xml":
            head = '<?xml version="1.0"?>\n<!DOCTYPE classads SYSTEM "classads.dtd">\n<classads>\n'
            text = head + "".join(map(_xml, ads)) + "</classads>\n"
        case _:
            text = "".join(_long(ad, banner=form == "raw") for ad in ads)
    return text.encode()


def ad_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The ad of one attempt; expressions as texts, ``/Expr(…)/``."""
    match = _ID.fullmatch(row["job_id"])
    if match is None:
        raise ValueError(f"{row['job_id']!r} is not an id of HTCondor's: write it like ap#7.0")
    schedd, cluster, proc = match.groups()
    submit, start, end = row["submit_time"], row["start_time"], row["end_time"]
    status = _STATUS.get(row["state"], 4)
    ended = {"FAILED": {"ExitCode": 1}, "COMPLETED": {"ExitCode": 0}}.get(row["state"], {})
    memory = row["mem_bytes"]
    ad = {
        "AcctGroup": row["account"],
        "AllowedJobDuration": row["walltime_s"],
        "ClusterId": int(cluster),
        "CompletionDate": end if status == 4 else None,
        "CpusProvisioned" if start is not None else "RequestCpus": row["cpus"],
        "CumulativeSuspensionTime": row["suspended_s"],
        "EnteredCurrentStatus": end if end is not None else (start or submit),
        **ended,
        "GlobalJobId": schedd and f"{schedd}#{cluster}.{proc}#{submit}",
        "GPUsProvisioned": row["gpus"],
        "JobCurrentStartDate": start,
        "JobStartDate": start,
        "JobStatus": status,
        "JobUniverse": 5,
        "LastRemoteHost": row["node_list"] and f"slot1_2@{row['node_list']}",
        "LastJobStatus": 1 if start is None else 2,
        "MemoryProvisioned": None if memory is None else memory // MIB,
        "NumJobStarts": 0 if start is None else 1,
        "Owner": row["user"],
        "ProcId": int(proc),
        "QDate": submit,
        "RequestMemory": "/Expr(ImageSize)/",
    }
    return {name: value for name, value in ad.items() if value is not None}


def _is_expression(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("/Expr(")


def _long(ad: Mapping[str, Any], *, banner: bool) -> str:
    lines = []
    for name, value in ad.items():
        text = str(value)
        if _is_expression(value):
            text = text[6:-2]
        elif isinstance(value, str):
            text = quoted(value).translate(_LINE_BREAKS)
        lines.append(f"{name} = {text}\n")
    last = f"*** Offset = 0 ClusterId = {ad['ClusterId']} ProcId = {ad['ProcId']}" if banner else ""
    return "".join(lines) + last + "\n"


def _xml(ad: Mapping[str, Any]) -> str:
    lines = []
    for name, value in ad.items():
        tag, text = "i", str(value)
        if isinstance(value, str):
            tag = "e" if _is_expression(value) else "s"
            text = _held_by_xml(value[6:-2] if tag == "e" else value)
        lines.append(f'    <a n="{name}"><{tag}>{text}</{tag}></a>\n')
    return "<c>\n" + "".join(lines) + "</c>\n"


def _held_by_xml(text: str) -> str:
    kept = "".join(
        char if char >= " " or char in "\t\n\r" else f"\\x{ord(char):02x}" for char in text
    )
    return escape(kept, {"\r": "&#13;"})

"""The identity of a report, which its page, PDF and pages of users and accounts contain.

It is not a signature. It says which report a file claims to be, so that ``verify`` can make that
report again and compare the bytes.
"""

import base64
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from audit.config import VerdictConfig
from audit.errors import ReportError
from audit.model import Period
from audit.report.contents import Contents, Options, Who

if TYPE_CHECKING:
    from audit.report.owner.record import OwnerContents

_MARK: Final = "fairaudit-report:"
_FOUND: Final = re.compile(_MARK.encode() + rb"([A-Za-z0-9_=-]{1,200000})")
_STREAM: Final = re.compile(rb"stream\r?\n")
_LONGEST: Final = 1 << 22  # of a part of a PDF, decompressed


@dataclass(frozen=True, slots=True)
class ClaimedReport:
    """The report that a file claims to be."""

    cluster: str
    period: Period
    run_id: str
    version: str
    options: Options
    owner: Who | None = None  # whose page it is; None: the whole report
    linked: bool = False  # whether such a page links to the report
    seen: str = ""  # digest of the data of such a page


def written(contents: Contents) -> str:
    """Return the identity of a report as one word."""
    return _word(contents, {})


def of_page(contents: "OwnerContents", *, linked: bool) -> str:
    """Return the identity of the page of a user or account as one word; see ``ClaimedReport``."""
    return _word(contents, {"owner": contents.who, "linked": linked, "seen": contents.seen})


def _word(contents: "Contents | OwnerContents", more: Mapping[str, object]) -> str:
    claim = {
        "cluster": contents.cluster,
        "period": [contents.span.name, contents.span.from_time, contents.span.to_time],
        "run_id": contents.provenance.run_id,
        "version": contents.provenance.version,
        "options": asdict(contents.options),
        **more,
    }
    text = json.dumps(claim, sort_keys=True, separators=(",", ":"), default=_thresholds).encode()
    return _MARK + base64.urlsafe_b64encode(text).decode()


def _thresholds(of: VerdictConfig) -> dict[str, object]:
    """Return the thresholds of the verdict; which words fail is not part of a report."""
    return of.model_dump(exclude={"fail"})


def read(report: bytes) -> ClaimedReport:
    """Return the identity that a page or a PDF contains.

    Raises:
        ReportError: it contains none, or an unreadable one.
    """
    for part in _parts(report):
        if found := _FOUND.search(part):
            return _claim(found[1])
    raise ReportError("it contains no identity of a report: it is another file, or it was edited")


def _claim(word: bytes) -> ClaimedReport:
    try:
        return TypeAdapter(ClaimedReport).validate_python(
            json.loads(base64.urlsafe_b64decode(word))
        )
    except ValueError as error:
        raise ReportError(f"its identity cannot be read: it was edited ({error})") from (error)


def _parts(report: bytes) -> Iterator[bytes]:
    """Yield the whole file, and each compressed part of a PDF."""
    yield report
    if report.startswith(b"%PDF-"):
        for start in _STREAM.finditer(report):
            try:
                yield zlib.decompressobj().decompress(report[start.end() :], _LONGEST)
            except zlib.error:
                continue

"""The identity of a report, which its page, PDF and pages of users and accounts contain.

It is not a signature. It says which report a file claims to be, so that ``verify`` can make that
report again and compare the bytes.
"""

import base64
import json
import re
import zlib
from collections.abc import Iterator
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


def written(contents: "Contents | OwnerContents", **of_page: object) -> str:
    """Return the identity of a report, or of a page of it, as one word.

    ``of_page`` are the further fields of ``ClaimedReport`` that say which page of whom.
    """
    claim = {
        "cluster": contents.cluster,
        "period": [contents.span.name, contents.span.from_time, contents.span.to_time],
        "run_id": contents.provenance.run_id,
        "version": contents.provenance.version,
        "options": asdict(contents.options),
        **of_page,
    }

    def thresholds(of: VerdictConfig) -> dict[str, object]:
        return of.model_dump(exclude={"fail"})  # which words fail is not part of a report

    text = json.dumps(claim, sort_keys=True, separators=(",", ":"), default=thresholds).encode()
    return _MARK + base64.urlsafe_b64encode(text).decode()


def read(report: bytes) -> ClaimedReport:
    """Return the identity that a page or a PDF contains.

    Raises:
        ReportError: it contains none, or an unreadable one.
    """
    found = next(filter(None, map(_FOUND.search, _parts(report))), None)
    if not found:
        raise ReportError(
            "it contains no identity of a report: it is another file, or it was edited"
        )
    try:
        claim = json.loads(base64.urlsafe_b64decode(found[1]))
        return TypeAdapter(ClaimedReport).validate_python(claim)
    except ValueError as error:
        raise ReportError(f"its identity cannot be read: it was edited ({error})") from error


def _parts(report: bytes) -> Iterator[bytes]:
    """Yield the whole file, and each compressed part of a PDF."""
    yield report
    if report.startswith(b"%PDF-"):
        for start in _STREAM.finditer(report):
            try:
                yield zlib.decompressobj().decompress(report[start.end() :], _LONGEST)
            except zlib.error:
                continue

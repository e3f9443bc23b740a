"""Pings: tells a monitor elsewhere that a run begins, and how it ended.

As Healthchecks and its like take them: a POST to ``URL/start`` when a run begins, to ``URL`` when
it ended well, and to ``URL/fail`` when it did not. A monitor that hears nothing in time raises the
alarm, also where this machine is down. The text that goes along says how much was done, and what
kind of thing failed: no name, path or line of a log leaves the site.
"""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Literal
from urllib.parse import urlsplit, urlunsplit

from audit import __version__
from audit.config import Config, is_loopback
from audit.errors import LockedError
from audit.nightly.stages import Night

End = Literal["start", "", "fail"]

_MOST: Final = 500
"""Bytes of a ping's text."""


@contextmanager
def pinged(config: Config, clusters: Sequence[str], night: Night) -> Iterator[Callable[[], None]]:
    """Pings the end of the block; gives what pings its begin.

    A block that ends with LockedError did nothing, and pings nothing; neither does one that was
    asked to stop: the next goes on from there. A ping that does not arrive is a warning of
    ``night``, and changes nothing else.

    Args:
        clusters: whose run it is; an address that several share is pinged once.
        night: what the run did, in the end.
    """
    given = [config.service.ping_by_cluster.get(name, config.service.ping) for name in clusters]
    addresses = list(dict.fromkeys(address for address in given if address is not None))
    named = ", ".join(clusters)

    def ping(end: End, text: str) -> None:
        for address in addresses:
            why = send(address, end, f"{named}: {text}", config.service.ping_timeout_s)
            if why is not None:
                night.warnings.append(why)

    try:
        yield lambda: ping("start", "run begins")
    except LockedError:
        raise
    except Exception as error:
        ping("fail", f"run failed: {type(error).__name__}; 'fairaudit status' says why")
        raise
    if night.failures:
        kinds = ", ".join(sorted({type(failure).__name__ for failure in night.failures}))
        count = len(night.failures)
        ping("fail", f"run failed: {count} x {kinds}; 'fairaudit status' says why")
    else:
        counts = f"{len(night.read)} logs, {len(night.computed)} periods"
        ping("", f"run ended: {counts}, {len(night.reports)} reports, {len(night.sent)} mails")


def send(address: str, end: End, text: str, timeout_s: float) -> str | None:
    """Sends one ping; gives None, or why it did not arrive, without the address's secret part.

    Args:
        address: as ``config.Service.ping`` takes it.
        timeout_s: after so long it is given up, whatever the server does meanwhile.
    """
    said: list[str | None] = []
    asking = threading.Thread(
        # of the two limits the one below is of all that is asked, so it is the one that is told
        target=lambda: said.append(_asked(address, end, text, timeout_s + 1)),
        daemon=True,
    )
    asking.start()
    asking.join(timeout_s)
    why = said[0] if said else f"no answer in {timeout_s:g} s"
    if why is None:
        return None
    return f"service.ping: {urlsplit(address).hostname} was not told ({end or 'end'}): {why}"


def _asked(address: str, end: End, text: str, timeout_s: float) -> str | None:
    """Why the server did not take it; None where it did."""
    parts = urlsplit(address)
    path = f"{parts.path.rstrip('/')}/{end}" if end else parts.path
    request = urllib.request.Request(  # noqa: S310 - config.Service asks for http(s)
        urlunsplit(parts._replace(path=path)),
        data=text.encode(errors="backslashreplace")[:_MOST],
        headers={"User-Agent": f"fairaudit/{__version__}", "Content-Type": "text/plain"},
    )
    handlers: list[urllib.request.BaseHandler] = [_Here()]
    if is_loopback(parts.hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s):
            return None
    except urllib.error.HTTPError as error:
        return f"it answered {error.code}"
    except urllib.error.URLError as error:
        return str(error.reason)
    except (OSError, ValueError) as error:  # cut off, or no HTTP
        return type(error).__name__ if str(error) == "" else str(error)
    except Exception as error:
        return type(error).__name__


class _Here(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: who it leads to is nobody whom the site named."""

    def redirect_request(self, *_: object) -> None:
        """None: the answer stands as it is."""

"""Pings, by which an external monitor learns that a run begins, and how it ended.

The protocol is that of Healthchecks and similar services: a POST to ``URL/start`` when a run
begins, to ``URL`` when it ended well, and to ``URL/fail`` otherwise. A monitor that receives
nothing in time raises the alarm, also if this machine is down. The text has counts and kinds of
errors; no name, path or line of a log leaves the site.
"""

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

_MOST: Final = 500  # maximum length of a ping's text, in bytes


@contextmanager
def pinged(config: Config, clusters: Sequence[str], night: Night) -> Iterator[Callable[[], None]]:
    """Ping the end of the block; yield a function that pings the start.

    LockedError and a request to stop ping nothing. A ping that does not arrive is only a warning of
    ``night``. An address that several clusters share is pinged once.
    """
    service = config.service
    addresses = dict.fromkeys(service.ping_by_cluster.get(name, service.ping) for name in clusters)

    def ping(end: End, text: str) -> None:
        named = f"{', '.join(clusters)}: {text}"
        answers = [send(to, end, named, service.ping_timeout_s) for to in addresses if to]
        night.warnings.extend(filter(None, answers))

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
    """Send one ping; return None, or why it failed, without the secret part of the address.

    The thread bounds the whole exchange by ``timeout_s``, whatever the server does; the request's
    timeout bounds only each step of it.
    """
    answers: list[str | None] = []
    thread = threading.Thread(
        target=lambda: answers.append(_post(address, end, text, timeout_s + 1)), daemon=True
    )
    thread.start()
    thread.join(timeout_s)
    why = answers[0] if answers else f"no answer in {timeout_s:g} s"
    host = urlsplit(address).hostname
    return why and f"service.ping: {host} was not notified ({end or 'end'}): {why}"


def _post(address: str, end: End, text: str, timeout_s: float) -> str | None:
    parts = urlsplit(address)
    path = f"{parts.path.rstrip('/')}/{end}" if end else parts.path
    request = urllib.request.Request(  # noqa: S310 - config.Service requires http(s)
        urlunsplit(parts._replace(path=path)),
        data=text.encode(errors="backslashreplace")[:_MOST],
        headers={"User-Agent": f"fairaudit/{__version__}", "Content-Type": "text/plain"},
    )
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if is_loopback(parts.hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s):
            return None
    except urllib.error.HTTPError as error:
        return f"it answered {error.code}"
    except urllib.error.URLError as error:
        return str(error.reason)
    except Exception as error:  # the connection was lost, or the answer is not HTTP
        known = str(error) if isinstance(error, OSError | ValueError) else ""
        return known or type(error).__name__


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirects, which may lead to a host that the site did not name."""

    def redirect_request(self, *_: object) -> None:
        """Return None, which leaves the answer as it is."""

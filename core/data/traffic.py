"""The hub client's traffic for one file, bounded: bytes, redirects, requests and time; and one sentence for whatever goes wrong."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

import httpx

from core.data.pins import WITHOUT
from core.spec.errors import UserError

ANSWER_BYTES = 1 << 20  # of all answers that are not the file
UNDECLARED_BYTES = 64 << 20  # of a file whose size the hub does not declare
LARGEST_FILE = 8 << 30
REDIRECTS, REQUESTS = 5, 60  # in a row; of one file in all, those that the client repeats by itself included
LEAST_RATE, GRACE = 10_000, 60.0  # bytes a second; seconds before it counts
TIMEOUT = 10.0  # seconds of silence


def endpoint() -> str | None:
    """The mirror that the user named, or None for the hub itself."""
    return os.environ.get("HF_ENDPOINT") or None


def host() -> str:
    """What to call whoever is asked."""
    return endpoint() or "huggingface.co"


class Traffic:
    """What the client asks and gets for one file (`what`, as it is called in sentences) of so many declared bytes."""

    def __init__(self, what: str, declared: int | None):
        self.what = what
        self.most = ANSWER_BYTES + 2 * (UNDECLARED_BYTES if declared is None else declared)  # one that broke off may begin anew
        if self.most > 2 * LARGEST_FILE:
            raise UserError(f"{host()} declares {declared:,} bytes for {what}, which no such file has; check HF_ENDPOINT ({WITHOUT}).")
        self.got = self.requests = 0
        self.began = time.monotonic()

    def asked(self, request: httpx.Request) -> None:
        """Hook of the client, before each request."""
        self.requests += 1
        if self.requests > REQUESTS:
            raise UserError(f"{host()} does not come to an end with {self.what} after {REQUESTS} requests; try again later ({WITHOUT}).")
        self._keep_up()

    def answered(self, response: httpx.Response) -> None:
        """Hook of the client, before the body of each response is read."""
        if response.status_code == 429 or response.status_code >= 500:  # the client would wait for as long as it is told, and ask again
            raise UserError(f"{refusal(response.status_code, self.what)} ({WITHOUT}).")
        if response.headers.get("Content-Encoding", "identity") != "identity":  # nobody asked for it, and it could unfold to anything
            raise UserError(f"{host()} sends {self.what} in an encoding that was not asked for; check HF_ENDPOINT ({WITHOUT}).")
        assert isinstance(response.stream, httpx.SyncByteStream), "the client below is no asynchronous one"
        response.stream = _Counted(response.stream, self)

    def count(self, size: int) -> None:
        """So many bytes more have come. Raises UserError if they are too many or too slow."""
        self.got += size
        if self.got > self.most:
            raise UserError(f"{host()} sends more for {self.what} than the {self.most:,} bytes that it may; check HF_ENDPOINT ({WITHOUT}).")
        self._keep_up()

    def _keep_up(self) -> None:
        if time.monotonic() - self.began > GRACE + self.got / LEAST_RATE:
            raise UserError(f"{host()} sends {self.what} too slowly (below {LEAST_RATE:,} bytes a second); try again later ({WITHOUT}).")


class _Counted(httpx.SyncByteStream):
    """The body of a response, counted as it comes."""

    def __init__(self, stream: httpx.SyncByteStream, traffic: Traffic):
        self.stream, self.traffic = stream, traffic

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.stream:
            self.traffic.count(len(chunk))
            yield chunk

    def close(self) -> None:
        self.stream.close()


@contextlib.contextmanager
def bounded(what: str, declared: int | None = None) -> Iterator[None]:
    """Within it the hub's client keeps to the bounds of one file, and what it raises is a UserError of one sentence."""
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # a second way to download, past these bounds; read when the client is imported
    from huggingface_hub import close_session, constants, set_client_factory
    from huggingface_hub.utils._http import default_client_factory

    if constants.is_offline_mode():
        raise UserError(f"{what} is not at hand and HF_HUB_OFFLINE is set; unset it, or use --data-dir and --encoder ({WITHOUT}).")
    traffic = Traffic(what, declared)

    def client() -> httpx.Client:
        return httpx.Client(
            event_hooks={"request": [traffic.asked], "response": [traffic.answered]}, headers={"Accept-Encoding": "identity"},
            follow_redirects=True, max_redirects=REDIRECTS, timeout=TIMEOUT,
        )  # fmt: skip

    set_client_factory(client)
    try:
        yield
    except (UserError, KeyboardInterrupt):
        raise
    except Exception as error:
        said = sentence(error, what)
        if said is None:
            raise
        raise UserError(f"{said} ({WITHOUT}).") from error
    finally:
        set_client_factory(default_client_factory)
        close_session()


def sentence(error: Exception, what: str) -> str | None:
    """What the client's error means, without an end; None for an error that is not known."""
    from huggingface_hub.errors import FileMetadataError, HfHubHTTPError, LocalEntryNotFoundError

    if isinstance(error, LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    status = error.response.status_code if isinstance(error, HfHubHTTPError) and error.response is not None else None
    if status is not None:
        return refusal(status, what)
    if isinstance(error, (httpx.TooManyRedirects, FileMetadataError)):
        return f"{host()} does not answer like a model hub about {what}; check HF_ENDPOINT"
    if isinstance(error, (httpx.TransportError, LocalEntryNotFoundError)):
        return f"{host()} cannot be reached for {what}; connect, or bring data and encoder with --data-dir and --encoder"
    if isinstance(error, OSError) and "Consistency check" in str(error):
        return f"{what} arrived truncated; give the same command again"
    if isinstance(error, OSError):
        return f"{what} could not be saved ({error.strerror or error}); make space, or choose another --cache-dir"
    return None


def refusal(status: int, what: str) -> str:
    """What a status other than success means, without an end."""
    if status == 429:
        return f"{host()} answers that there were too many requests (429); wait some minutes and give the same command again"
    if status in (401, 403, 404):
        return f"{host()} has no {what} for us (status {status}); check HF_ENDPOINT, or use --data-dir and --encoder"
    return f"{host()} answered {what} with status {status}; try again later"

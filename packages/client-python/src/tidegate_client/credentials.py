"""Credentials, and the access tokens they are exchanged for (RFC 6749 section 4.4, client credentials)."""

import asyncio
import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from typing import IO, Any

from .errors import TidegateError, Unavailable, retry_after_seconds

ANSWER_SECONDS_MAX = 10.0
ANSWER_BYTES_MAX = 65_536
# About 30 years.
LIFE_SECONDS_MAX = 1_000_000_000
# The fraction of a token's lifetime after which the next one is requested.
RENEWAL = 0.8
# The fraction after which a token is no longer used, because it must still be valid when it arrives.
LAST_USE = 0.95
# Statuses that reject the request itself: a retry would be rejected too.
REFUSALS = (400, 401, 403)
# Statuses below 500 that ask for a later retry.
BUSY = (408, 425, 429)
# Statuses from 500 on where a retry never helps.
INCAPABLE = (501, 505)


@dataclass(frozen=True)
class Credentials:
    """A service's client, as in a credentials file."""

    client_id: str
    client_secret: str = field(repr=False)
    auth_url: str
    """The token endpoint's base address, such as `https://api.example.com`."""
    ws_url: str
    """The stream's base address, such as `wss://api.example.com`."""

    def __post_init__(self) -> None:
        for name in ("client_id", "client_secret", "auth_url", "ws_url"):
            value = getattr(self, name)
            if not isinstance(value, str) or value == "":
                raise TidegateError("INVALID_ARGUMENT", f"the credentials have no {name}: use the whole credentials file")
        for name, schemes in (("auth_url", ("https", "http")), ("ws_url", ("wss", "ws"))):
            address = getattr(self, name)
            if not address.startswith(tuple(f"{scheme}://" for scheme in schemes)):
                raise TidegateError("INVALID_ARGUMENT", f"the {name} is '{address}': it must begin with {schemes[0]}://")
            if not _has_host(address):
                raise TidegateError("INVALID_ARGUMENT", f"the {name} is '{address}': it has no valid host and port")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Credentials":
        """Reads a file written by `tidegate admin client create --credentials FILE` or by the demo.

        Raises OSError when it cannot be read, and TidegateError when it is not a credentials file.
        """
        with open(path, encoding="utf-8") as file:
            try:
                content = json.load(file)
            except ValueError:
                content = None
        if not isinstance(content, dict):
            raise TidegateError("INVALID_ARGUMENT", f"{os.fspath(path)} is not a credentials file: its content is not JSON")
        return cls(*(content.get(name, "") for name in ("client_id", "client_secret", "auth_url", "ws_url")))


def _has_host(address: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(address)
        # Reading the port raises ValueError for one that is not.
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


@dataclass(frozen=True)
class _Token:
    text: str = field(repr=False)
    renew_at: float
    end_at: float


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected request would take the secret or the token to another address."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


def opener() -> urllib.request.OpenerDirector:
    """For requests with a secret or a token: it follows no redirect."""
    return urllib.request.build_opener(_NoRedirect)


class TokenSource:
    """Keeps a token and renews it before it expires, while the old one stays in use. Only one request runs at a time.
    """

    def __init__(self, credentials: Credentials, scope: str) -> None:
        self._credentials = credentials
        self._scope = scope
        self._held: _Token | None = None
        self._request: asyncio.Task[_Token] | None = None
        # It has given a token, so the address is right.
        self._has_worked = False

    async def token(self) -> str:
        """A valid token. Raises TidegateError when the service refuses, and Unavailable."""
        held, now = self._held, time.monotonic()
        if held is not None and now < held.renew_at:
            return held.text
        request = self._renew()
        # The held token still works: if the renewal fails, the next call makes another attempt.
        if held is not None and now < held.end_at:
            return held.text
        return (await asyncio.shield(request)).text

    def discard(self, token: str) -> None:
        """The service rejected this token: it is not returned again."""
        if self._held is not None and self._held.text == token:
            self._held = None

    def _renew(self) -> asyncio.Task[_Token]:
        if self._request is None:
            self._request = asyncio.ensure_future(self._fetch())
            self._request.add_done_callback(self._finish)
        return self._request

    def _finish(self, request: asyncio.Task[_Token]) -> None:
        self._request = None
        # Reading the error marks it as retrieved where no caller waits for the renewal.
        if not request.cancelled() and request.exception() is None:
            self._held = request.result()

    async def _fetch(self) -> _Token:
        started_at = time.monotonic()
        url = f"{self._credentials.auth_url.rstrip('/')}/oauth2/token"
        try:
            status, answer, retry_after = await asyncio.wait_for(asyncio.to_thread(self._post, url), ANSWER_SECONDS_MAX)
        except TimeoutError as error:
            raise Unavailable(f"{url} did not answer in time", is_unreachable=True) from error
        text, life = answer.get("access_token"), answer.get("expires_in")
        is_token = status < 300 and isinstance(text, str)
        if not is_token or not isinstance(life, (int, float)) or not 0 <= life <= LIFE_SECONDS_MAX:
            raise _refusal(f"{url} answered {status}", status, answer, retry_after, self._has_worked)
        self._has_worked = True
        return _Token(str(text), started_at + life * RENEWAL, started_at + life * LAST_USE)

    def _post(self, url: str) -> tuple[int, dict[str, Any], float]:
        """The answer's status, members and Retry-After in seconds. Runs in a thread."""
        form = {
            "grant_type": "client_credentials",
            "client_id": self._credentials.client_id,
            "client_secret": self._credentials.client_secret,
            "scope": self._scope,
        }
        request = urllib.request.Request(url, urllib.parse.urlencode(form).encode("ascii"))
        try:
            with opener().open(request, timeout=ANSWER_SECONDS_MAX) as response:
                return response.status, _members(response.read(ANSWER_BYTES_MAX)), 0
        except urllib.error.HTTPError as error:
            return error.code, _members(_body(error)), retry_after_seconds(error.headers.get("Retry-After"))
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            # The stream's library trusts the same authorities.
            is_untrusted = isinstance(reason, ssl.SSLCertVerificationError)
            advice = ". For a private authority's certificate, set SSL_CERT_FILE" if is_untrusted else ""
            raise Unavailable(f"cannot reach {url}: {reason}{advice}", is_unreachable=True) from error


def _refusal(what: str, status: int, answer: dict[str, Any], retry_after: float, has_worked: bool) -> Exception:
    """Explains why there is no token.

    A status that neither rejects the request nor is temporary means a wrong address. Where tokens came from this
    address before, it means a proxy whose service is restarting.
    """
    what = f"{what} {answer.get('error', '')}: {answer.get('error_description', 'no token')}"
    if status in REFUSALS:
        return TidegateError("TOKEN_REFUSED", f"{what}. Check client_id, client_secret and the client's scopes")
    is_temporary = status in BUSY or (status >= 500 and status not in INCAPABLE)
    if not is_temporary and not has_worked:
        return TidegateError("TOKEN_REFUSED", f"{what}. Check auth_url: there is no token endpoint at this address")
    return Unavailable(what, retry_after)


def _body(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(ANSWER_BYTES_MAX)
    except (OSError, HTTPException):
        return b""


def _members(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}

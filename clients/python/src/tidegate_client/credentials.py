"""Credentials, and the access tokens that they are exchanged for (RFC 6749 section 4.4, client credentials)."""

import asyncio
import json
import math
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
# Part of a token's life after which the next one is requested.
RENEWAL = 0.8
# A token is not used in its last part of life, so that it is still valid when it arrives.
LAST_USE = 0.95


@dataclass(frozen=True)
class Credentials:
    """The client of a service, as in a credentials file."""

    client_id: str
    client_secret: str = field(repr=False)
    auth_url: str
    """Base address of the token endpoint, such as `https://api.example.com`."""
    ws_url: str
    """Base address of the stream, such as `wss://api.example.com`."""

    def __post_init__(self) -> None:
        for name in ("client_id", "client_secret", "auth_url", "ws_url"):
            value = getattr(self, name)
            if not isinstance(value, str) or value == "":
                raise TidegateError("INVALID_ARGUMENT", f"the credentials have no {name}: use the whole credentials file")
        for name, schemes in (("auth_url", ("https", "http")), ("ws_url", ("wss", "ws"))):
            address = getattr(self, name)
            if not address.startswith(tuple(f"{scheme}://" for scheme in schemes)):
                raise TidegateError("INVALID_ARGUMENT", f"the {name} is '{address}': it must begin with {schemes[0]}://")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Credentials":
        """Reads the file that `tidegate admin client create --credentials FILE` and the demo write.

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


@dataclass(frozen=True)
class _Token:
    text: str = field(repr=False)
    renew_at: float
    end_at: float


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected request would take the secret to another address."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


class TokenSource:
    """Keeps a token and renews it before it expires, while the old one is still used; one request is made at a time."""

    def __init__(self, credentials: Credentials, scope: str) -> None:
        self._credentials = credentials
        self._scope = scope
        self._held: _Token | None = None
        self._request: asyncio.Task[_Token] | None = None

    async def token(self) -> str:
        """A token that is valid now. Raises TidegateError when the service refuses, and Unavailable."""
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
        # Marks the error as noticed where no caller waits for the renewal.
        if not request.cancelled() and request.exception() is None:
            self._held = request.result()

    async def _fetch(self) -> _Token:
        started_at = time.monotonic()
        url = f"{self._credentials.auth_url.rstrip('/')}/oauth2/token"
        try:
            answer = await asyncio.wait_for(asyncio.to_thread(self._post, url), ANSWER_SECONDS_MAX)
        except TimeoutError as error:
            raise Unavailable(f"{url} did not answer in time", is_unreachable=True) from error
        text, life = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(text, str) or not isinstance(life, (int, float)) or not math.isfinite(life):
            raise Unavailable(f"{url} answered without access_token and expires_in")
        return _Token(text, started_at + life * RENEWAL, started_at + life * LAST_USE)

    def _post(self, url: str) -> dict[str, Any]:
        """Runs in a thread."""
        form = {
            "grant_type": "client_credentials",
            "client_id": self._credentials.client_id,
            "client_secret": self._credentials.client_secret,
            "scope": self._scope,
        }
        request = urllib.request.Request(url, urllib.parse.urlencode(form).encode("ascii"))
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            with opener.open(request, timeout=ANSWER_SECONDS_MAX) as response:
                return _members(response.read(ANSWER_BYTES_MAX))
        except urllib.error.HTTPError as error:
            raise _refusal(url, error) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            # The library of the stream trusts the same authorities.
            is_untrusted = isinstance(reason, ssl.SSLCertVerificationError)
            advice = ". For a certificate of a private authority, set SSL_CERT_FILE" if is_untrusted else ""
            raise Unavailable(f"cannot reach {url}: {reason}{advice}", is_unreachable=True) from error


def _refusal(url: str, error: urllib.error.HTTPError) -> Exception:
    """3xx and 4xx: the same request would be refused again, except for 408 and 429."""
    try:
        body = error.read(ANSWER_BYTES_MAX)
    except (OSError, HTTPException):
        body = b""
    answer = _members(body)
    what = f"{url} answered {error.code} {answer.get('error', '')}: {answer.get('error_description', 'no description')}"
    if error.code < 500 and error.code not in (408, 429):
        return TidegateError("TOKEN_REFUSED", f"{what}. Check client_id, client_secret and the scopes of the client")
    return Unavailable(what, retry_after_seconds(error.headers.get("Retry-After")))


def _members(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}

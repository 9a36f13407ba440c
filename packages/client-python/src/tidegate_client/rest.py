"""GET requests to the REST API with an access token. A token which the service rejects is replaced once."""

import asyncio
import json
import urllib.error
import urllib.request
from http.client import HTTPException, IncompleteRead
from typing import Any, NamedTuple

from .credentials import TokenSource, opener
from .errors import TidegateError, Unavailable, retry_after_seconds

ANSWER_SECONDS_MAX = 30.0
# More than the largest page.
ANSWER_BYTES_MAX = 16_777_216


class Answer(NamedTuple):
    status: int
    # Empty where the body is not a JSON object.
    content: dict[str, Any]
    # The seconds in Retry-After.
    retry_after: float


async def get(tokens: TokenSource, url: str) -> Answer:
    """The answer, whatever its status. Raises TidegateError where there is no token, and Unavailable."""
    for is_last in (False, True):
        token = await tokens.token()
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        answer = await asyncio.to_thread(_fetch, request)
        if answer.status != 401 or is_last:
            break
        tokens.discard(token)
    return answer


def failure(url: str, answer: Answer) -> Exception:
    """Unavailable where the same request may succeed later, otherwise a TidegateError."""
    status, content, retry_after = answer
    what = f"{url.split('?')[0]} answered {status}: {content.get('detail', 'not what was requested')}"
    if status == 429 or status >= 500:
        return Unavailable(what, retry_after)
    return TidegateError("INVALID_ARGUMENT", what)


def _fetch(request: urllib.request.Request) -> Answer:
    """Runs in a thread."""
    try:
        try:
            with opener().open(request, timeout=ANSWER_SECONDS_MAX) as response:
                return Answer(response.status, _members(_body(response)), 0)
        except urllib.error.HTTPError as error:
            with error:
                content = _members(_body(error))
            return Answer(error.code, content, retry_after_seconds(error.headers.get("Retry-After")))
    except (OSError, HTTPException) as error:
        raise Unavailable(f"cannot reach {request.full_url.split('?')[0]}: {error}", is_unreachable=True) from error


def _body(response: Any) -> bytes:
    """The whole body. Raises IncompleteRead when the connection ended before, which a bounded `read` does not report."""
    body: bytes = response.read(ANSWER_BYTES_MAX)
    # What Content-Length still promises. None without it.
    if response.length:
        raise IncompleteRead(body, response.length)
    return body


def _members(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}

"""A customer's events over the REST API: for programs that may not open a WebSocket."""

import asyncio
import json
import random
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncGenerator
from http.client import HTTPException
from typing import Any

from .credentials import Credentials, TokenSource
from .errors import EventsExpired, TidegateError, Unavailable, retry_after_seconds
from .events import CustomerEvent, check_after

SCOPE = "events:read_event"
ANSWER_SECONDS_MAX = 30.0
# More than the largest page.
ANSWER_BYTES_MAX = 16_777_216
RETRY_SECONDS_MAX = 60.0


async def polled_events(
    credentials: Credentials, base_url: str, after: int | None = None, poll_seconds: float = 5
) -> AsyncGenerator[CustomerEvent, None]:
    """The customer's events in order, each once.

    base_url: the REST API's base address, `base_url` in a credentials file. after: the last processed sequence,
    otherwise events follow from now on. After the first answer, an unavailable service is waited for. Raises
    EventsExpired, and TidegateError where a retry would not help.
    """
    check_after(after)
    tokens = TokenSource(credentials, SCOPE)
    last = start = after
    cursor: str | None = None
    failures = 0
    has_worked = False
    while True:
        query = {"order": "DESC", "limit": "1"} if start is None else {"after": str(start), "limit": "1000"}
        if cursor is not None:
            query["page_cursor"] = cursor
        try:
            page = await _get(tokens, f"{base_url.rstrip('/')}/v2/events?{urllib.parse.urlencode(query)}")
        except Unavailable as error:
            if not has_worked:
                raise TidegateError("UNREACHABLE", str(error)) from error
            failures += 1
            seconds = min(RETRY_SECONDS_MAX, max(error.retry_after, 2.0**failures * random.uniform(0.5, 1)))
            await asyncio.sleep(seconds)
            continue
        has_worked, failures = True, 0
        items: list[CustomerEvent] = page["items"]
        if start is None or last is None:
            start = last = items[0]["sequence"] if items else 0
            continue
        for event in items:
            if event["sequence"] > last:
                yield event
                last = event["sequence"]
        # A page may have no visible event and still be followed by others.
        cursor = page.get("next_page_cursor")
        if cursor is None:
            start = last
            await asyncio.sleep(poll_seconds)


async def _get(tokens: TokenSource, url: str) -> dict[str, Any]:
    for is_last in (False, True):
        token = await tokens.token()
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        status, content, retry_after = await asyncio.to_thread(_fetch, request)
        if status == 401 and not is_last:
            tokens.discard(token)
            continue
        break
    if status == 200 and isinstance(content.get("items"), list):
        return content
    if content.get("code") == "events_expired":
        raise EventsExpired(int(content["meta"]["oldest_sequence"]))
    what = f"{url.split('?')[0]} answered {status}: {content.get('detail', 'no page of events')}"
    if status == 429 or status >= 500:
        raise Unavailable(what, retry_after)
    raise TidegateError("INVALID_ARGUMENT", what)


def _fetch(request: urllib.request.Request) -> tuple[int, dict[str, Any], float]:
    """The answer's status, members and Retry-After in seconds. Runs in a thread."""
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as response:
            return response.status, _members(response.read(ANSWER_BYTES_MAX)), 0
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _members(error.read(ANSWER_BYTES_MAX)), retry_after_seconds(error.headers.get("Retry-After"))
    except (OSError, HTTPException) as error:
        raise Unavailable(f"cannot reach {request.full_url.split('?')[0]}: {error}", is_unreachable=True) from error


def _members(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}

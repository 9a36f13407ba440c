"""A customer's events over the REST API: for programs that may not open a WebSocket."""

import asyncio
import random
import urllib.parse
from collections.abc import AsyncGenerator
from typing import Any

from .credentials import Credentials, TokenSource
from .errors import EventsExpired, TidegateError, Unavailable
from .events import CustomerEvent, check_after
from .rest import failure, get

SCOPE = "events:read_event"
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
    # The loop has just begun, and no event was visible.
    is_without_event = False
    while True:
        query = {"order": "DESC", "limit": "1"} if start is None else {"after": str(start), "limit": "1000"}
        if cursor is not None:
            query["page_cursor"] = cursor
        try:
            page = await _page(tokens, f"{base_url.rstrip('/')}/v2/events?{urllib.parse.urlencode(query)}")
        except Unavailable as error:
            if not has_worked:
                raise TidegateError("UNREACHABLE", str(error)) from error
            failures += 1
            # The exponent has a limit, because 2.0**1024 is an OverflowError: an outage may be that long.
            backoff = 2.0 ** min(failures, 10) * random.uniform(0.5, 1)
            seconds = min(RETRY_SECONDS_MAX, max(error.retry_after, backoff))
            await asyncio.sleep(seconds)
            continue
        except EventsExpired as expired:
            if not is_without_event:
                raise
            # Those that are no longer kept are from before the loop.
            start = last = expired.oldest_sequence - 1
            is_without_event = False
            continue
        has_worked, failures = True, 0
        items: list[CustomerEvent] = page["items"]
        if start is None or last is None:
            # A page may have no visible event although an earlier one exists.
            cursor = None if items else page.get("next_page_cursor")
            if cursor is None:
                start = last = items[0]["sequence"] if items else 0
                is_without_event = not items
            continue
        is_without_event = False
        for event in items:
            if event["sequence"] > last:
                yield event
                last = event["sequence"]
        # A page may have no visible event and still be followed by others.
        cursor = page.get("next_page_cursor")
        if cursor is None:
            start = last
            await asyncio.sleep(poll_seconds)


async def _page(tokens: TokenSource, url: str) -> dict[str, Any]:
    answer = await get(tokens, url)
    if answer.status == 200 and isinstance(answer.content.get("items"), list):
        return answer.content
    if answer.content.get("code") == "events_expired":
        raise EventsExpired(int(answer.content["meta"]["oldest_sequence"]))
    raise failure(url, answer)

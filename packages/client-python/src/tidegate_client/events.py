"""A customer's events, in order and each once, over the stream's channel `events`.

The connection is their own. A lost one is opened again, and the subscription resumes after the last event. While the
loop is slow the connection is closed, and the service keeps the events.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any

from .connection import Connection, ConnectionEvents
from .credentials import Credentials, TokenSource
from .errors import EventsExpired, TidegateError

# The scopes required by the channel.
EVENT_SCOPES = "exchange:read_aggregated_marketdata_stream events:read_event"
# Events that wait for the loop. Beyond this many, the connection is closed until it has taken half.
QUEUED_MAX = 10_000

# An event's members, as in GET /v2/events.
CustomerEvent = dict[str, Any]


def check_after(after: int | None) -> None:
    if after is not None and (not isinstance(after, int) or isinstance(after, bool) or after < 0):
        raise TidegateError("INVALID_ARGUMENT", f"after is {after!r}: it must be a sequence, a whole number from 0 on")


class Events:
    """Loop over it once: several loops would share the events."""

    def __init__(self, credentials: Credentials, after: int | None, on_end: Callable[["Events"], None]) -> None:
        check_after(after)
        self._on_end = on_end
        self._queue: deque[CustomerEvent] = deque()
        # The last queued sequence, or the one to begin after.
        self._last = after
        self._last_heartbeat: float | None = None
        self._is_paused = False
        self._is_ended = False
        self._error: Exception | None = None
        self._news = asyncio.Event()
        events = ConnectionEvents(self._subscribe, self._receive, lambda code, reason, seconds: None, self._failed)
        url = f"{credentials.ws_url.rstrip('/')}/"
        self._connection = Connection(url, TokenSource(credentials, EVENT_SCOPES), events)
        self._connection.open()

    def __aiter__(self) -> "Events":
        return self

    async def __anext__(self) -> CustomerEvent:
        while len(self._queue) == 0:
            if self._error is not None:
                raise self._error
            if self._is_ended:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        event = self._queue.popleft()
        if self._is_paused and not self._is_ended and len(self._queue) < QUEUED_MAX // 2:
            self._is_paused = False
            self._connection.open()
        return event

    def close(self) -> None:
        """Ends the loop."""
        self._queue.clear()
        self._end(None)

    async def closed(self) -> None:
        """Waits until the socket is closed."""
        await self._connection.closed()

    def _subscribe(self) -> None:
        self._last_heartbeat = None
        if not self._connection.is_extended:
            self._end(TidegateError("SUBSCRIPTION_REFUSED", "the service does not speak tidegate.v1: it has no events"))
            return
        params = {} if self._last is None else {"after": self._last}
        channels = [{"type": "heartbeat"}, {"type": "events", "params": params}]
        self._connection.send({"type": "subscribe", "channels": channels})

    def _receive(self, data: object) -> None:
        if self._is_ended or self._is_paused:
            return
        try:
            message = json.loads(data) if isinstance(data, str) else None
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._connection.restart("a message is not a JSON object")
            return
        channel = message.get("channel")
        if channel == "events":
            self._take(message["payload"])
        elif channel == "heartbeat":
            self._note_heartbeat(message["payload"]["timestamp"])
        elif message.get("type") == "error":
            self._connection.restart("a request was rejected")
        else:
            for entry in message.get("channels", []):
                if entry.get("type") == "events":
                    self._receive_entry(entry, message.get("type") == "subscribe")

    def _take(self, event: CustomerEvent) -> None:
        self._connection.confirm()
        if self._last is not None and event["sequence"] <= self._last:
            return
        self._last = event["sequence"]
        self._queue.append(event)
        self._news.set()
        if len(self._queue) >= QUEUED_MAX:
            self._is_paused = True
            self._connection.close()

    def _receive_entry(self, entry: dict[str, Any], is_subscribe: bool) -> None:
        error = entry.get("error")
        if error is None and entry.get("success") is True and is_subscribe:
            self._connection.confirm()
            if self._last is None:
                self._last = entry.get("last_sequence")
        elif error == "events_expired":
            self._end(EventsExpired(int(entry["oldest_sequence"])))
        elif error in ("unavailable", "INTERNAL_SERVER_ERROR"):
            self._connection.restart(str(entry.get("message")))
        else:
            what = f"events: {entry.get('message')} ({error}). Ask the operator for the scope"
            self._end(TidegateError("SUBSCRIPTION_REFUSED", what))

    def _note_heartbeat(self, timestamp: str) -> None:
        seconds = datetime.fromisoformat(f"{timestamp[:23]}+00:00").timestamp()
        if self._last_heartbeat is not None:
            self._connection.note_heartbeats(seconds - self._last_heartbeat)
        self._last_heartbeat = seconds

    def _failed(self, error: Exception) -> None:
        self._end(error)

    def _end(self, error: Exception | None) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        self._error = error
        self._connection.close()
        self._news.set()
        self._on_end(self)

"""A stream client: one connection and its subscriptions.

It requests all subscriptions whenever the connection opens, and passes each message to its subscription. It begins a
subscription again when a message is wrong or the service has ended it.
"""

import asyncio
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

from .book import Book
from .connection import Connection, ConnectionEvents
from .credentials import Credentials, TokenSource
from .errors import Fault, TidegateError
from .events import Events
from .executions import Executions
from .messages import (
    BookMessage,
    BookStatement,
    DataMessage,
    ExecutionMessage,
    Heartbeat,
    Reply,
    ReplyEntry,
    RequestError,
    TopMessage,
    parse_message,
)
from .top_of_book import TopOfBook

# The scope required by the stream.
STREAM_SCOPE = "exchange:read_aggregated_marketdata_stream"
# Wait before restarting a subscription that has just been restarted.
REPAIR_SECONDS = 1.0
REPAIR_SECONDS_MAX = 30.0
# After this time without a fault, the next one is repaired at once.
TRUST_SECONDS = 60.0
# Entries per request. A service rejects messages over 64 KiB (`stream.inbound_bytes_max`), and an entry has less than
# 256 bytes. It also rejects a request with more entries than `stream.subscriptions_max` permits, a limit it does not
# announce.
ENTRIES_MAX = 200
# The channel for each message kind.
CHANNELS: dict[type[DataMessage], str] = {
    BookMessage: Book.channel,
    TopMessage: TopOfBook.channel,
    ExecutionMessage: Executions.channel,
}
# The longest permitted symbol has 64 characters. A limit keeps requests within their size.
MARKET = re.compile(r"[!-~]{1,64}")
# What to do about a refused subscription.
ADVICE = {
    "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION": "GET /v2/markets lists the markets; also check the options",
    "UNKNOWN_CHANNEL": "The service does not have this channel",
    "NO_EFFECT_ACTION": "Close others, or use one more StreamClient",
}


@dataclass(frozen=True, slots=True)
class Connected:
    url: str


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection ended or could not be opened. It will be opened again after the delay."""

    code: int | None
    """The close code, if there was a connection."""
    reason: str
    retry_in_seconds: float


@dataclass(frozen=True, slots=True)
class Resync:
    """A subscription is begun again on the same connection."""

    market: str
    reason: str


# Connection events. The client reacts by itself: these are for logs and displays.
StreamEvent = Connected | Disconnected | Resync

Subscription = Book | TopOfBook | Executions
Key = tuple[str, str | None]


@dataclass(slots=True)
class Row:
    subscription: Subscription
    # `idle`: not requested on this connection. `waiting`: will be requested when `timer` ends. `requested`: anything
    # that arrives before the acknowledgement belongs to an earlier subscription.
    stage: Literal["idle", "waiting", "requested", "active"] = "idle"
    # How often the subscription was begun again in short succession, and when last.
    repairs: int = 0
    repaired_at: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def cancel_repair(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


@dataclass(frozen=True, slots=True)
class Request:
    rows: list[Row]
    entry_count: int


class StreamClient:
    """Use it as an asynchronous context manager, in one event loop."""

    def __init__(self, credentials: Credentials, on_event: Callable[[StreamEvent], None] | None = None) -> None:
        self._url = f"{credentials.ws_url.rstrip('/')}/"
        self._on_event = on_event
        self._credentials = credentials
        self._events: set[Events] = set()
        self._rows: dict[Key, Row] = {}
        self._is_open = False
        self._has_heartbeat = False
        self._last_heartbeat: float | None = None
        # Our unanswered unsubscribe requests. An unsubscribe reply beyond them is the service's own notice.
        self._unsubscribing: dict[Key, int] = {}
        # The unanswered subscribe request. There is only one at a time, because errors name no request.
        self._unanswered: Request | None = None
        # The next request's limit.
        self._entries_max = ENTRIES_MAX
        # A request is scheduled, for everything the program subscribes together.
        self._is_flushing = False
        events = ConnectionEvents(self._opened, self._receive, self._lost, self._failed)
        self._connection = Connection(self._url, TokenSource(credentials, STREAM_SCOPE), events)

    async def __aenter__(self) -> "StreamClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def book(
        self, market: str, *, depth: int | None = None, interval_ms: int | None = None, attribution: bool = False
    ) -> Book:
        """A market's live book. Returns when the book is complete.

        depth: best levels per side (1, 5, 10, 25, 50, 100, 500 or 1000), otherwise all published levels.
        interval_ms: at most one update per 50, 100, 250, 500 or 1000 milliseconds, otherwise every update.
        attribution: levels name their venues (a level's `venues`). No effect in the base protocol. Waits while the
        service has no source for the market, or cannot be reached again after the first connection: cancel it, or
        use `asyncio.timeout`. Raises TidegateError when the service refuses the subscription.
        """
        _check_whole("depth", depth)
        _check_whole("interval_ms", interval_ms)
        if not isinstance(attribution, bool):
            raise TidegateError("INVALID_ARGUMENT", f"attribution is {attribution!r}: it must be True or False")
        book = Book(market, depth, interval_ms, self._remove, attribution)
        await self._add(book)
        return book

    async def top_of_book(self, market: str, *, interval_ms: int | None = None) -> TopOfBook:
        """The best price on each side of a market, which costs less than its book. Returns with the first prices.

        interval_ms: at most one change per 50, 100, 250, 500 or 1000 milliseconds, otherwise every change. Waits and
        raises as `book` does.
        """
        _check_whole("interval_ms", interval_ms)
        top = TopOfBook(market, interval_ms, self._remove)
        await self._add(top)
        return top

    async def executions(self, market: str) -> Executions:
        """A market's executions from now on. Returns when the service has accepted the subscription.

        Raises TidegateError when the service refuses the subscription.
        """
        executions = Executions(market, self._remove)
        await self._add(executions)
        return executions

    def events(self, *, after: int | None = None) -> Events:
        """The customer's events in order, each once, on a connection of their own.

        after: the last processed sequence, otherwise events follow from now on. The client needs the scope
        events:read_event. The loop raises EventsExpired when events after `after` are no longer kept.
        """
        events = Events(self._credentials, after, self._events.discard)
        self._events.add(events)
        return events

    async def close(self) -> None:
        """Ends all subscriptions and the connections."""
        self._end_all(None)
        events = list(self._events)
        for each in events:
            each.close()
        for each in events:
            await each.closed()
        await self._connection.closed()

    async def _add(self, subscription: Subscription) -> None:
        market = subscription.market
        if not isinstance(market, str) or MARKET.fullmatch(market) is None:
            raise TidegateError("INVALID_ARGUMENT", f"the market is {market!r}: pass a symbol such as BTCUSD")
        key = _key_of(subscription)
        if key in self._rows:
            what = f"{subscription.channel} of {subscription.market} is subscribed already"
            raise TidegateError("INVALID_ARGUMENT", f"{what}: share it, or use another StreamClient")
        self._rows[key] = Row(subscription)
        self._connection.open()
        self._request()
        try:
            await subscription.ready
        except asyncio.CancelledError:
            self._remove(subscription)
            raise

    def _remove(self, subscription: Subscription) -> None:
        row = self._rows.get(_key_of(subscription))
        if row is None or row.subscription is not subscription:
            return
        if row.stage in ("requested", "active"):
            self._unsubscribe(subscription)
        self._end(row, None)
        if len(self._rows) == 0:
            self._close()

    def _end(self, row: Row, error: TidegateError | None) -> None:
        del self._rows[_key_of(row.subscription)]
        row.cancel_repair()
        row.subscription.end(error)

    def _end_all(self, error: TidegateError | None) -> None:
        for row in list(self._rows.values()):
            self._end(row, error)
        self._close()

    def _close(self) -> None:
        self._forget_connection()
        self._connection.close()

    def _opened(self) -> None:
        self._is_open = True
        self._report(Connected(self._url))
        self._request()

    def _lost(self, code: int | None, reason: str, retry_in_seconds: float) -> None:
        self._forget_connection()
        for row in self._rows.values():
            row.subscription.suspend(reason)
        self._report(Disconnected(code, reason, retry_in_seconds))

    def _failed(self, error: Exception) -> None:
        if isinstance(error, TidegateError):
            self._end_all(error)
            return
        self._end_all(TidegateError("PROTOCOL_ERROR", f"the client failed: {error!r}. Report this fault"))
        raise error

    def _forget_connection(self) -> None:
        self._is_open = False
        self._has_heartbeat = False
        self._last_heartbeat = None
        self._unanswered = None
        self._unsubscribing.clear()
        for row in self._rows.values():
            row.cancel_repair()
            row.stage = "idle"

    def _report(self, event: StreamEvent) -> None:
        if self._on_event is not None:
            self._on_event(event)

    def _request(self) -> None:
        """In the event loop's next iteration, subscribes whatever the open connection has not requested yet.

        It subscribes as much as fits into one request. Its answer triggers the next request.
        """
        if not self._is_flushing and self._is_open:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        waiting = [row for row in self._rows.values() if row.stage == "idle"]
        if not self._is_open or self._unanswered is not None or len(waiting) == 0:
            return
        is_extended = self._connection.is_extended
        # The heartbeat goes first, so that the service never refuses it when there are too many subscriptions.
        channels: list[dict[str, Any]] = [] if self._has_heartbeat else [{"type": "heartbeat"}]
        rows = waiting[: self._entries_max - len(channels)]
        for row in rows:
            row.stage = "requested"
            channels.append({"type": row.subscription.channel, "params": row.subscription.params(is_extended)})
        self._unanswered = Request(rows, len(channels))
        self._connection.send({"type": "subscribe", "channels": channels})

    def _receive(self, data: object) -> None:
        # Messages that still arrive on a closed connection are ignored.
        if not self._is_open:
            return
        try:
            self._dispatch(data)
        except Fault as fault:
            self._connection.restart(str(fault))

    def _dispatch(self, data: object) -> None:
        message = parse_message(data)
        if isinstance(message, (BookMessage, TopMessage, ExecutionMessage)):
            row = self._active(CHANNELS[type(message)], message.market)
            if row is not None:
                self._deliver(row, message)
        elif isinstance(message, Heartbeat):
            self._note_heartbeat(message.seconds)
            for statement in message.books:
                row = self._active(Book.channel, statement.market)
                if row is not None:
                    self._deliver(row, statement)
        elif isinstance(message, Reply):
            for entry in message.entries:
                self._receive_reply(message.is_subscribe, entry)
            if message.is_subscribe:
                self._receive_answer()
        elif isinstance(message, RequestError):
            self._receive_error(message)

    def _receive_answer(self) -> None:
        """The service has answered the last subscribe request."""
        self._has_heartbeat = True
        self._unanswered = None
        self._request()

    def _receive_error(self, message: RequestError) -> None:
        """The service has rejected a whole request."""
        if message.error == "INTERNAL_SERVER_ERROR":
            raise Fault(message.text)
        request, self._unanswered = self._unanswered, None
        if message.error != "MALFORMED_REQUEST" or request is None or request.entry_count < 2:
            what = f"a request was rejected: {message.error}, {message.text}"
            self._end_all(TidegateError("PROTOCOL_ERROR", what))
            return
        # It may have had too many entries: in smaller requests, each entry gets its own answer.
        self._entries_max = request.entry_count // 2
        for row in request.rows:
            if row.stage == "requested":
                row.stage = "idle"
        self._request()

    def _active(self, channel: str, market: str) -> Row | None:
        row = self._rows.get((channel, market))
        return row if row is not None and row.stage == "active" else None

    def _deliver(self, row: Row, message: DataMessage | BookStatement) -> None:
        """Passes a message on. When it is wrong, unsubscribes and subscribes again, which brings a new SNAPSHOT."""
        try:
            if isinstance(message, BookStatement):
                row.subscription.confirm(message)
            else:
                row.subscription.receive(message)
        except Fault as fault:
            self._unsubscribe(row.subscription)
            self._begin(row, str(fault))
        else:
            self._connection.confirm()

    def _note_heartbeat(self, seconds: float) -> None:
        if self._last_heartbeat is not None:
            self._connection.note_heartbeats(seconds - self._last_heartbeat)
        self._last_heartbeat = seconds

    def _receive_reply(self, is_subscribe: bool, entry: ReplyEntry) -> None:
        key = (entry.channel, entry.market)
        row = self._rows.get(key)
        unsubscribing = self._unsubscribing.get(key, 0)
        if is_subscribe:
            # Replies come in request order. Before the reply to our last unsubscribe, they belong to an earlier
            # subscribe. A second acknowledgement for the same request adds nothing.
            if row is not None and row.stage == "requested" and unsubscribing == 0:
                self._receive_acknowledgement(row, entry)
        elif unsubscribing > 0:
            self._unsubscribing[key] = unsubscribing - 1
        elif row is not None and entry.is_success:
            # The market was removed or changed. If it was removed, the new subscription is refused.
            self._begin(row, entry.text)

    def _receive_acknowledgement(self, row: Row, entry: ReplyEntry) -> None:
        if entry.is_success:
            row.stage = "active"
            row.subscription.acknowledge(entry.resumed)
        elif entry.error == "INTERNAL_SERVER_ERROR":
            self._connection.restart(entry.text)
        else:
            what = f"{row.subscription.market}: {entry.text} ({entry.error}). {ADVICE.get(entry.error, 'Report it to the operator')}"
            self._end(row, TidegateError("SUBSCRIPTION_REFUSED", what))
            if len(self._rows) == 0:
                self._close()

    def _unsubscribe(self, subscription: Subscription) -> None:
        key = _key_of(subscription)
        self._unsubscribing[key] = self._unsubscribing.get(key, 0) + 1
        channel = {"type": subscription.channel, "params": {"market": subscription.market}}
        self._connection.send({"type": "unsubscribe", "channels": [channel]})

    def _begin(self, row: Row, reason: str) -> None:
        """Begins an ended subscription again: at once the first time, and with a growing delay after that."""
        loop = asyncio.get_running_loop()
        row.cancel_repair()
        row.stage = "waiting"
        row.subscription.reset(reason)
        if loop.time() - row.repaired_at > TRUST_SECONDS:
            row.repairs = 0
        delay = 0.0 if row.repairs == 0 else min(REPAIR_SECONDS_MAX, REPAIR_SECONDS * 2 ** min(row.repairs, 10))
        row.repairs += 1
        row.repaired_at = loop.time()
        row.timer = loop.call_later(delay * (0.5 + random.random()), self._begin_again, row)
        self._report(Resync(row.subscription.market, reason))

    def _begin_again(self, row: Row) -> None:
        row.timer = None
        row.stage = "idle"
        self._request()


def _key_of(subscription: Subscription) -> Key:
    return subscription.channel, subscription.market


def _check_whole(name: str, value: int | None) -> None:
    if value is not None and (not isinstance(value, int) or value < 1):
        raise TidegateError("INVALID_ARGUMENT", f"the {name} is {value}: it must be a whole number above 0")

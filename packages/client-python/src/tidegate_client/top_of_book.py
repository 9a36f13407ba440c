"""The best price on each side, for programs that need no more of a book.

Each message replaces the previous one, so a slow loop gets the latest. A lost connection leaves nothing to repair,
because the service sends the current prices again.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakSet

from .book import BookStatus
from .errors import Fault, TidegateError
from .levels import Level, LevelText, decimals_of
from .messages import BookStatement, DataMessage, TopMessage


@dataclass(frozen=True, slots=True)
class Top:
    """The best prices at one moment."""

    status: BookStatus
    time: str
    """The last message's time: RFC 3339 with nanoseconds."""
    best_bid: Level | None
    best_ask: Level | None


class TopOfBook:
    """A market's best prices, kept current by its client. Loop over it for its changes. Several loops may read it."""

    channel: Literal["market_data.top_of_book"] = "market_data.top_of_book"

    def __init__(self, market: str, interval_ms: int | None, on_close: Callable[["TopOfBook"], None]) -> None:
        self.market = market
        self._interval_ms = interval_ms
        self._on_close = on_close
        self._top = Top("RESYNCING", "", None, None)
        # Why the subscription was given up.
        self._error: TidegateError | None = None
        # Weak, so that an abandoned loop leaves nothing behind.
        self._readers: WeakSet[TopReader] = WeakSet()
        self._cursor: str | None = None
        # No message has arrived since the acknowledgement.
        self._is_first = True
        # Done with the first message.
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def status(self) -> BookStatus:
        return self._top.status

    @property
    def time(self) -> str:
        """The last message's time: RFC 3339 with nanoseconds."""
        return self._top.time

    @property
    def best_bid(self) -> Level | None:
        return self._top.best_bid

    @property
    def best_ask(self) -> Level | None:
        return self._top.best_ask

    def close(self) -> None:
        """Ends the subscription and its loops."""
        self._on_close(self)

    def __aiter__(self) -> "TopReader":
        reader = TopReader(self)
        self._readers.add(reader)
        return reader

    def params(self, is_extended: bool) -> dict[str, Any]:
        # Not resumed: after a resume, the service sends nothing while the best prices are unchanged, and nothing else
        # confirms them.
        if not is_extended or self._interval_ms is None:
            return {"market": self.market}
        return {"market": self.market, "interval_ms": self._interval_ms}

    def acknowledge(self, resumed: bool | None) -> None:
        self._is_first = True

    def receive(self, message: DataMessage) -> None:
        if not isinstance(message, TopMessage):
            return
        self._check(message)
        self._is_first = False
        self._cursor = None if message.position is None else message.position.cursor
        bid, ask = _level(message.bid), _level(message.ask)
        # No source sends an empty book. A service without a source withdraws the book.
        self._become(Top("STALE" if bid is None and ask is None else "LIVE", message.time, bid, ask))
        if not self.ready.done():
            self.ready.set_result(None)

    def confirm(self, statement: BookStatement) -> None:
        """Statements are about books only."""

    def suspend(self, reason: str) -> None:
        self._become(Top("RESYNCING", self.time, self.best_bid, self.best_ask))

    def reset(self, reason: str) -> None:
        self._become(Top("RESYNCING", self.time, None, None))

    def end(self, error: TidegateError | None) -> None:
        self._error = error
        self._become(Top("CLOSED", self.time, self.best_bid, self.best_ask))
        if not self.ready.done():
            self.ready.set_exception(error or TidegateError("CLOSED", f"the top of the book of {self.market} was closed"))

    def _check(self, message: TopMessage) -> None:
        if not self._is_first:
            # Only within one subscription: after a reconnect, the new node may lag slightly behind the previous one.
            if message.time <= self.time:
                raise Fault(f"a message of {message.time} arrived after one of {self.time}")
            # Without a predecessor, the sequence starts again: another node of the service now writes the market.
            prev = None if message.position is None else message.position.prev
            if prev is not None and prev != self._cursor:
                raise Fault("a message is missing: a top of the book follows one that was not received")
        bid, ask = message.bid, message.ask
        if bid is None or ask is None:
            return
        if decimals_of(bid.price) != decimals_of(ask.price) or decimals_of(bid.amount) != decimals_of(ask.amount):
            raise Fault("the two sides of the top of the book have different decimals")
        if bid.level().price >= ask.level().price:
            raise Fault(f"the book is crossed: {bid.price} bid, {ask.price} asked")

    def _become(self, top: Top) -> None:
        if self.status != "CLOSED":
            self._top = top
        for reader in self._readers:
            reader.wake()


class TopReader:
    """One loop over the best prices, from the current ones on."""

    def __init__(self, source: TopOfBook) -> None:
        self._source = source
        self._seen: Top | None = None
        self._news = asyncio.Event()

    def __aiter__(self) -> "TopReader":
        return self

    async def __anext__(self) -> Top:
        while True:
            top = self._source._top
            if top.status == "CLOSED":
                if self._source._error is not None:
                    raise self._source._error
                raise StopAsyncIteration
            if top != self._seen:
                self._seen = top
                return top
            self._news.clear()
            await self._news.wait()

    def wake(self) -> None:
        """There may be something to read."""
        self._news.set()


def _level(text: LevelText | None) -> Level | None:
    return None if text is None else text.level()

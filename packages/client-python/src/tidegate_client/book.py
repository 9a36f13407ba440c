"""A live order book, and the loops over its changes.

The book applies and checks every message in its subscription. After a wrong message it starts again from a new
SNAPSHOT. After a lost connection it resumes from the last message. Its status is never better than its content.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakSet

from .book_content import GONE, BookContent, check_venues
from .errors import Fault, TidegateError
from .levels import SIDES, Level, LevelText, SideName
from .messages import BookMessage, BookStatement, DataMessage, InstrumentState

# LIVE: equal to the service's book. STALE: the service has no live source for the market at present. RESYNCING: the
# connection is lost or the book is being repaired, and it shows old prices or nothing. CLOSED: it will not change
# again. Trade only on a LIVE book.
BookStatus = Literal["LIVE", "STALE", "RESYNCING", "CLOSED"]

# With this many more changed levels than the book has levels, the whole book is the shorter change.
SPARE_LEVELS = 100


@dataclass(frozen=True, slots=True)
class BookChange:
    """What changed since the loop last looked. A slow loop gets one change for everything it missed."""

    type: Literal["SNAPSHOT", "UPDATE"]
    """SNAPSHOT: `bids` and `asks` are the whole book. UPDATE: the changed levels, where the amount 0 removes one."""
    status: BookStatus
    time: str
    """The time of the last included message: RFC 3339 with milliseconds."""
    bids: list[Level]
    """Highest price first."""
    asks: list[Level]
    """Lowest price first."""


@dataclass(frozen=True, slots=True)
class DigestMatch:
    """The whole book's digest was equal to the service's. A book whose digest differs is repaired instead."""

    digest: str
    """16 lower-case hexadecimal digits."""
    time: str
    """When the service stated it, on its clock: RFC 3339 with nanoseconds."""


class Book:
    """A book, kept current by its client. Loop over it for its changes. Several loops may read the same book."""

    channel: Literal["market_data"] = "market_data"

    def __init__(
        self,
        market: str,
        depth: int | None,
        interval_ms: int | None,
        on_close: Callable[["Book"], None],
        is_attributed: bool = False,
    ) -> None:
        self.market = market
        self._depth = depth
        self._interval_ms = interval_ms
        self._is_attributed = is_attributed
        self._on_close = on_close
        self._content = BookContent()
        self._status: BookStatus = "RESYNCING"
        self._instrument_state: InstrumentState | None = None
        self._digest_match: DigestMatch | None = None
        # Why the subscription was given up.
        self._error: TidegateError | None = None
        # Weak, so that an abandoned loop leaves nothing behind.
        self._readers: WeakSet[ChangeReader] = WeakSet()
        # The last message's cursor in `tidegate.v1`, if the content may be resumed from there.
        self._cursor: str | None = None
        # No message has arrived since the acknowledgement.
        self._is_first = True
        # A heartbeat has reported that the market has no live source.
        self._is_source_lost = False
        # Done with the first SNAPSHOT.
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def status(self) -> BookStatus:
        return self._status

    @property
    def time(self) -> str:
        """The last message's time: RFC 3339 with milliseconds."""
        return self._content.time

    @property
    def cursor(self) -> str | None:
        """The last message's cursor, None in the base protocol. A price's evidence names its book by this cursor."""
        return self._cursor

    @property
    def best_bid(self) -> Level | None:
        best = self._content.bids.best
        return None if best is None else best.level()

    @property
    def best_ask(self) -> Level | None:
        best = self._content.asks.best
        return None if best is None else best.level()

    @property
    def price_decimals(self) -> int | None:
        """How many decimals all prices have. None before the first level."""
        return self._content.price_decimals

    @property
    def amount_decimals(self) -> int | None:
        """How many decimals all amounts have. None before the first level."""
        return self._content.amount_decimals

    @property
    def instrument_state(self) -> InstrumentState | None:
        """Whether the instrument trades at its venue. None where the service does not know or report it."""
        return self._instrument_state

    @property
    def digest_match(self) -> DigestMatch | None:
        """The last comparison with the service's digest. None before the first one, and in the base protocol."""
        return self._digest_match

    def bids(self, count: int | None = None) -> list[Level]:
        """The best bids, highest first, or all bids without a count."""
        return self._top("bids", count)

    def asks(self, count: int | None = None) -> list[Level]:
        """The best asks, lowest first, or all asks without a count."""
        return self._top("asks", count)

    def close(self) -> None:
        """Ends the subscription and its loops."""
        self._on_close(self)

    def __aiter__(self) -> "ChangeReader":
        reader = ChangeReader(self)
        self._readers.add(reader)
        return reader

    def params(self, is_extended: bool) -> dict[str, Any]:
        if not is_extended:
            return {"market": self.market}
        params = {
            "depth": self._depth,
            "interval_ms": self._interval_ms,
            "attribution": self._is_attributed or None,
            "resume": self._cursor,
        }
        return {"market": self.market, **{name: value for name, value in params.items() if value is not None}}

    def acknowledge(self, resumed: bool | None) -> None:
        self._is_first = True

    def receive(self, message: DataMessage) -> None:
        if not isinstance(message, BookMessage):
            return
        if self._is_attributed and message.position is not None:
            check_venues(message)
        # A throttled, lagging or resumed subscription gets changes from before the loss after the heartbeat that reports
        # it. Only a new book says that there is a source again.
        if message.is_snapshot or len(self._content) == 0:
            self._is_source_lost = False
        if message.is_snapshot:
            self._replace(message)
        else:
            self._update(message)
        self._cursor = None if message.position is None else message.position.cursor
        self._is_first = False
        # No source sends an empty book. A service without a source withdraws the book.
        self._become("STALE" if self._is_source_lost or len(self._content) == 0 else "LIVE")
        if message.is_snapshot and not self.ready.done():
            self.ready.set_result(None)

    def confirm(self, statement: BookStatement) -> None:
        if statement.cursor != self._cursor:
            raise Fault("a message is missing: the service has sent a later one")
        if statement.digest is not None and statement.digest != (own := self._content.digest()):
            raise Fault(f"the book's digest is {own}, but the service's is {statement.digest}")
        if statement.digest is not None:
            self._digest_match = DigestMatch(statement.digest, statement.time)
        self._instrument_state = statement.instrument_state
        self._is_source_lost = not statement.is_live
        self._become("LIVE" if statement.is_live else "STALE")

    def suspend(self, reason: str) -> None:
        self._become("RESYNCING")

    def reset(self, reason: str) -> None:
        self._content = BookContent()
        self._cursor = None
        self._digest_match = None
        for reader in self._readers:
            reader.note_whole()
        self.suspend(reason)

    def end(self, error: TidegateError | None) -> None:
        self._error = error
        self._become("CLOSED")
        if not self.ready.done():
            self.ready.set_exception(error or TidegateError("CLOSED", f"the book of {self.market} was closed"))

    def _top(self, side: SideName, count: int | None) -> list[Level]:
        # The base protocol has no depths: the client receives the whole book and shows its best levels.
        return [text.level() for text in self._content.side(side).top(self._depth if count is None else count)]

    def _replace(self, message: BookMessage) -> None:
        content = BookContent()
        # Only within one subscription: after a reconnect, the new node may lag slightly behind the previous one.
        if not self._is_first:
            content.time = self._content.time
        content.replace(message)
        self._content = content
        for reader in self._readers:
            reader.note_whole()

    def _update(self, message: BookMessage) -> None:
        if self._is_first and self._cursor is None:
            raise Fault("an UPDATE arrived before the SNAPSHOT")
        prev = None if message.position is None else message.position.prev
        # The first UPDATE after a withdrawal, which emptied the book, names no previous message.
        if prev != self._cursor and (prev is not None or len(self._content) > 0):
            raise Fault("a message is missing: an UPDATE follows one that was not received")
        readers = list(self._readers)

        def note(side: SideName, rank: int, price: str, before: LevelText | None) -> None:
            for reader in readers:
                reader.note(side, rank, price, before)

        self._content.update(message, note)

    def _become(self, status: BookStatus) -> None:
        if self._status != "CLOSED":
            self._status = status
        for reader in self._readers:
            reader.wake()

    def _size(self) -> int:
        return len(self._content)


class ChangeReader:
    """One loop over a book's changes.

    It keeps what the loop has not seen yet: for each changed level, its state when the loop last looked, not the
    changes themselves. So a slow loop gets one exact change for everything it missed, and the reader never keeps
    much more than a book.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        # The next change is the whole book.
        self._is_whole = True
        self._before: dict[SideName, dict[int, LevelText]] = {"bids": {}, "asks": {}}
        self._status: BookStatus | None = None
        self._news = asyncio.Event()

    def __aiter__(self) -> "ChangeReader":
        return self

    async def __anext__(self) -> BookChange:
        while True:
            if self._book._status == "CLOSED":
                if self._book._error is not None:
                    raise self._book._error
                raise StopAsyncIteration
            change = self._take()
            if change is not None:
                return change
            self._news.clear()
            await self._news.wait()

    def note(self, side: SideName, rank: int, price: str, level: LevelText | None) -> None:
        if self._is_whole:
            return
        self._before[side].setdefault(rank, level or LevelText(price, GONE))
        if len(self._before["bids"]) + len(self._before["asks"]) > self._book._size() + SPARE_LEVELS:
            self.note_whole()

    def note_whole(self) -> None:
        """The book was replaced."""
        self._is_whole = True
        self._forget()

    def wake(self) -> None:
        """There may be something to read."""
        self._news.set()

    def _forget(self) -> None:
        for before in self._before.values():
            before.clear()

    def _take(self) -> BookChange | None:
        book, is_whole = self._book, self._is_whole
        content, status = book._content, book._status
        if is_whole:
            bids, asks = ([text.level() for text in content.side(side).top(None)] for side in SIDES)
        else:
            bids, asks = (self._difference(side) for side in SIDES)
        is_new = is_whole or bids != [] or asks != [] or status != self._status
        self._is_whole = False
        self._forget()
        self._status = status
        if not is_new:
            return None
        return BookChange("SNAPSHOT" if is_whole else "UPDATE", status, content.time, bids, asks)

    def _difference(self, name: SideName) -> list[Level]:
        side, levels = self._book._content.side(name), []
        for rank, before in sorted(self._before[name].items(), reverse=True):
            now = side.at(rank) or LevelText(before.price, GONE)
            if now != before:
                levels.append(now.level())
        return levels

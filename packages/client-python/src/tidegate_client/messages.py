"""The stream's messages, parsed and validated.

The other modules never meet a missing member or one with another type. Unknown members and channels are ignored,
because services add some.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from .errors import Fault
from .levels import LevelText, SideName

InstrumentState = Literal["OPEN", "HALTED", "AUCTION", "CLOSED"]
INSTRUMENT_STATES: tuple[InstrumentState, ...] = ("OPEN", "HALTED", "AUCTION", "CLOSED")


@dataclass(frozen=True, slots=True)
class Position:
    """A message's position in its channel, only in `tidegate.v1`."""

    cursor: str
    # The previous message's cursor. None in the first message.
    prev: str | None


@dataclass(frozen=True, slots=True)
class BookMessage:
    market: str
    is_snapshot: bool
    time: str
    bids: list[LevelText]
    asks: list[LevelText]
    position: Position | None

    def levels(self, side: SideName) -> list[LevelText]:
        return self.bids if side == "bids" else self.asks


@dataclass(frozen=True, slots=True)
class TopMessage:
    """Each side's best level, where there is one."""

    market: str
    time: str
    bid: LevelText | None
    ask: LevelText | None
    position: Position | None


@dataclass(frozen=True, slots=True)
class Execution:
    """One trade."""

    price: Decimal
    amount: Decimal
    executed_at: str
    """When the trade happened: RFC 3339 with milliseconds."""
    id: str | None
    """Unique within the market. This and the next two members exist only in `tidegate.v1`."""
    side: Literal["buy", "sell"] | None
    """The taker's side."""
    venue: str | None


@dataclass(frozen=True, slots=True)
class ExecutionGap:
    """Executions are missing here."""

    reason: str


@dataclass(frozen=True, slots=True)
class ExecutionMessage:
    market: str
    execution: Execution
    position: Position | None


# The messages from channels subscribed per market.
DataMessage = BookMessage | TopMessage | ExecutionMessage


@dataclass(frozen=True, slots=True)
class BookStatement:
    """A heartbeat's statement about a book, in `tidegate.v1`."""

    market: str
    # When the service stated it, on its clock: RFC 3339 with nanoseconds.
    time: str
    cursor: str
    digest: str | None
    is_live: bool
    instrument_state: InstrumentState | None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    # When it was sent, on the service's clock.
    seconds: float
    books: list[BookStatement]


@dataclass(frozen=True, slots=True)
class ReplyEntry:
    channel: str
    market: str | None
    is_success: bool
    resumed: bool | None
    error: str
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    is_subscribe: bool
    entries: list[ReplyEntry]


@dataclass(frozen=True, slots=True)
class RequestError:
    """A request that failed as a whole."""

    error: str
    text: str


Message = DataMessage | Heartbeat | Reply | RequestError | None

# More digits than any number from the service has, and no leading zeros, so that a price has only one text.
DECIMAL = re.compile(r"(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?")
# UTC with a fixed number of digits, so that times compare as text.
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
NANOSECOND_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z")
ANY_TEXT = re.compile(r".+", re.DOTALL)


def parse_message(data: object) -> Message:
    """None for a message kind this client does not use. Raises Fault for anything but a message of the API."""
    if not isinstance(data, str):
        raise Fault("a message is not a text")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise Fault("a message is not JSON") from None
    message = _members(content)
    channel, kind = message.get("channel"), message.get("type")
    if channel == "market_data":
        return _book_message(message)
    if channel == "market_data.top_of_book":
        return _top_message(message)
    if channel == "execution_data":
        return _execution_message(message)
    if channel == "heartbeat":
        return _heartbeat(_members(message.get("payload")))
    if kind == "error":
        return RequestError(str(message.get("error")), str(message.get("message")))
    if channel is None and kind in ("subscribe", "unsubscribe"):
        return Reply(kind == "subscribe", [_reply_entry(entry) for entry in _list(message.get("channels"))])
    return None


def _book_message(message: Mapping[str, Any]) -> BookMessage:
    payload = _members(message.get("payload"))
    kind = payload.get("type")
    if kind not in ("SNAPSHOT", "UPDATE"):
        raise Fault(f"a book message has the type {_excerpt(kind)}")
    return BookMessage(
        market=_text(payload.get("market")),
        is_snapshot=kind == "SNAPSHOT",
        time=_text(payload.get("time"), TIME),
        bids=_levels(payload.get("bids")),
        asks=_levels(payload.get("asks")),
        position=_position(message.get("stream")),
    )


def _top_message(message: Mapping[str, Any]) -> TopMessage:
    payload = _members(message.get("payload"))
    return TopMessage(
        market=_text(payload.get("market")),
        time=_text(payload.get("timestamp"), NANOSECOND_TIME),
        bid=_best(_levels(payload.get("bids"))),
        ask=_best(_levels(payload.get("asks"))),
        position=_position(message.get("stream")),
    )


def _best(levels: list[LevelText]) -> LevelText | None:
    if len(levels) > 1:
        raise Fault(f"the top of a book has {len(levels)} levels on a side")
    return levels[0] if levels else None


def _execution_message(message: Mapping[str, Any]) -> ExecutionMessage:
    payload = _members(message.get("payload"))
    side = payload.get("side")
    execution = Execution(
        price=Decimal(_text(payload.get("price"), DECIMAL)),
        amount=Decimal(_text(payload.get("amount"), DECIMAL)),
        executed_at=_text(payload.get("executed_at"), TIME),
        id=_optional_text(payload.get("id")),
        side="buy" if side == "buy" else "sell" if side == "sell" else None,
        venue=_optional_text(payload.get("venue")),
    )
    return ExecutionMessage(_text(payload.get("market")), execution, _position(message.get("stream")))


def _heartbeat(payload: Mapping[str, Any]) -> Heartbeat:
    timestamp = _text(payload.get("timestamp"), NANOSECOND_TIME)
    try:
        # The datetime needs only milliseconds: the first 23 characters.
        seconds = datetime.fromisoformat(f"{timestamp[:23]}+00:00").timestamp()
    except ValueError:
        raise Fault(f"a message has {_excerpt(timestamp)} for a time") from None
    return Heartbeat(seconds, [_book_statement(_members(entry), timestamp) for entry in _list(payload.get("books", []))])


def _book_statement(entry: Mapping[str, Any], time: str) -> BookStatement:
    digest, state = entry.get("digest"), entry.get("instrument_state")
    return BookStatement(
        market=_text(entry.get("market")),
        time=time,
        cursor=_text(entry.get("cursor")),
        digest=None if digest is None else _text(digest),
        is_live=entry.get("live") is True,
        instrument_state=next((known for known in INSTRUMENT_STATES if known == state), None),
    )


def _position(stream: object) -> Position | None:
    if stream is None:
        return None
    members = _members(stream)
    prev = members.get("prev")
    return Position(_text(members.get("cursor")), None if prev is None else _text(prev))


def _reply_entry(value: object) -> ReplyEntry:
    entry = _members(value)
    resumed = entry.get("resumed")
    return ReplyEntry(
        channel=_text(entry.get("type")),
        market=_optional_text(_members(entry.get("params", {})).get("market")),
        is_success=entry.get("success") is True,
        resumed=resumed if isinstance(resumed, bool) else None,
        error=str(entry.get("error")),
        text=str(entry.get("message")),
    )


def _levels(value: object) -> list[LevelText]:
    levels = []
    for entry in _list(value):
        members = _members(entry)
        venues = members.get("venues")
        shares = None if venues is None else tuple(_share(share) for share in _list(venues))
        levels.append(LevelText(_text(members.get("price"), DECIMAL), _text(members.get("amount"), DECIMAL), shares))
    return levels


def _share(value: object) -> tuple[str, str]:
    share = _list(value)
    if len(share) != 2:
        raise Fault(f"a message has {_excerpt(value)} for a venue and its amount")
    return _text(share[0]), _text(share[1], DECIMAL)


def _members(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Fault(f"a message has {_excerpt(value)} for an object")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise Fault(f"a message has {_excerpt(value)} for a list")
    return value


def _text(value: object, form: re.Pattern[str] = ANY_TEXT) -> str:
    if not isinstance(value, str) or form.fullmatch(value) is None:
        raise Fault(f"a message has {_excerpt(value)} for a text")
    return value


def _optional_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _excerpt(value: object) -> str:
    return repr(value)[:80]

"""Reads the book at a cursor from a service's recording (docs/how-to/recordings.md, format 1).

It inflates only the blocks from the last keyframe before the evidence's time: a minute of market data, however long
the file is.
"""

import hashlib
import json
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from .errors import TidegateError
from .price import KeptBook

MAGIC = b"tidegate recording 1\n"
HEAD_BYTES = 44
KEYFRAME = 1
# A commit's entries may be this much earlier or later than its time, when a clock was set.
CLOCK_MILLISECONDS_MAX = 5_000

Sides = tuple[dict[int, int], dict[int, int]]


def recorded_book(recording: bytes, symbol: str, book: Mapping[str, Any]) -> KeptBook | None:
    """The market's book at a cursor, or None when the recording does not have it.

    `book` has `cursor` and `time` from the price's evidence.
    """
    cursor, time = book.get("cursor"), book.get("time")
    if cursor is None or time is None:
        return None
    milliseconds = datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000
    if not recording.startswith(MAGIC):
        raise _unreadable("it does not begin as one")
    header_at = len(MAGIC) + 8
    header_end = header_at + int.from_bytes(recording[len(MAGIC) : len(MAGIC) + 4], "big")
    markets = json.loads(recording[header_at:header_end])["markets"]
    index = next((number for number, market in enumerate(markets) if market["symbol"] == symbol), None)
    if index is None:
        return None
    market = markets[index]
    blocks = list(_blocks(recording, header_end))
    earlier = [
        number
        for number, (kind, first, _) in enumerate(blocks)
        if kind == KEYFRAME and first < milliseconds - CLOCK_MILLISECONDS_MAX
    ]
    sides: Sides = ({}, {})
    epoch = ""
    for _, first, body in blocks[earlier[-1] if earlier else 0 :]:
        if first > milliseconds + CLOCK_MILLISECONDS_MAX:
            return None
        for line in zlib.decompress(body, -15).splitlines():
            place, _, *events = json.loads(line)
            if place != index:
                continue
            for event in events:
                _apply(sides, event)
            commit = events[0].get("commit") if events else None
            if commit is None:
                continue
            epoch = commit[3] if len(commit) > 3 else epoch
            if _cursor(market, epoch, commit[0]) == cursor:
                return _kept(market, cursor, sides)
    return None


def _apply(sides: Sides, event: Mapping[str, Any]) -> None:
    if "snapshot" in event:
        for side in sides:
            side.clear()
    for side, levels in zip(sides, event.get("snapshot") or event.get("update") or (), strict=False):
        for price, amount in zip(levels[::2], levels[1::2], strict=True):
            if int(amount) == 0:
                side.pop(int(price), None)
            else:
                side[int(price)] = int(amount)


def _cursor(market: Mapping[str, Any], epoch: str, version: int) -> str:
    """The `tidegate.v1` cursor for a version at the published depth."""
    bound = json.dumps(
        [market["symbol"], "market_data", market["depth"], epoch], separators=(",", ":"), ensure_ascii=False
    )
    return f"{urlsafe_b64encode(hashlib.sha256(bound.encode()).digest()[:6]).decode()}.{version}"


def _kept(market: Mapping[str, Any], cursor: str, sides: Sides) -> KeptBook:
    depth = market["depth"] or None

    def top(side: dict[int, int], is_highest_first: bool) -> list[tuple[str, str]]:
        ranked = sorted(side.items(), reverse=is_highest_first)[:depth]
        return [
            (_text(price, market["price_decimals"]), _text(amount, market["amount_decimals"]))
            for price, amount in ranked
        ]

    return KeptBook(cursor, top(sides[0], True), top(sides[1], False))


def _text(units: int, decimals: int) -> str:
    digits = str(units).rjust(decimals + 1, "0")
    return digits if decimals == 0 else f"{digits[:-decimals]}.{digits[-decimals:]}"


def _blocks(recording: bytes, position: int) -> Iterator[tuple[int, int, bytes]]:
    # An incomplete block at the end is ignored: the service was still writing it.
    while position + HEAD_BYTES <= len(recording):
        head = recording[position : position + HEAD_BYTES]
        if head[:4] != b"\x00TGB":
            raise _unreadable(f"it is damaged at byte {position}")
        length = int.from_bytes(head[32:36], "big")
        body = recording[position + HEAD_BYTES : position + HEAD_BYTES + length]
        if len(body) == length:
            yield int.from_bytes(head[4:8], "big"), int.from_bytes(head[12:20], "big"), body
        position += HEAD_BYTES + length


def _unreadable(reason: str) -> TidegateError:
    return TidegateError("INVALID_ARGUMENT", f"the recording cannot be read: {reason}")

"""Reads the book at a cursor from a service's recording (docs/how-to/recordings.md, format 1).

It inflates only the blocks from the last keyframe before the evidence's time: a minute of market data, however long
the file is. Damaged bytes are never read: they would look like a wrong price.
"""

import hashlib
import json
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Block:
    # Of its head, in the file.
    offset: int
    kind: int
    # The time of its first entry, in milliseconds.
    first: int
    checksum: int
    body: bytes


def recorded_book(recording: bytes, symbol: str, book: Mapping[str, Any]) -> KeptBook | None:
    """The market's book at a cursor, or None when the recording does not have it.

    `book` has `cursor` and `time` from the price's evidence. Raises TidegateError when the recording is damaged where the
    book is looked for.
    """
    cursor, time = book.get("cursor"), book.get("time")
    if cursor is None or time is None:
        return None
    milliseconds = datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000
    if not recording.startswith(MAGIC):
        raise _unreadable("it does not begin as one")
    header_at = len(MAGIC) + 8
    header_end = header_at + _number(recording, len(MAGIC))
    header = recording[header_at:header_end]
    if header == b"" or zlib.crc32(header) != _number(recording, len(MAGIC) + 4):
        raise _unreadable("its header is damaged")
    markets = json.loads(header)["markets"]
    index = next((number for number, market in enumerate(markets) if market["symbol"] == symbol), None)
    if index is None:
        return None
    market = markets[index]
    blocks, damaged_at = _blocks(recording, header_end)
    earlier = [
        number
        for number, block in enumerate(blocks)
        if block.kind == KEYFRAME and block.first < milliseconds - CLOCK_MILLISECONDS_MAX
    ]
    sides: Sides = ({}, {})
    epoch = ""
    for block in blocks[earlier[-1] if earlier else 0 :]:
        if block.first > milliseconds + CLOCK_MILLISECONDS_MAX:
            return None
        if zlib.crc32(block.body) != block.checksum:
            raise _unreadable(f"it is damaged at byte {block.offset}")
        for line in zlib.decompress(block.body, -15).splitlines():
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
    if damaged_at is not None:
        raise _unreadable(f"it is damaged at byte {damaged_at}")
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


def _blocks(recording: bytes, position: int) -> tuple[list[Block], int | None]:
    """The blocks up to the first damaged head, and where that is. A missing block counts as damage too."""
    blocks: list[Block] = []
    # An incomplete block at the end is ignored: the service was still writing it.
    while position + HEAD_BYTES <= len(recording):
        head = recording[position : position + HEAD_BYTES]
        is_whole = head[:4] == b"\x00TGB" and zlib.crc32(head[:40]) == _number(head, 40)
        if not is_whole or _number(head, 8) != len(blocks):
            return blocks, position
        body = recording[position + HEAD_BYTES : position + HEAD_BYTES + _number(head, 32)]
        if len(body) == _number(head, 32):
            first = int.from_bytes(head[12:20], "big")
            blocks.append(Block(position, _number(head, 4), first, _number(head, 36), body))
        position += HEAD_BYTES + _number(head, 32)
    return blocks, None


def _number(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 4], "big")


def _unreadable(reason: str) -> TidegateError:
    return TidegateError("INVALID_ARGUMENT", f"the recording cannot be read: {reason}")

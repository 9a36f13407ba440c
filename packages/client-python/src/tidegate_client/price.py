"""Verifies a conversion's price.

It walks the evidence's levels again in exact integers, and compares them with the book at the evidence's cursor,
from your own copy or from a recording. It needs no connection.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from .errors import TidegateError
from .levels import Level

# Amounts in a book, and amounts taken from it, have at most this many fraction digits.
BASE_SCALE = 18


class HeldBook(Protocol):
    """A book at one cursor: a `Book` that has not moved on, your own copy of one, or the result of `recorded_book`."""

    @property
    def cursor(self) -> str | None: ...

    def bids(self, count: int | None = None) -> list[Level]: ...

    def asks(self, count: int | None = None) -> list[Level]: ...


@dataclass
class PriceCheck:
    differences: list[str] = field(default_factory=list)
    """What does not follow from the evidence, one sentence each. Empty when the price follows to the digit."""
    books_compared: int = 0
    """How many of the evidence's books were compared with a held one."""
    books: int = 0
    """How many books the evidence names: 1 for a market, one per peg for a conversion at par."""

    def _equal(self, name: str, shown: Any, expected: str) -> None:
        if shown != expected:
            self.differences.append(f"the {name} is {shown}, and {expected} follows")


def verify_price(price: Mapping[str, Any], held: Sequence[HeldBook] = ()) -> PriceCheck:
    """Verifies the answer of `GET /v2/orchestration/orchestrations/{id}/price`.

    `held` has the books at the evidence's cursors. Without one, only the arithmetic is verified.
    """
    check = PriceCheck()
    evidence = price["evidence"]
    if evidence["kind"] == "market":
        _verify_market(price, evidence, held, check)
    else:
        _verify_par(price, evidence, held, check)
    check._equal("source asset", price["source_asset"], evidence["source"]["asset"])
    check._equal("destination asset", price["destination_asset"], evidence["destination"]["asset"])
    check._equal("destination amount", price["destination_amount"], evidence["destination"]["amount"])
    return check


def _verify_market(
    price: Mapping[str, Any], evidence: Mapping[str, Any], held: Sequence[HeldBook], check: PriceCheck
) -> None:
    market, source, destination = evidence["market"], evidence["source"], evidence["destination"]
    levels = evidence["levels"]
    decimals = market["price_decimals"]
    is_sale = market["base_asset"] == source["asset"]
    side = "bids" if is_sale else "asks"
    quote_scale = BASE_SCALE + decimals
    pair = (source, destination) if is_sale else (destination, source)
    check._equal("side", evidence["side"], side)
    check._equal("market", market["symbol"], pair[0]["asset"] + pair[1]["asset"])
    check._equal("source amount", price["source_amount"], source["amount"])
    _compare_book(evidence["book"], decimals, held, check, side, levels)
    left = _units(source["amount"], BASE_SCALE if is_sale else quote_scale)
    left_before = _units(evidence["taken_before"])
    base = quote = 0
    for index, level in enumerate(levels):
        level_price = _units(level["price"], decimals)
        if level_price == 0:
            raise _unreadable(level["price"])
        amount = _units(level["amount"])
        before = min(amount, left_before)
        taken = min(amount - before, left if is_sale else left // level_price)
        check._equal(f"amount taken before of level {index}", level["taken_before"], _decimal(before))
        check._equal(f"amount taken of level {index}", level["taken"], _decimal(taken))
        left_before -= before
        left -= taken if is_sale else taken * level_price
        base += taken
        quote += taken * level_price
        is_last = left == 0 or taken < amount - before
        if is_last != (index == len(levels) - 1):
            check.differences.append(f"level {index} is not where the amount ends")
    check._equal("base amount", evidence["base_amount"], _decimal(base))
    check._equal("quote amount", evidence["quote_amount"], _decimal(quote, quote_scale))
    got, scale = (quote, quote_scale) if is_sale else (base, BASE_SCALE)
    paid = got // 10 ** (scale - destination["decimals"])
    check._equal("amount paid", destination["amount"], _decimal(paid, destination["decimals"]))
    scaled_base = base * 10**decimals
    above, below = (quote, scaled_base) if is_sale else (scaled_base, quote)
    if below == 0:
        raise _unreadable("levels")
    average = _decimal(above * 10**BASE_SCALE // below)
    check._equal("price", evidence["price"], average)
    if "price" in price:
        check._equal("orchestration's price", price["price"], average)


def _verify_par(
    price: Mapping[str, Any], evidence: Mapping[str, Any], held: Sequence[HeldBook], check: PriceCheck
) -> None:
    source, destination = evidence["source"], evidence["destination"]
    amount = _units(source["amount"], source["decimals"])
    unit = 10 ** max(0, source["decimals"] - destination["decimals"])
    converted = amount - amount % unit
    paid = converted // unit * 10 ** max(0, destination["decimals"] - source["decimals"])
    check._equal("converted amount", evidence["converted_amount"], _decimal(converted, source["decimals"]))
    check._equal("source amount", price["source_amount"], evidence["converted_amount"])
    check._equal("remainder", evidence["remainder"], _decimal(amount % unit, source["decimals"]))
    check._equal("amount paid", destination["amount"], _decimal(paid, destination["decimals"]))
    if "price" in price:
        check._equal("orchestration's price", price["price"], "1")
    for peg in evidence["pegs"]:
        _compare_book(peg["book"], peg["market"]["price_decimals"], held, check)


def _compare_book(
    shown: Mapping[str, Any],
    decimals: int,
    held: Sequence[HeldBook],
    check: PriceCheck,
    side: str = "bids",
    levels: Sequence[Mapping[str, str]] = (),
) -> None:
    """Compares the best prices, and one side's levels from the best outwards, with the held book at the same cursor."""
    check.books += 1
    bid, ask = _units(shown["best_bid"], decimals), _units(shown["best_ask"], decimals)
    check._equal("mid", shown["mid"], _decimal((bid + ask) * 5, decimals + 1, decimals + 1))
    if bid >= ask:
        check.differences.append(f"the book is crossed: {shown['best_bid']} bid, {shown['best_ask']} asked")
    cursor = shown.get("cursor")
    book = next((each for each in held if cursor is not None and each.cursor == cursor), None)
    if book is None:
        return
    check.books_compared += 1
    for name, best in (("best_bid", book.bids(1)), ("best_ask", book.asks(1))):
        check._equal(name.replace("_", " "), shown[name], f"{best[0].price:f}" if best else "none")
    top = (book.bids if side == "bids" else book.asks)(len(levels))
    for index, level in enumerate(levels):
        own = top[index] if index < len(top) else None
        check._equal(f"price of level {index}", level["price"], "none" if own is None else f"{own.price:f}")
        amount = "none" if own is None else _decimal(_units(f"{own.amount:f}"))
        check._equal(f"amount of level {index}", level["amount"], amount)


def _units(text: str, scale: int = BASE_SCALE) -> int:
    """Decimal text in units of 10^-scale."""
    match = re.fullmatch(r"([0-9]{1,40})(?:\.([0-9]{1,40}))?", text)
    fraction = "" if match is None else match[2] or ""
    if match is None or len(fraction) > scale:
        raise _unreadable(text)
    return int(match[1] + fraction.ljust(scale, "0"))


def _decimal(amount: int, scale: int = BASE_SCALE, digits: int = 0) -> str:
    """An amount as text, without trailing zeros beyond `digits` fraction digits."""
    text = str(amount).rjust(scale + 1, "0")
    whole, fraction = text[: len(text) - scale], text[len(text) - scale :]
    shown = fraction.rstrip("0").ljust(digits, "0")
    return f"{whole}.{shown}" if shown else whole


def _unreadable(text: str) -> TidegateError:
    return TidegateError("INVALID_ARGUMENT", f"the evidence of the price cannot be read at {text}")


@dataclass(frozen=True, slots=True)
class KeptBook:
    """An unchanging book at one cursor."""

    cursor: str | None
    _bids: Sequence[tuple[str, str]]
    _asks: Sequence[tuple[str, str]]

    def bids(self, count: int | None = None) -> list[Level]:
        return [Level(Decimal(price), Decimal(amount)) for price, amount in self._bids[:count]]

    def asks(self, count: int | None = None) -> list[Level]:
        return [Level(Decimal(price), Decimal(amount)) for price, amount in self._asks[:count]]

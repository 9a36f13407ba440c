"""Market data over the REST API: books, trades, tickers and candles, without a WebSocket."""

import asyncio
import random
import urllib.parse
from typing import Any, Literal, NotRequired, TypedDict, cast

from .credentials import Credentials, TokenSource
from .errors import TidegateError, Unavailable
from .rest import failure, get

SCOPE = "exchange:read_marketdata"
ATTEMPTS_MAX = 4
# If the service asks for a longer wait, the error is raised instead.
RETRY_AFTER_SECONDS_MAX = 60.0

CandleInterval = Literal["1m", "5m", "15m", "1h", "4h", "1d"]


class PriceLevel(TypedDict):
    price: str
    amount: str


class OrderBook(TypedDict):
    """The stream's view at this depth, with the cursor and digest that `tidegate.v1` has for it."""

    market: str
    cursor: str
    time: str
    depth: int
    digest: str
    bids: list[PriceLevel]
    asks: list[PriceLevel]


class Trade(TypedDict):
    cursor: str
    price: str
    amount: str
    executed_at: str
    id: str
    side: NotRequired[str]
    venue: NotRequired[str]


class Ticker(TypedDict):
    """The last 24 hours. Prices that do not exist are absent."""

    market: str
    time: str
    last: NotRequired[str]
    bid: NotRequired[str]
    ask: NotRequired[str]
    open: NotRequired[str]
    high: NotRequired[str]
    low: NotRequired[str]
    volume: str
    quote_volume: str
    vwap: NotRequired[str]
    trades: int


class Candle(TypedDict):
    time: str
    open: str
    high: str
    low: str
    close: str
    volume: str
    quote_volume: str
    trades: int
    first_execution_id: NotRequired[str]
    last_execution_id: NotRequired[str]
    revision: int
    closed: bool
    incomplete: bool


class MarketData:
    """Numbers are exact decimal text. A request is repeated while the service or the market is not ready."""

    def __init__(self, credentials: Credentials, base_url: str) -> None:
        """base_url: the REST API's base address, `base_url` in a credentials file."""
        self._tokens = TokenSource(credentials, SCOPE)
        self._url = f"{base_url.rstrip('/')}/v2/markets"

    async def order_book(self, market: str, depth: int | None = None) -> OrderBook:
        return cast(OrderBook, await self._get(market, "order-book", depth=depth))

    async def trades(self, market: str, limit: int | None = None, before: str | None = None) -> list[Trade]:
        """The last trades, the newest first. before: a trade's cursor."""
        return cast(list[Trade], (await self._get(market, "trades", limit=limit, before=before))["items"])

    async def ticker(self, market: str) -> Ticker:
        return cast(Ticker, await self._get(market, "ticker"))

    async def candles(
        self,
        market: str,
        interval: CandleInterval,
        from_time: str | None = None,
        to_time: str | None = None,
        limit: int | None = None,
    ) -> list[Candle]:
        """The earliest first. Without from_time: the last ones."""
        query: dict[str, str | int | None] = {"interval": interval, "from": from_time, "to": to_time, "limit": limit}
        return cast(list[Candle], (await self._get(market, "candles", **query))["items"])

    async def _get(self, market: str, name: str, **query: str | int | None) -> dict[str, Any]:
        given = {key: value for key, value in query.items() if value is not None}
        url = f"{self._url}/{urllib.parse.quote(market, safe='')}/{name}?{urllib.parse.urlencode(given)}"
        attempt = 1
        while True:
            try:
                answer = await get(self._tokens, url)
                if answer.status == 200 and answer.content.get("market") == market:
                    return answer.content
                raise failure(url, answer)
            except Unavailable as error:
                if attempt >= ATTEMPTS_MAX or error.retry_after > RETRY_AFTER_SECONDS_MAX:
                    raise TidegateError("UNREACHABLE" if error.is_unreachable else "UNAVAILABLE", str(error)) from error
                await asyncio.sleep(error.retry_after + random.random() * 2**attempt)
                attempt += 1

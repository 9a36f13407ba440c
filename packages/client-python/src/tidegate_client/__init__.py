"""The client for a Tidegate service's stream and market data. Everything is imported from here."""

from .book import Book, BookChange, BookStatus, DigestMatch
from .credentials import Credentials
from .errors import ErrorCode, EventsExpired, TidegateError
from .events import CustomerEvent, Events
from .executions import Executions
from .levels import Level, VenueShare
from .market_data import Candle, MarketData, OrderBook, Ticker, Trade
from .messages import Execution, ExecutionGap, InstrumentState
from .polled_events import polled_events
from .price import HeldBook, KeptBook, PriceCheck, verify_price
from .pushed_events import PushedEvents
from .recording import recorded_book
from .stream_client import Connected, Disconnected, Resync, StreamClient, StreamEvent
from .top_of_book import Top, TopOfBook
from .webhooks import verify_webhook

__all__ = [
    "Book",
    "BookChange",
    "BookStatus",
    "Candle",
    "Connected",
    "Credentials",
    "CustomerEvent",
    "DigestMatch",
    "Disconnected",
    "ErrorCode",
    "Events",
    "EventsExpired",
    "Execution",
    "ExecutionGap",
    "Executions",
    "HeldBook",
    "InstrumentState",
    "KeptBook",
    "Level",
    "MarketData",
    "OrderBook",
    "PriceCheck",
    "PushedEvents",
    "Resync",
    "StreamClient",
    "StreamEvent",
    "Ticker",
    "TidegateError",
    "Top",
    "TopOfBook",
    "Trade",
    "VenueShare",
    "polled_events",
    "recorded_book",
    "verify_price",
    "verify_webhook",
]

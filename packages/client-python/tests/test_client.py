"""The client's computations from messages, without a connection: `python3 -m unittest discover
packages/client-python/tests`.
"""

import asyncio
import base64
import hashlib
import json
import unittest
import zlib
from decimal import Decimal
from typing import Any
from unittest import mock

from tidegate_client import (
    Book,
    BookChange,
    Credentials,
    DigestMatch,
    Disconnected,
    EventsExpired,
    ExecutionGap,
    Executions,
    Level,
    MarketData,
    PushedEvents,
    StreamClient,
    StreamEvent,
    TidegateError,
    Top,
    TopOfBook,
    VenueShare,
    polled_events,
    recorded_book,
    verify_webhook,
)
from tidegate_client.book_content import BookContent
from tidegate_client.credentials import TokenSource
from tidegate_client.digest import digest_text, level_hash
from tidegate_client.errors import Fault, Unavailable
from tidegate_client.messages import BookMessage, BookStatement, ExecutionMessage, TopMessage, parse_message
from tidegate_client.rest import Answer, get

Pairs = list[tuple[str, str]]
TIME = "2026-11-23T10:00:00.000000000Z"


def book_message(
    number: int, kind: str = "UPDATE", bids: Pairs | None = None, asks: Pairs | None = None, prev: int | None = None
) -> BookMessage:
    """The message with the cursor `c<number>`, after the message number `prev`."""

    def levels(pairs: Pairs | None) -> list[dict[str, str]]:
        return [{"price": price, "amount": amount} for price, amount in pairs or []]

    payload: dict[str, Any] = {"market": "BTCUSD", "type": kind, "time": f"2026-11-23T10:00:{number:02}.000Z"}
    payload |= {"bids": levels(bids), "asks": levels(asks)}
    stream = {"cursor": f"c{number}", "covers": 1} | ({} if prev is None else {"prev": f"c{prev}"})
    message = parse_message(json.dumps({"channel": "market_data", "payload": payload, "stream": stream}))
    assert isinstance(message, BookMessage)
    return message


def execution_message(number: int, prev: int | None = None) -> ExecutionMessage:
    payload = {"market": "BTCUSD", "price": f"{number}.10", "amount": "1.0", "executed_at": "2026-11-23T10:00:00.000Z"}
    stream = {"cursor": f"c{number}"} | ({} if prev is None else {"prev": f"c{prev}"})
    message = parse_message(json.dumps({"channel": "execution_data", "payload": payload, "stream": stream}))
    assert isinstance(message, ExecutionMessage)
    return message


SECRET = "whsec_" + base64.b64encode(bytes([1]) * 32).decode()
OTHER = "whsec_" + base64.b64encode(bytes([2]) * 32).decode()


class WebhookTest(unittest.TestCase):
    body = '{"sequence":7}'
    # Signed with SECRET at the time 1764000000.
    headers = {
        "Webhook-Id": "e-1",
        "Webhook-Timestamp": "1764000000",
        "Webhook-Signature": "v1,AAAA v1,cfrZs4DgZmmAvpxVg0FlWRAElwaxQyN5um3fmkvSVjA=",
    }

    def test_a_signed_event_is_accepted_with_either_secret(self) -> None:
        for secrets in ([SECRET], [OTHER, SECRET]):
            event = verify_webhook(self.body.encode(), self.headers, secrets, now=1_764_000_299)
            self.assertEqual(event, {"sequence": 7})

    def test_any_other_request_is_refused(self) -> None:
        wrong = [
            (self.body + " ", self.headers, SECRET, 0),
            (self.body, self.headers, OTHER, 0),
            (self.body, self.headers, SECRET, 301),
            (self.body, self.headers, SECRET, -301),
            (self.body, self.headers | {"Webhook-Id": "e-2"}, SECRET, 0),
            (self.body, self.headers | {"Webhook-Timestamp": "now"}, SECRET, 0),
            (self.body, {}, SECRET, 0),
        ]
        for body, headers, secret, late in wrong:
            with self.assertRaises(TidegateError) as raised:
                verify_webhook(body, headers, [secret], now=1_764_000_000 + late)
            self.assertEqual(raised.exception.code, "INVALID_SIGNATURE")
        with self.assertRaises(TidegateError) as raised:
            verify_webhook(self.body, self.headers, ["hunter2"], now=1_764_000_000)
        self.assertEqual(raised.exception.code, "INVALID_ARGUMENT")


class EventsTest(unittest.TestCase):
    def test_pushed_events_are_given_once_in_order_and_answered_when_processed(self) -> None:
        async def run() -> None:
            events = PushedEvents(after=1)
            await events.push({"sequence": 1})
            pushes = [asyncio.create_task(events.push({"sequence": number})) for number in (3, 2, 3)]
            await asyncio.sleep(0)
            seen = []
            async for event in events:
                seen.append(event["sequence"])
                if len(seen) == 1:
                    await asyncio.sleep(0)
                    self.assertFalse(any(push.done() for push in pushes))
                if len(seen) == 2:
                    break
            self.assertEqual(seen, [2, 3])
            await pushes[1]
            events.close()
            for push in (pushes[0], pushes[2]):
                with self.assertRaises(TidegateError) as raised:
                    await push
                self.assertEqual(raised.exception.code, "CLOSED")
            await events.push({"sequence": 2})

        asyncio.run(run())

    def test_polled_events_follow_pages_without_events_and_wait_for_the_service(self) -> None:
        answers = [
            Answer(200, {"items": [{"sequence": 3}]}, 0),
            Answer(200, {"items": [], "next_page_cursor": "c1"}, 0),
            Answer(503, {"detail": "starting"}, 0),
            Answer(200, {"items": [{"sequence": 9}]}, 0),
            Answer(410, {"code": "events_expired", "meta": {"oldest_sequence": 20}}, 0),
        ]
        asked: list[str] = []

        def fetch(request: Any) -> Answer:
            asked.append(request.full_url.split("?")[1])
            return answers.pop(0)

        async def no_wait(_seconds: float) -> None:
            return None

        async def run() -> list[int]:
            credentials = Credentials("id", "secret", "https://example.com", "wss://example.com")
            seen = []
            with self.assertRaises(EventsExpired) as raised:
                async for event in polled_events(credentials, "https://example.com/"):
                    seen.append(event["sequence"])
            self.assertEqual(raised.exception.oldest_sequence, 20)
            return seen

        module = "tidegate_client.polled_events"
        with (
            mock.patch("tidegate_client.rest._fetch", fetch),
            mock.patch(f"{module}.TokenSource.token", a_token),
            mock.patch(f"{module}.asyncio.sleep", no_wait),
        ):
            self.assertEqual(asyncio.run(run()), [9])
        start = "after=3&limit=1000"
        following = f"{start}&page_cursor=c1"
        self.assertEqual(asked, ["order=DESC&limit=1", start, following, following, "after=9&limit=1000"])

    def poll(self, answers: list[Answer]) -> tuple[int, list[str], list[float]]:
        """The first event from now on, what was asked for, and the waits."""
        asked: list[str] = []
        waited: list[float] = []

        def fetch(request: Any) -> Answer:
            asked.append(request.full_url.split("?")[1])
            return answers.pop(0)

        async def wait(seconds: float) -> None:
            waited.append(seconds)

        async def run() -> int:
            credentials = Credentials("id", "secret", "https://example.com", "wss://example.com")
            sequence: int = (await anext(polled_events(credentials, "https://example.com")))["sequence"]
            return sequence

        module = "tidegate_client.polled_events"
        with (
            mock.patch("tidegate_client.rest._fetch", fetch),
            mock.patch(f"{module}.TokenSource.token", a_token),
            mock.patch(f"{module}.asyncio.sleep", wait),
        ):
            return asyncio.run(run()), asked, waited

    def test_polled_events_wait_for_the_service_through_an_outage_of_days(self) -> None:
        failures = [Answer(503, {}, 0)] * 1_100
        answers = [Answer(200, {"items": [{"sequence": 3}]}, 0), *failures, Answer(200, {"items": [{"sequence": 4}]}, 0)]
        sequence, _, waited = self.poll(answers)
        self.assertEqual((sequence, len(waited)), (4, 1_100))
        self.assertLessEqual(max(waited), 60)

    def test_polled_events_from_now_on_follow_the_last_visible_event_however_old_it_is(self) -> None:
        pages = [
            Answer(200, {"items": [], "next_page_cursor": "c1"}, 0),
            Answer(200, {"items": [{"sequence": 3}]}, 0),
            Answer(200, {"items": [{"sequence": 6_000}]}, 0),
        ]
        newest = "order=DESC&limit=1"
        asked = [newest, f"{newest}&page_cursor=c1", "after=3&limit=1000"]
        self.assertEqual(self.poll(pages), (6_000, asked, []))

    def test_polled_events_from_now_on_follow_where_no_event_is_kept_any_more(self) -> None:
        expired = Answer(410, {"code": "events_expired", "meta": {"oldest_sequence": 8}}, 0)
        pages = [Answer(200, {"items": []}, 0), expired, Answer(200, {"items": [{"sequence": 8}]}, 0)]
        asked = ["order=DESC&limit=1", "after=0&limit=1000", "after=7&limit=1000"]
        self.assertEqual(self.poll(pages), (8, asked, []))


async def a_token(_source: object) -> str:
    return "token"


class MarketDataTest(unittest.TestCase):
    def test_waits_for_a_market_which_is_not_ready_and_names_what_was_wrong(self) -> None:
        answers = [
            Answer(503, {"detail": "the market is not live"}, 1),
            Answer(200, {"market": "A/B", "items": [{"time": "t"}]}, 0),
            Answer(400, {"detail": "depth"}, 0),
            *[Answer(503, {"detail": "the market is not live"}, 0)] * 4,
        ]
        asked: list[str] = []
        waited: list[float] = []

        def fetch(request: Any) -> Answer:
            asked.append(request.full_url.removeprefix("https://example.com/v2/markets/"))
            return answers.pop(0)

        async def wait(seconds: float) -> None:
            waited.append(seconds)

        async def run() -> list[str]:
            data = MarketData(Credentials("id", "secret", "https://example.com", "wss://example.com"), "https://example.com/")
            self.assertEqual(await data.candles("A/B", "1m", from_time="2026-01-01T00:00:00Z"), [{"time": "t"}])
            codes = []
            for depth in (7, 5):
                with self.assertRaises(TidegateError) as raised:
                    await data.order_book("A/B", depth=depth)
                codes.append(raised.exception.code)
            return codes

        module = "tidegate_client.market_data"
        with (
            mock.patch("tidegate_client.rest._fetch", fetch),
            mock.patch(f"{module}.TokenSource.token", a_token),
            mock.patch(f"{module}.asyncio.sleep", wait),
        ):
            self.assertEqual(asyncio.run(run()), ["INVALID_ARGUMENT", "UNAVAILABLE"])
        self.assertGreaterEqual(waited[0], 1)
        candles = "A%2FB/candles?interval=1m&from=2026-01-01T00%3A00%3A00Z"
        self.assertEqual(asked, [candles] * 2 + ["A%2FB/order-book?depth=7"] + ["A%2FB/order-book?depth=5"] * 4)


class RedirectTest(unittest.IsolatedAsyncioTestCase):
    async def test_no_redirect_takes_the_token_to_another_address(self) -> None:
        taken: list[bytes] = []

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken.append(await reader.readuntil(b"\r\n\r\n"))
            writer.close()

        elsewhere = await asyncio.start_server(take, "127.0.0.1", 0)
        target = "127.0.0.1:{}".format(elsewhere.sockets[0].getsockname()[1])

        async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            request = await reader.readuntil(b"\r\n\r\n")
            scheme = "ws" if b"Upgrade" in request else "http"
            writer.write(f"HTTP/1.1 302 Found\r\nLocation: {scheme}://{target}/\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(redirect, "127.0.0.1", 0)
        address = "127.0.0.1:{}".format(server.sockets[0].getsockname()[1])
        credentials = Credentials("id", "secret", f"http://{address}", f"ws://{address}")
        with mock.patch("tidegate_client.credentials.TokenSource.token", a_token):
            with self.assertRaisesRegex(TidegateError, "answered 302"):
                await MarketData(credentials, f"http://{address}").ticker("BTCUSD")
            with self.assertRaises(TidegateError):
                async with StreamClient(credentials) as client:
                    await client.book("BTCUSD")
        for each in (server, elsewhere):
            each.close()
        self.assertEqual(taken, [])


class RefusedHandshakeTest(unittest.IsolatedAsyncioTestCase):
    async def test_two_retry_after_headers_do_not_end_the_client(self) -> None:
        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            headers = b"Retry-After: 7\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
            writer.write(b"HTTP/1.1 503 Service Unavailable\r\n" + headers + b"\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        address = "127.0.0.1:{}".format(server.sockets[0].getsockname()[1])
        credentials = Credentials("id", "secret", f"http://{address}", f"ws://{address}")
        events: asyncio.Queue[StreamEvent] = asyncio.Queue()
        with mock.patch("tidegate_client.credentials.TokenSource.token", a_token):
            async with StreamClient(credentials, events.put_nowait) as client:
                opening = asyncio.ensure_future(client.book("BTCUSD"))
                event = await asyncio.wait_for(events.get(), 10)
                opening.cancel()
                await asyncio.gather(opening, return_exceptions=True)
        server.close()
        assert isinstance(event, Disconnected)
        self.assertGreaterEqual(event.retry_in_seconds, 7)


class InterruptedAnswerTest(unittest.IsolatedAsyncioTestCase):
    async def test_an_answer_whose_connection_ends_within_it_counts_as_no_answer(self) -> None:
        heads = [
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
            b"HTTP/1.1 503 Unavailable\r\nContent-Length: 100\r\n\r\n{",
            b"HTTP/1.1 503 Unavailable\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{",
        ]

        async def interrupt(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(heads.pop(0))
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(interrupt, "127.0.0.1", 0)
        address = "http://127.0.0.1:{}".format(server.sockets[0].getsockname()[1])
        credentials = Credentials("id", "secret", address, "ws://127.0.0.1")
        with mock.patch("tidegate_client.credentials.TokenSource.token", a_token):
            while heads:
                with self.assertRaisesRegex(Unavailable, "cannot reach") as raised:
                    await get(TokenSource(credentials, "scope"), f"{address}/v2/events")
                self.assertTrue(raised.exception.is_unreachable)
        server.close()


SNAPSHOT: tuple[Pairs, Pairs] = ([("100.00", "1.5000"), ("99.99", "0.0001")], [("100.01", "12345678.9012"), ("200.00", "1.0000")])


def snapshot(number: int = 1) -> BookMessage:
    return book_message(number, "SNAPSHOT", *SNAPSHOT)


class DigestTest(unittest.TestCase):
    def test_vectors_of_the_documentation(self) -> None:
        self.assertEqual(digest_text(level_hash("bid", "61234.50", "0.12340000")), "6a38008e41993c7a")
        self.assertEqual(digest_text(level_hash("ask", "100.01", "12345678.9012")), "085774a6802e8a52")
        content = BookContent()
        self.assertEqual(content.digest(), "0000000000000000")
        content.replace(snapshot())
        self.assertEqual(content.digest(), "d40b92e8fa3df3b5")

    def test_follows_changes(self) -> None:
        content = BookContent()
        content.replace(snapshot())
        content.digest()
        removed = [("99.99", "0")], [("200.00", "0")]
        content.update(book_message(2, "UPDATE", *removed), lambda *_: None)
        self.assertEqual(content.digest(), "7a6182355f8de12d")


class BookContentTest(unittest.TestCase):
    def assert_fault(self, message: BookMessage, reason: str) -> None:
        content = BookContent()
        content.replace(snapshot())
        with self.assertRaisesRegex(Fault, reason):
            content.update(message, lambda *_: None)

    def test_rules(self) -> None:
        self.assert_fault(book_message(1), "arrived after")
        self.assert_fault(book_message(2, bids=[("98.00", "0")]), "not in the book")
        self.assert_fault(book_message(2, bids=[("100.01", "1.0000")]), "crossed")
        self.assert_fault(book_message(2, bids=[("98.00", "1.0000"), ("99.00", "1.0000")]), "not sorted")
        self.assert_fault(book_message(2, bids=[("98.0", "1.0000")]), "more or fewer decimals")
        self.assert_fault(book_message(2, bids=[("98.00", "1.0")]), "more or fewer decimals")

    def test_malformed_messages(self) -> None:
        for text in ("", "[]", "[" * 100_000, '{"channel":"market_data"}', '{"channel":"heartbeat","payload":{"timestamp":"x"}}'):
            with self.assertRaises(Fault):
                parse_message(text)
        for number in ("1e5", "-1", "٣", "1" * 41, "01.0", "NaN", ".5"):
            with self.assertRaises(Fault):
                book_message(1, "SNAPSHOT", [(number, "1")])
        with self.assertRaises(Fault):
            parse_message(b"{}")


def new_book(depth: int | None = None) -> Book:
    return Book("BTCUSD", depth, None, lambda book: book.end(None))


class BookTest(unittest.IsolatedAsyncioTestCase):
    async def test_levels_are_exact_and_the_best_come_first(self) -> None:
        book = new_book()
        book.acknowledge(None)
        book.receive(book_message(1, "SNAPSHOT", [("100.00", "0.00000001")], [("1000.10", "2.00000000")]))
        book.receive(book_message(2, bids=[("999.00", "1.10000000")], prev=1))
        self.assertEqual(book.status, "LIVE")
        self.assertEqual(book.best_bid, Level(Decimal("999.00"), Decimal("1.10000000")))
        self.assertEqual([str(level.price) for level in book.bids()], ["999.00", "100.00"])
        self.assertEqual([f"{level.amount:f}" for level in book.bids()], ["1.10000000", "0.00000001"])
        self.assertEqual((len(book.bids(1)), len(book.bids(0)), len(book.asks(5))), (1, 0, 1))

    async def test_a_slow_loop_gets_one_exact_change(self) -> None:
        book = new_book()
        book.acknowledge(None)
        book.receive(snapshot())
        loop = aiter(book)
        self.assertEqual((await anext(loop)).type, "SNAPSHOT")
        book.receive(book_message(2, bids=[("100.00", "2.0000"), ("99.99", "0")], prev=1))
        book.receive(book_message(3, bids=[("100.00", "3.0000"), ("98.00", "1.0000")], prev=2))
        book.receive(book_message(4, bids=[("98.00", "0")], prev=3))
        expected = [Level(Decimal("100.00"), Decimal("3.0000")), Level(Decimal("99.99"), Decimal(0))]
        self.assertEqual(await anext(loop), BookChange("UPDATE", "LIVE", book.time, expected, []))
        book.close()
        with self.assertRaises(StopAsyncIteration):
            await anext(loop)

    async def test_missing_messages_and_other_digests_are_faults(self) -> None:
        book = new_book()
        book.acknowledge(None)
        with self.assertRaisesRegex(Fault, "before the SNAPSHOT"):
            book.receive(book_message(1))
        book.receive(snapshot())
        with self.assertRaisesRegex(Fault, "not received"):
            book.receive(book_message(3, bids=[("98.00", "1.0000")], prev=2))
        with self.assertRaisesRegex(Fault, "later one"):
            book.confirm(BookStatement("BTCUSD", TIME, "c2", None, True, None))
        with self.assertRaisesRegex(Fault, "digest"):
            book.confirm(BookStatement("BTCUSD", TIME, "c1", "0" * 16, True, None))
        self.assertIsNone(book.digest_match)
        book.confirm(BookStatement("BTCUSD", TIME, "c1", "d40b92e8fa3df3b5", False, "HALTED"))
        self.assertEqual(book.digest_match, DigestMatch("d40b92e8fa3df3b5", TIME))
        self.assertEqual((book.status, book.instrument_state), ("STALE", "HALTED"))

    async def test_changes_from_before_a_loss_do_not_make_a_book_live(self) -> None:
        book = new_book()
        book.acknowledge(None)
        book.receive(snapshot())
        book.confirm(BookStatement("BTCUSD", TIME, "c1", None, False, None))
        book.receive(book_message(2, bids=[("98.00", "1.0000")], prev=1))
        self.assertEqual((book.status, len(book.bids())), ("STALE", 3))
        book.suspend("lost")
        book.acknowledge(None)
        book.receive(book_message(3, bids=[("97.00", "1.0000")], prev=2))
        self.assertEqual((book.status, len(book.bids())), ("STALE", 4))
        book.confirm(BookStatement("BTCUSD", TIME, "c3", None, True, None))
        self.assertEqual(book.status, "LIVE")

    async def test_after_a_withdrawal_an_update_names_no_predecessor(self) -> None:
        removed = {"bids": [("100.00", "0"), ("99.99", "0")], "asks": [("100.01", "0"), ("200.00", "0")]}
        book = new_book()
        book.acknowledge(None)
        book.receive(snapshot())
        book.receive(book_message(2, **removed, prev=1))
        self.assertEqual((book.status, book.best_bid), ("STALE", None))
        with self.assertRaisesRegex(Fault, "not received"):
            book.receive(book_message(4, bids=[("98.00", "1.0000")], prev=3))
        book.receive(book_message(5, bids=[("98.00", "1.0000")]))
        self.assertEqual((book.status, [str(level.price) for level in book.bids()]), ("LIVE", ["98.00"]))
        book.receive(book_message(6, bids=[("97.00", "1.0000")], prev=5))
        self.assertEqual(len(book.bids()), 2)
        # While the book has levels, a message is missing.
        with self.assertRaisesRegex(Fault, "not received"):
            book.receive(book_message(7, bids=[("96.00", "1.0000")]))

    async def test_status_over_a_lost_connection(self) -> None:
        book = new_book(depth=1)
        book.acknowledge(None)
        book.receive(snapshot())
        book.suspend("lost")
        self.assertEqual(book.status, "RESYNCING")
        self.assertEqual(book.params(True), {"market": "BTCUSD", "depth": 1, "resume": "c1"})
        self.assertEqual(book.params(False), {"market": "BTCUSD"})
        self.assertEqual(len(book.bids()), 1)
        book.acknowledge(None)
        book.receive(book_message(2, bids=[("100.00", "0"), ("99.99", "0")], asks=[("100.01", "0"), ("200.00", "0")], prev=1))
        self.assertEqual((book.status, book.best_bid), ("STALE", None))
        book.reset("market changed")
        self.assertEqual(book.params(True), {"market": "BTCUSD", "depth": 1})


Division = list[tuple[str, str]]


class VenuesTest(unittest.IsolatedAsyncioTestCase):
    """A book with one bid at 100.00, whose amount 1.5000 comes from two venues."""

    DIVISION: Division = [("kraken", "1.0000"), ("coinbase", "0.5000")]

    def message(self, number: int, amount: str, venues: Division | None, prev: int | None = None) -> BookMessage:
        level = {"price": "100.00", "amount": amount} | ({} if venues is None else {"venues": venues})
        kind = "SNAPSHOT" if prev is None else "UPDATE"
        payload = {"market": "BTCUSD", "type": kind, "time": f"2026-11-23T10:00:{number:02}.000Z", "bids": [level], "asks": []}
        stream = {"cursor": f"c{number}", "covers": 1} | ({} if prev is None else {"prev": f"c{prev}"})
        message = parse_message(json.dumps({"channel": "market_data", "payload": payload, "stream": stream}))
        assert isinstance(message, BookMessage)
        return message

    def open(self) -> Book:
        book = Book("BTCUSD", None, None, lambda closed: closed.end(None), True)
        book.acknowledge(None)
        book.receive(self.message(1, "1.5000", self.DIVISION))
        return book

    async def test_levels_name_their_venues(self) -> None:
        book = self.open()
        self.assertEqual(book.params(True), {"market": "BTCUSD", "attribution": True, "resume": "c1"})
        self.assertEqual(book.params(False), {"market": "BTCUSD"})
        venues = (VenueShare("kraken", Decimal("1.0000")), VenueShare("coinbase", Decimal("0.5000")))
        self.assertEqual(book.best_bid, Level(Decimal("100.00"), Decimal("1.5000"), venues))
        self.assertIsNone(new_book().params(True).get("attribution"))

    async def test_a_loop_gets_a_level_whose_division_alone_changed_unless_it_changed_back(self) -> None:
        book = self.open()
        loop = aiter(book)
        await anext(loop)
        book.receive(self.message(2, "1.5000", [("kraken", "1.5000")], prev=1))
        change = await anext(loop)
        self.assertEqual(change.bids, [Level(Decimal("100.00"), Decimal("1.5000"), (VenueShare("kraken", Decimal("1.5000")),))])
        book.receive(self.message(3, "1.5000", self.DIVISION, prev=2))
        book.receive(self.message(4, "1.5000", [("kraken", "1.5000")], prev=3))
        book.receive(self.message(5, "0", None, prev=4))
        change = await anext(loop)
        self.assertEqual((change.type, change.bids), ("UPDATE", [Level(Decimal("100.00"), Decimal(0))]))
        book.receive(self.message(6, "2.0000", [], prev=5))
        self.assertEqual((await anext(loop)).bids, [Level(Decimal("100.00"), Decimal("2.0000"), ())])

    async def test_venues_that_do_not_have_the_amount_are_faults(self) -> None:
        wrong: list[Division | None] = [
            None,
            [("kraken", "1.0000")],
            [("kraken", "1.0000"), ("kraken", "0.5000")],
            [("kraken", "1.5000"), ("coinbase", "0.0000")],
            [("kraken", "1.5")],
        ]
        for venues in wrong:
            with self.assertRaisesRegex(Fault, "venues"):
                self.open().receive(self.message(2, "1.5000", venues, prev=1))
        for share in (["kraken"], ["kraken", "1.5", "x"], [1, "1.5"], ["kraken", 1.5], "kraken", {}):
            with self.assertRaises(Fault):
                self.message(2, "1.5000", [share])  # type: ignore[list-item]


def top_message(number: int, bids: Pairs, asks: Pairs, prev: int | None = None) -> TopMessage:
    def levels(pairs: Pairs) -> list[dict[str, str]]:
        return [{"price": price, "amount": amount} for price, amount in pairs]

    payload: dict[str, Any] = {"market": "BTCUSD", "type": "TOP_OF_BOOK", "timestamp": f"2026-11-23T10:00:{number:02}.000000000Z"}
    stream = {"cursor": f"c{number}", "covers": 1} | ({} if prev is None else {"prev": f"c{prev}"})
    content = {**payload, "bids": levels(bids), "asks": levels(asks)}
    message = parse_message(json.dumps({"channel": "market_data.top_of_book", "payload": content, "stream": stream}))
    assert isinstance(message, TopMessage)
    return message


class TopOfBookTest(unittest.IsolatedAsyncioTestCase):
    async def test_a_loop_gets_the_latest(self) -> None:
        top = TopOfBook("BTCUSD", 100, lambda closed: closed.end(None))
        self.assertEqual(top.params(True), {"market": "BTCUSD", "interval_ms": 100})
        self.assertEqual(top.params(False), {"market": "BTCUSD"})
        top.acknowledge(None)
        loop = aiter(top)
        top.receive(top_message(1, [("100.00", "1.0000")], [("100.50", "2.0000")]))
        self.assertEqual((await anext(loop)).best_ask, Level(Decimal("100.50"), Decimal("2.0000")))
        top.receive(top_message(2, [("100.10", "1.0000")], [], prev=1))
        top.receive(top_message(3, [("100.20", "1.0000")], [], prev=2))
        self.assertEqual(await anext(loop), Top("LIVE", top.time, Level(Decimal("100.20"), Decimal("1.0000")), None))
        top.suspend("lost")
        self.assertEqual((await anext(loop)).status, "RESYNCING")
        top.acknowledge(None)
        top.receive(top_message(2, [], []))
        self.assertEqual((await anext(loop)).status, "STALE")
        top.close()
        with self.assertRaises(StopAsyncIteration):
            await anext(loop)

    async def test_rules(self) -> None:
        bid = [("100.00", "1.0000")]
        for message, reason in (
            (top_message(1, bid, []), "arrived after"),
            (top_message(3, bid, [], prev=2), "not received"),
            (top_message(2, bid, [("100.00", "1.0000")], prev=1), "crossed"),
            (top_message(2, bid, [("100.1", "1.0000")], prev=1), "decimals"),
        ):
            top = TopOfBook("BTCUSD", None, lambda closed: closed.end(None))
            top.acknowledge(None)
            top.receive(top_message(1, bid, []))
            with self.assertRaisesRegex(Fault, reason):
                top.receive(message)
        with self.assertRaisesRegex(Fault, "levels on a side"):
            top_message(1, [*bid, ("99.00", "1.0000")], [])


class ExecutionsTest(unittest.IsolatedAsyncioTestCase):
    async def test_gaps_are_reported_and_resumed_executions_are_not_gaps(self) -> None:
        executions = Executions("BTCUSD", lambda closed: closed.end(None))
        executions.acknowledge(None)
        executions.receive(execution_message(1))
        executions.suspend("closed with 1012")
        self.assertEqual(executions.params(True), {"market": "BTCUSD", "resume": "c1"})
        executions.acknowledge(True)
        executions.receive(execution_message(2, prev=1))
        executions.suspend("closed with 1012")
        executions.acknowledge(False)
        executions.receive(execution_message(9))
        with self.assertRaises(Fault):
            executions.receive(execution_message(11, prev=10))
        executions.close()
        events = [event if isinstance(event, ExecutionGap) else str(event.price) async for event in executions]
        self.assertEqual(events, ["1.10", "2.10", ExecutionGap("closed with 1012"), "9.10"])

    async def test_a_connection_lost_before_the_subscription_began_is_no_gap(self) -> None:
        executions = Executions("BTCUSD", lambda closed: closed.end(None))
        executions.suspend("answered 503")
        executions.acknowledge(None)
        executions.receive(execution_message(1))
        executions.close()
        events = [event if isinstance(event, ExecutionGap) else str(event.price) async for event in executions]
        self.assertEqual(events, ["1.10"])

    async def test_a_reader_that_does_not_keep_up_gets_a_gap(self) -> None:
        executions = Executions("BTCUSD", lambda closed: closed.end(None))
        executions.acknowledge(None)
        executions.receive(execution_message(0))
        for number in range(1, 10_001):
            executions.receive(execution_message(number, prev=number - 1))
        executions.close()
        events = [event async for event in executions]
        self.assertEqual((events[0], len(events)), (ExecutionGap("the reader did not keep up"), 5_002))


class RecordingTest(unittest.TestCase):
    """A recording with a keyframe at 14:00:00 (version 7) and entries at 14:00:30 (8) and 14:01:00 (9)."""

    def setUp(self) -> None:
        market = {"symbol": "BTCUSD", "price_decimals": 2, "amount_decimals": 4, "depth": 10}
        header = json.dumps({"markets": [market]}).encode()
        signature = b"tidegate recording 1\n"
        self.header = signature + len(header).to_bytes(4, "big") + zlib.crc32(header).to_bytes(4, "big") + header
        snapshot = {"snapshot": [[10_000, 15_000], [10_001, 20_000]], "commit": [7, 0, 0, "e"]}
        self.keyframe = self.block(0, 1, 0, snapshot)
        self.entry = self.block(1, 0, 30, {"update": [[9_999, 70_000], []], "commit": [8, 0, 0, "e"]})
        self.later = self.block(2, 0, 60, {"update": [[9_998, 10_000], []], "commit": [9, 0, 0, "e"]})

    def block(self, number: int, kind: int, second: int, event: dict[str, Any]) -> bytes:
        # Not compressed, so that a test can change a digit.
        packer = zlib.compressobj(0, zlib.DEFLATED, -15)
        body = packer.compress(json.dumps([0, 0, event]).encode() + b"\n") + packer.flush()
        time = (1_763_906_400_000 + second * 1_000).to_bytes(8, "big")
        numbers = [number.to_bytes(4, "big"), time, time, (1).to_bytes(4, "big")]
        sums = [len(body).to_bytes(4, "big"), zlib.crc32(body).to_bytes(4, "big")]
        head = b"\x00TGB" + kind.to_bytes(4, "big") + b"".join(numbers + sums)
        return head + zlib.crc32(head).to_bytes(4, "big") + body

    def bids_at(self, version: int, time: str, *parts: bytes) -> list[str] | None:
        bound = hashlib.sha256(b'["BTCUSD","market_data",10,"e"]').digest()[:6]
        cursor = f"{base64.urlsafe_b64encode(bound).decode()}.{version}"
        book = recorded_book(b"".join(parts), "BTCUSD", {"cursor": cursor, "time": f"2025-11-23T{time}.000Z"})
        return None if book is None else [f"{level.price} {level.amount}" for level in book.bids()]

    def test_the_book_is_the_one_after_the_commit_with_the_cursor(self) -> None:
        parts = (self.header, self.keyframe, self.entry, self.later)
        self.assertEqual(self.bids_at(7, "14:00:00", *parts), ["100.00 1.5000"])
        self.assertEqual(self.bids_at(8, "14:00:30", *parts), ["100.00 1.5000", "99.99 7.0000"])
        self.assertIsNone(self.bids_at(10, "14:01:00", *parts))

    def test_damaged_bytes_are_never_read(self) -> None:
        cases = (
            (self.header, self.keyframe, self.entry.replace(b"70000", b"60000"), self.later),
            (self.header, self.keyframe, self.entry.replace(b"TGB", b"TGC"), self.later),
            (self.header, self.keyframe, self.later),
            (self.header.replace(b"10}", b"11}"), self.keyframe, self.entry, self.later),
        )
        for parts in cases:
            with self.assertRaisesRegex(TidegateError, "damaged"):
                self.bids_at(9, "14:01:00", *parts)

    def test_a_recording_is_read_up_to_a_damage_and_to_an_incomplete_end(self) -> None:
        damaged = self.entry.replace(b"TGB", b"TGC")
        self.assertEqual(self.bids_at(7, "14:00:00", self.header, self.keyframe, damaged), ["100.00 1.5000"])
        parts = (self.header, self.keyframe, self.entry[:-1])
        self.assertEqual(self.bids_at(7, "14:00:00", *parts), ["100.00 1.5000"])
        self.assertIsNone(self.bids_at(8, "14:00:30", *parts))


class CredentialsTest(unittest.TestCase):
    def test_are_checked_and_hide_the_secret(self) -> None:
        credentials = Credentials("id", "a secret", "https://api.example.com", "wss://api.example.com")
        self.assertNotIn("a secret", repr(credentials))
        addresses = (("a", "wss://a"), ("https://a", "https://a"), ("https://", "wss://a"), ("https://a", "wss://a:84433"))
        for wrong in (("", "s", "https://a", "wss://a"), *(("i", "s", *each) for each in addresses)):
            with self.assertRaises(TidegateError) as caught:
                Credentials(*wrong)
            self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")


if __name__ == "__main__":
    unittest.main()

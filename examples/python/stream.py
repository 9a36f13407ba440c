#!/usr/bin/env python3
"""Keeps the book of one market and prints its best prices whenever they change.

    apt install python3-websockets python3-requests     (Debian; elsewhere: pip install websockets requests)
    python3 stream.py BTCUSD [demo-client.json]

The credentials file is the second argument, or $TIDEGATE_CREDENTIALS, or data/demo-client.json. For a certificate
from a private CA: export SSL_CERT_FILE=ca.pem REQUESTS_CA_BUNDLE=ca.pem (the stream reads the first, the token
request the second). Press Ctrl-C to stop. Written for websockets 10.4, the version in Debian 12.
"""

import asyncio
import json
import os
import random
import signal
import sys
from decimal import Decimal

import requests
import websockets

SCOPE = "exchange:read_aggregated_marketdata_stream"
# The library sends pings; a service that does not answer for this long is considered gone.
PING_SECONDS = 10
BACKOFF_SECONDS_MAX = 30
# The library closes the connection on messages over 1 MiB by default; a snapshot of a deep book is larger.
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
# Version 14 of the library renamed the argument for headers.
HEADERS_ARGUMENT = "extra_headers" if int(websockets.__version__.split(".")[0]) < 14 else "additional_headers"


class Fatal(Exception):
    """Retrying cannot help."""


class Retry(Exception):
    """A new connection may succeed later."""


class Book:
    """The levels of one market: price to amount, as exact decimals, never floats."""

    def __init__(self):
        self.sides = {"bids": {}, "asks": {}}
        self.time = ""

    def apply(self, payload):
        # Timestamps have a fixed width, so they can be compared as text.
        if payload["time"] <= self.time:
            raise Fatal(f"a book message of {payload['time']} arrived after one of {self.time}")
        self.time = payload["time"]
        if payload["type"] == "SNAPSHOT":
            self.sides = {"bids": {}, "asks": {}}
        for side, levels in self.sides.items():
            for level in payload[side]:
                price, amount = Decimal(level["price"]), Decimal(level["amount"])
                if amount != 0:
                    levels[price] = amount
                elif levels.pop(price, None) is None:
                    raise Fatal(f"the removed level {side} {price} is not in the book")

    def best(self):
        """Returns the best bid and ask as (price, amount); None for an empty side."""
        bids, asks = self.sides["bids"], self.sides["asks"]
        bid, ask = max(bids, default=None), min(asks, default=None)
        if bid is not None and ask is not None and bid >= ask:
            raise Fatal(f"the book is crossed: {bid} bid, {ask} asked")
        return (bid and (bid, bids[bid])), (ask and (ask, asks[ask]))


def read_credentials():
    path = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("TIDEGATE_CREDENTIALS", "data/demo-client.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def fetch_token(credentials):
    form = {
        "grant_type": "client_credentials",
        "client_id": credentials["client_id"],
        "client_secret": credentials["client_secret"],
        "scope": SCOPE,
    }
    answer = requests.post(credentials["auth_url"] + "/oauth2/token", data=form, timeout=10)
    if answer.status_code in (400, 401):
        raise Fatal(f"no token: {answer.json()['error_description']}")
    answer.raise_for_status()
    return answer.json()["access_token"]


async def read_stream(credentials, market):
    """Runs one connection until it ends."""
    token = await asyncio.to_thread(fetch_token, credentials)
    options = {
        HEADERS_ARGUMENT: {"Authorization": f"Bearer {token}"},
        "max_size": MESSAGE_BYTES_MAX,
        "ping_interval": PING_SECONDS,
        "ping_timeout": PING_SECONDS,
    }
    async with websockets.connect(credentials["ws_url"] + "/", **options) as socket:
        channels = [{"type": "market_data", "params": {"market": market}}]
        await socket.send(json.dumps({"type": "subscribe", "channels": channels}))
        book, shown = Book(), None
        while True:
            message = json.loads(await socket.recv())
            if "channel" not in message:
                check_reply(message)
                if message["type"] == "unsubscribe":
                    # The market was removed or changed: subscribe again. If it was removed, that is refused.
                    await socket.send(json.dumps({"type": "subscribe", "channels": channels}))
            elif message["channel"] == "market_data":
                book.apply(message["payload"])
                best = book.best()
                if best != shown:
                    shown = best
                    print(book.time, market, *(level_text(level) for level in best), flush=True)


def level_text(level):
    """Formats without an exponent: str() would format an amount of 0.00000001 as 1E-8."""
    return f"{level[0]:f} x {level[1]:f}" if level else "-"


def check_reply(reply):
    """Raises Fatal if the request cannot succeed, and Retry if the service could not process it now."""
    for entry in [reply, *reply.get("channels", [])]:
        if entry.get("error", "NO_EFFECT_ACTION") == "NO_EFFECT_ACTION":
            continue
        kind = Retry if entry["error"] == "INTERNAL_SERVER_ERROR" else Fatal
        raise kind(f"{entry['error']}: {entry['message']}")


def retry_after(error):
    """Returns the Retry-After seconds of a refused handshake or token request; 0 without that header."""
    response = getattr(error, "response", None)
    headers = getattr(error if response is None else response, "headers", {})
    seconds = headers.get("Retry-After", "0")
    return int(seconds) if seconds.isdigit() else 0


def next_step(code, reason):
    """Reacts to a close code; the table is in docs/reference/errors.md."""
    if code in (1002, 1007, 1009, 4003):
        raise Fatal(f"closed with {code} {reason}")
    print(f"closed with {code} {reason}", file=sys.stderr, flush=True)


async def run(market):
    credentials, failures = read_credentials(), 0
    while True:
        wait = 0
        try:
            await read_stream(credentials, market)
        except websockets.ConnectionClosed as closed:
            failures = 0
            next_step(closed.rcvd.code if closed.rcvd else 1006, closed.rcvd.reason if closed.rcvd else "")
        except websockets.InvalidHandshake as refused:
            failures += 1
            # 403: this client may not stream. 401: the token has expired. 429 and 503: retry later.
            if getattr(getattr(refused, "response", refused), "status_code", None) == 403:
                raise Fatal(f"the handshake was refused: {refused}") from refused
            print(f"the handshake was refused: {refused}", file=sys.stderr, flush=True)
            wait = retry_after(refused)
        except Retry as error:
            failures += 1
            print(error, file=sys.stderr, flush=True)
        except (OSError, asyncio.TimeoutError) as error:
            # Includes the errors of requests, which are OSErrors.
            failures += 1
            print(f"no connection: {type(error).__name__}", file=sys.stderr, flush=True)
            wait = retry_after(error)
        # Backoff with jitter, so that after a restart of the service not all clients reconnect at the same moment.
        await asyncio.sleep(wait + random.uniform(0, min(BACKOFF_SECONDS_MAX, 2**failures)))


async def main():
    if len(sys.argv) < 2:
        raise Fatal("usage: stream.py MARKET [CREDENTIALS]")
    task = asyncio.ensure_future(run(sys.argv[1]))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        pass


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except Fatal as error:
        sys.exit(str(error))

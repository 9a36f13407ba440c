#!/usr/bin/env python3
"""A publisher that connects to Tidegate's ingest listener: one market whose book changes ten times a second.

    TOKEN=... python3 push.py BTCUSD ws://127.0.0.1:9443/    (needs python3-websockets)

Instead of TOKEN: TOKEN_URL, CLIENT_ID and CLIENT_SECRET of a client with the scope exchange:publish_marketdata."""

import asyncio
import json
import os
import random
import sys
import urllib.parse
import urllib.request

import websockets
from engine import Engine, heartbeat
from websockets.legacy.client import connect

MARKET = sys.argv[1] if len(sys.argv) > 1 else "BTCUSD"
URL = sys.argv[2] if len(sys.argv) > 2 else "ws://127.0.0.1:9443/"
# A server that does not read makes the engine wait for a new connection, not for memory.
UNSENT_MESSAGES_MAX = 20_000

engine = Engine(MARKET)
current = None  # The connection and its unsent messages, once the server has reported what it accepted.


def fetch_token():
    if "TOKEN" in os.environ:
        return os.environ["TOKEN"]
    form = {"grant_type": "client_credentials", "scope": "exchange:publish_marketdata"}
    form |= {"client_id": os.environ["CLIENT_ID"], "client_secret": os.environ["CLIENT_SECRET"]}
    with urllib.request.urlopen(os.environ["TOKEN_URL"], urllib.parse.urlencode(form).encode(), timeout=10) as answer:
        return json.load(answer)["access_token"]


async def send_all(socket, queue):
    while True:
        await socket.send(await queue.get())


async def receive_all(socket, queue):
    """Continues after the message that the server accepted last, or begins with a SNAPSHOT; then answers requests."""
    global current
    begun = False
    async for text in socket:
        message = json.loads(text)
        if message["type"] == "accepted" and not begun:
            begun, current = True, (socket, queue)
            accepted = next((one for one in message["markets"] if one["market"] == MARKET), {})
            follow = engine.after(accepted.get("epoch"), accepted.get("seq", 0))
            for one in follow or [engine.snapshot()]:
                put(one)
        elif message["type"] == "snapshot_request":
            put(engine.snapshot())
        elif message["type"] == "rejected":
            print(message["message"], file=sys.stderr, flush=True)


def put(message):
    if current is not None and current[1].full():
        current[0].transport.abort()
    elif current is not None:
        current[1].put_nowait(message)


async def publish():
    headers = {"Authorization": f"Bearer {await asyncio.to_thread(fetch_token)}"}
    async with connect(URL, subprotocols=["tidegate.publish.v1"], extra_headers=headers) as socket:
        queue = asyncio.Queue(UNSENT_MESSAGES_MAX)
        sender = asyncio.create_task(send_all(socket, queue))
        try:
            await receive_all(socket, queue)
        finally:
            sender.cancel()


async def run_engine():
    while True:
        await asyncio.sleep(0.1)
        put(engine.step())
        if engine.seq % 20 == 0:
            put(heartbeat())


async def main():
    engine_task = asyncio.create_task(run_engine())
    while not engine_task.done():
        try:
            await publish()
        except (OSError, asyncio.TimeoutError, websockets.WebSocketException) as error:
            print(f"connection lost: {error!r}", file=sys.stderr, flush=True)
            if getattr(error, "code", None) == 4003:
                sys.exit(1)  # Access was revoked: only a person can restore it.
        await asyncio.sleep(0.5 + random.random())


asyncio.run(main())

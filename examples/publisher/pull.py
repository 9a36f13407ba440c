#!/usr/bin/env python3
"""A publisher to which Tidegate connects: one market whose book changes ten times a second.

    apt install python3-websockets     (Debian; elsewhere: pip install websockets)
    TOKEN=secret python3 pull.py BTCUSD 9001
"""

import asyncio
import http
import json
import os
import sys

from engine import Engine, heartbeat
from websockets.legacy.server import serve

MARKET = sys.argv[1] if len(sys.argv) > 1 else "BTCUSD"
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 9001
TOKEN = os.environ.get("TOKEN", "secret")
# A client that does not read is closed: it comes back and resumes.
UNSENT_MESSAGES_MAX = 10_000

engine = Engine(MARKET)
connections = {}  # The queue of unsent messages of each connection.
subscribed = set()


def put(socket, message):
    if connections[socket].full():
        socket.transport.abort()
    else:
        connections[socket].put_nowait(message)


def answer(socket, action, entry):
    """Answers one entry of a request; returns the acknowledgement and the messages that follow it."""
    kind, params = entry["type"], entry.get("params", {})
    if kind == "heartbeat":
        return {"type": kind, "success": True}, []
    if kind != "publication" or params["market"] != MARKET:
        return {"type": kind, "params": params, "success": False, "message": "unknown channel or market"}, []
    done = {"type": kind, "params": {"market": MARKET}, "success": True}
    if action == "unsubscribe":
        subscribed.discard(socket)
        return done, []
    subscribed.add(socket)
    epoch, _, seq = str(params.get("resume", "")).rpartition(".")
    follow = engine.after(epoch, int(seq)) if seq.isdigit() else None
    return {**done, "resumed": follow is not None}, [engine.snapshot()] if follow is None else follow


def requested(socket, text):
    try:
        request = json.loads(text)
        if request["type"] not in ("subscribe", "unsubscribe"):
            raise ValueError("unknown request")
        answers = [answer(socket, request["type"], entry) for entry in request["channels"]]
        acknowledgement = {"type": request["type"], "channels": [entry for entry, _ in answers]}
        for message in [json.dumps(acknowledgement)] + [one for _, follow in answers for one in follow]:
            put(socket, message)
    except Exception as error:  # Whatever a client sends ends nothing.
        put(socket, json.dumps({"type": "error", "message": repr(error)[:200]}))


async def send_all(socket):
    while True:
        await socket.send(await connections[socket].get())


async def handle(socket):
    connections[socket] = asyncio.Queue(UNSENT_MESSAGES_MAX)
    sender = asyncio.create_task(send_all(socket))
    try:
        async for text in socket:
            requested(socket, text)
    finally:
        sender.cancel()
        subscribed.discard(socket)
        del connections[socket]


async def check_token(_path, headers):
    return None if headers.get("Authorization") == f"Bearer {TOKEN}" else (http.HTTPStatus.UNAUTHORIZED, [], b"")


async def main():
    options = {"subprotocols": ["tidegate.v1"], "process_request": check_token}
    async with serve(handle, "127.0.0.1", PORT, **options) as server:
        print(f"listening on ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
        while True:
            await asyncio.sleep(0.1)
            message = engine.step()
            for socket in subscribed:
                put(socket, message)
            for socket in connections if engine.seq % 20 == 0 else ():
                put(socket, heartbeat())


asyncio.run(main())

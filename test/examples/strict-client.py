"""What the websockets library of Python checks and the example does not ask for; prints one JSON line a check.

usage: strict-client.py CREDENTIALS DEEP_MARKET, with examples/python on PYTHONPATH
"""

import asyncio
import json
import logging
import sys

import websockets
from stream import HEADERS_ARGUMENT, fetch_token

FRAMES = []
# Version 14 replaced the client. Debian 12 has 10.4.
IS_OLD = HEADERS_ARGUMENT == "extra_headers"
Refused = websockets.InvalidStatusCode if IS_OLD else websockets.InvalidStatus


class FrameLog(logging.Handler):
    """The library logs each frame that it reads or writes."""

    def emit(self, record):
        FRAMES.append(record.getMessage())


def say(check, **values):
    print(json.dumps({"check": check, **values}), flush=True)


def request_headers(socket):
    return socket.request_headers if IS_OLD else socket.request.headers


def extensions(socket):
    return socket.extensions if IS_OLD else socket.protocol.extensions


def answer_of(socket):
    return socket.response_headers if IS_OLD else socket.response.headers


def refusal_of(refused):
    return (refused.status_code, refused.headers) if IS_OLD else (refused.response.status_code, refused.response.headers)


async def next_reply(socket):
    while True:
        message = json.loads(await socket.recv())
        if "channel" not in message:
            return message


async def frame_with(text):
    """Frames are logged in the loop that reads them, so giving way is enough to wait."""
    while not any(text in frame for frame in FRAMES):
        await asyncio.sleep(0.01)


async def main(path, market):
    with open(path, encoding="utf-8") as file:
        credentials = json.load(file)
    token, address = fetch_token(credentials), credentials["ws_url"] + "/"
    headers = {HEADERS_ARGUMENT: {"Authorization": f"Bearer {token}"}}
    logger = logging.getLogger("frames")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(FrameLog())
    subscribe = json.dumps({"type": "subscribe", "channels": [{"type": "market_data", "params": {"market": market}}]})

    # The library offers permessage-deflate by default.
    async with websockets.connect(address, **headers, logger=logger) as socket:
        offered = request_headers(socket).get("Sec-WebSocket-Extensions", "")
        say("extension", offered=offered.split(";")[0], taken=[extension.name for extension in extensions(socket)])
        third = len(subscribe) // 3
        await socket.send([subscribe[:third], subscribe[third : 2 * third], subscribe[2 * third :]])
        say("fragmented request", reply=await next_reply(socket))
        snapshot = await socket.recv()
        cut = [frame for frame in FRAMES if frame.startswith("< ") and "continued" in frame]
        payload = json.loads(snapshot)["payload"]
        say("fragmented snapshot", bytes=len(snapshot), frames=len(cut) + 1, levels=len(payload["bids"]))
        await asyncio.wait_for(await socket.ping(b"p" * 125), 60)
        say("our ping", answered=True)
        await asyncio.wait_for(frame_with("< PING"), 60)
        say("its ping", seen=True)
        await socket.send(b"{}")
        say("binary", reply=await next_reply(socket))
        await socket.send(json.dumps({"type": "été"}))
        say("utf-8", reply=await next_reply(socket))
        await socket.close(1000, "enough")
        say("close", code=socket.close_code, reason=socket.close_reason)

    async with websockets.connect(address, subprotocols=["tidegate.default", f"bearer.{token}"]) as socket:
        say("subprotocol", selected=socket.subprotocol, answer=answer_of(socket).get_all("Sec-WebSocket-Protocol"))
        await socket.send(json.dumps({"type": "x" * 65536}))
        try:
            await socket.recv()
        except websockets.ConnectionClosed as closed:
            say("too large for it", code=closed.rcvd.code)

    # A market whose snapshot the library has read whole when it finds it too large: behind what it has not read, it
    # would not notice how the connection ends.
    async with websockets.connect(address, **headers, max_size=1000) as socket:
        await socket.send(subscribe.replace(market, "BTCUSD"))
        try:
            while True:
                await socket.recv()
        except websockets.ConnectionClosed as closed:
            say("too large for us", code=closed.sent.code)

    for name, protocols in {"bearer alone": [f"bearer.{token}"], "wrong token": ["tidegate.default", "bearer.x"]}.items():
        try:
            await websockets.connect(address, subprotocols=protocols)
        except Refused as refused:
            status, answered = refusal_of(refused)
            say(name, status=status, challenge=answered.get("WWW-Authenticate"))


asyncio.run(asyncio.wait_for(main(*sys.argv[1:3]), 200))

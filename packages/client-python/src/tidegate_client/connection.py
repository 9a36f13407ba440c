"""One connection to the stream, opened again whenever it ends.

The delay grows while attempts fail and has a random part. A rejected token is replaced by a new one. There is no
further attempt where the service's answer makes it pointless. This module moves texts, and StreamClient interprets
them.
"""

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import websockets
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.version import version as websockets_version

from .credentials import TokenSource
from .errors import TidegateError, Unavailable, retry_after_seconds

EXTENDED = "tidegate.v1"
PROTOCOLS = (EXTENDED, "tidegate.default")
HANDSHAKE_SECONDS_MAX = 10.0
CLOSE_SECONDS_MAX = 2.0
# Enough for a deep book's snapshot. The library's default is 1 MiB.
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
# Requests that wait to be sent. There are more only when the service does not read at all.
REQUESTS_MAX = 10_000
# A connection's longest permitted silence follows from its heartbeats. Before the second heartbeat it is this long.
SILENCE_SECONDS_MAX = 50.0
SILENCE_SECONDS_MIN = 10.0
SILENT_HEARTBEATS = 5
# The longest `stream.heartbeat_seconds` is an hour. A clock that is set makes an interval look longer.
HEARTBEAT_SILENCE_MAX = SILENT_HEARTBEATS * 3_600.0
WATCH_SECONDS = 5.0
BACKOFF_SECONDS_MAX = 30.0
# Added after 1008: the client has sent too much.
FLOOD_PAUSE_SECONDS = 5.0
# Codes after which the next connection would end in the same way.
FAULTS_OF_CLIENT = (1002, 1007, 1009)
LOST = 1006
FLOOD = 1008
TOKEN_ENDED = 4001
ACCESS_REVOKED = 4003

# Version 14 renamed the headers argument. The types also differ between versions.
HEADERS_ARGUMENT = "extra_headers" if int(websockets_version.split(".")[0]) < 14 else "additional_headers"
_connect: Any = getattr(websockets, "connect")


@dataclass(frozen=True, slots=True)
class ConnectionEvents:
    on_open: Callable[[], None]
    on_text: Callable[[object], None]
    # The close code if there was a connection, the reason, and the seconds to the next attempt.
    on_lost: Callable[[int | None, str, float], None]
    # The connection will not be opened again.
    on_failed: Callable[[Exception], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """How one attempt ended."""

    reason: str
    code: int | None = None


class Connection:
    def __init__(self, url: str, tokens: TokenSource, events: ConnectionEvents) -> None:
        self._url = url
        self._tokens = tokens
        self._events = events
        self._running: asyncio.Task[None] | None = None
        # Ended runs that are still closing their sockets.
        self._closing: set[asyncio.Task[None]] = set()
        self._session: Session | None = None
        self._has_worked = False
        # Attempts since data was last received.
        self._failures = 0

    @property
    def is_extended(self) -> bool:
        """Whether the open connection speaks `tidegate.v1`."""
        return self._session is not None and self._session.is_extended

    def open(self) -> None:
        """Opens the connection and keeps it open until `close`."""
        if self._running is None:
            self._running = asyncio.ensure_future(self._run())

    def close(self) -> None:
        running, self._running, self._session = self._running, None, None
        # A run that has failed calls this itself: it then ends without being cancelled.
        if running is not None and running is not asyncio.current_task():
            self._closing.add(running)
            running.add_done_callback(self._closing.discard)
            running.cancel()

    async def closed(self) -> None:
        """Waits until the sockets are closed."""
        if self._closing:
            await asyncio.wait(set(self._closing))

    def restart(self, reason: str) -> None:
        """Ends a faulty connection and opens another one."""
        if self._session is not None:
            self._session.cut(reason)

    def send(self, request: dict[str, Any]) -> None:
        """Sends a request if the connection is open."""
        if self._session is not None:
            self._session.send(json.dumps(request))

    def confirm(self) -> None:
        """The connection works: the next delay is short again."""
        self._failures = 0

    def note_heartbeats(self, seconds: float) -> None:
        """`seconds` is the time between the last two heartbeats."""
        if self._session is not None:
            silence = max(SILENCE_SECONDS_MIN, SILENT_HEARTBEATS * seconds)
            self._session.silence_seconds = min(HEARTBEAT_SILENCE_MAX, silence)

    async def _run(self) -> None:
        try:
            while True:
                pause = 0.0
                try:
                    ending = await self._attempt()
                except Unavailable as error:
                    # Before the first successful connection, a wrong address is more likely than an outage.
                    if error.is_unreachable and not self._has_worked:
                        what = f"{error}. Check the address, and whether the service runs"
                        raise TidegateError("UNREACHABLE", what) from error
                    ending, pause = Ending(str(error)), error.retry_after
                if ending.code == FLOOD:
                    pause += FLOOD_PAUSE_SECONDS
                # Random, so that after the service restarts, not all clients reconnect at the same moment.
                pause += random.random() * min(BACKOFF_SECONDS_MAX, 2 ** min(self._failures, 10))
                self._failures += 1
                self._events.on_lost(ending.code, ending.reason, pause)
                await asyncio.sleep(pause)
        except Exception as error:
            self._events.on_failed(error)

    async def _attempt(self) -> Ending:
        """One connection, from the token to the close.

        Raises Unavailable when it could not be opened, and TidegateError when another attempt is pointless.
        """
        token = await self._tokens.token()
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS_MAX):
                socket = await self._handshake(token)
        except InvalidHandshake as error:
            raise self._refusal(token, error) from error
        except (OSError, EOFError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            raise Unavailable(f"cannot connect to {self._url}: {reason}", is_unreachable=True) from error
        session = Session(socket, self._events)
        self._session = session
        self._has_worked = True
        try:
            self._events.on_open()
            ending = await session.run()
        finally:
            # A later run may have its own session.
            if self._session is session:
                self._session = None
            await session.end()
        if ending.code == TOKEN_ENDED:
            self._tokens.discard(token)
        if ending.code == ACCESS_REVOKED:
            raise TidegateError("ACCESS_REVOKED", f"{self._url}: {ending.reason}. Ask the operator of the service")
        if ending.code in FAULTS_OF_CLIENT:
            what = f"{self._url}: {ending.reason}. Update tidegate-client, or report this fault"
            raise TidegateError("PROTOCOL_ERROR", what)
        return ending

    async def _handshake(self, token: str) -> Any:
        options = {
            HEADERS_ARGUMENT: {"Authorization": f"Bearer {token}"},
            "subprotocols": PROTOCOLS,
            "compression": None,
            "max_size": MESSAGE_BYTES_MAX,
            "open_timeout": HANDSHAKE_SECONDS_MAX,
            "close_timeout": CLOSE_SECONDS_MAX,
            # Heartbeats reveal silence. A pong is late when the service has more to send than the network takes.
            "ping_interval": None,
        }
        connecting = _connect(self._url, **options)
        # A redirect would take the token to another address. Version 14 has the method, earlier ones the limit.
        connecting.process_redirect = lambda error: error
        connecting.MAX_REDIRECTS_ALLOWED = 1
        return await connecting

    def _refusal(self, token: str, error: InvalidHandshake) -> Exception:
        # Version 14 moved the status and the headers into a response.
        response: Any = getattr(error, "response", error)
        status = getattr(response, "status_code", None)
        if status is None:
            return Unavailable(f"cannot connect to {self._url}: {error}", is_unreachable=True)
        text = f"{self._url} answered {status}"
        if status == 401:
            self._tokens.discard(token)
        # While keys are rotated, a token that worked before may be rejected for a time. Otherwise a new token is
        # rejected again.
        is_hopeless = status == 401 and not self._has_worked and self._failures > 0
        if status == 403 or is_hopeless:
            return TidegateError("STREAM_REFUSED", f"{text}. Ask the operator for access to the stream")
        if (status == 404 or 300 <= status < 400) and not self._has_worked:
            return TidegateError("STREAM_REFUSED", f"{text}. Check the address of the stream")
        # A proxy may add its own. `get` of the library raises then.
        waits = response.headers.get_all("Retry-After")
        return Unavailable(text, max(map(retry_after_seconds, waits), default=0))


class Session:
    """One open connection, from its handshake to its end."""

    def __init__(self, socket: Any, events: ConnectionEvents) -> None:
        self.is_extended: bool = socket.subprotocol == EXTENDED
        self.silence_seconds = SILENCE_SECONDS_MAX
        self._socket = socket
        self._events = events
        self._requests: asyncio.Queue[str] = asyncio.Queue(REQUESTS_MAX)
        self._cut: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._last_arrival = asyncio.get_running_loop().time()

    def send(self, text: str) -> None:
        try:
            self._requests.put_nowait(text)
        except asyncio.QueueFull:
            self.cut("the service does not read requests")

    def cut(self, reason: str) -> None:
        if not self._cut.done():
            self._cut.set_result(Ending(reason))

    async def run(self) -> Ending:
        """Runs until the connection ends, is cut, or is silent for too long."""
        loop = asyncio.get_running_loop()
        tasks = [asyncio.ensure_future(self._read()), asyncio.ensure_future(self._write())]
        try:
            while True:
                left = self._last_arrival + self.silence_seconds - loop.time()
                if left <= 0:
                    return Ending("nothing was received for too long", LOST)
                ends = {self._cut, *tasks}
                done, _ = await asyncio.wait(ends, timeout=min(left, WATCH_SECONDS), return_when=asyncio.FIRST_COMPLETED)
                if self._cut in done:
                    return self._cut.result()
                for task in tasks:
                    if task in done:
                        return task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def end(self) -> None:
        """Closes the socket with a short close handshake, because on a dead connection a close may take minutes."""
        closing = asyncio.ensure_future(self._socket.close())
        try:
            # Not `wait_for`: version 10 of the library does not finish a cancelled close.
            await asyncio.wait({closing}, timeout=CLOSE_SECONDS_MAX)
        finally:
            self._socket.transport.abort()
            await asyncio.gather(closing, return_exceptions=True)

    async def _read(self) -> Ending:
        loop = asyncio.get_running_loop()
        try:
            while not self._cut.done():
                data = await self._socket.recv()
                self._last_arrival = loop.time()
                self._events.on_text(data)
        except ConnectionClosed as closed:
            return _ending_of(closed)
        return self._cut.result()

    async def _write(self) -> Ending:
        try:
            while True:
                await self._socket.send(await self._requests.get())
        except ConnectionClosed as closed:
            return _ending_of(closed)


def _ending_of(closed: ConnectionClosed) -> Ending:
    received = closed.rcvd
    # A code that only answers this side's close is not a statement by the service.
    if received is None or (closed.sent is not None and not closed.rcvd_then_sent):
        return Ending("the connection failed", LOST)
    return Ending(f"closed with {received.code} {received.reason}".rstrip(), received.code)

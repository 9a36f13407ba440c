"""A market's executions, complete and in order. A gap replaces any lost ones.

They are lost when a connection ends in the base protocol, when the service no longer has them, or when the reader
does not keep up.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from .errors import Fault, TidegateError
from .messages import BookStatement, DataMessage, Execution, ExecutionGap, ExecutionMessage

# Executions that wait for the reader. Beyond this many, one gap replaces the oldest half.
QUEUED_MAX = 10_000


class Executions:
    """Loop over it once: several loops would share the executions."""

    channel: Literal["execution_data"] = "execution_data"

    def __init__(self, market: str, on_close: Callable[["Executions"], None]) -> None:
        self.market = market
        self._on_close = on_close
        self._queue: deque[Execution | ExecutionGap] = deque()
        self._cursor: str | None = None
        # Why executions may be missing at the next acknowledgement.
        self._interruption: str | None = None
        self._is_first = True
        self._is_ended = False
        self._error: TidegateError | None = None
        self._news = asyncio.Event()
        # Done when the service has accepted the subscription.
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __aiter__(self) -> "Executions":
        return self

    async def __anext__(self) -> Execution | ExecutionGap:
        while len(self._queue) == 0:
            if self._error is not None:
                raise self._error
            if self._is_ended:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._queue.popleft()

    def close(self) -> None:
        """Ends the subscription and its loop."""
        self._on_close(self)

    def params(self, is_extended: bool) -> dict[str, Any]:
        resume = {"resume": self._cursor} if is_extended and self._cursor is not None else {}
        return {"market": self.market, **resume}

    def acknowledge(self, resumed: bool | None) -> None:
        if resumed is not True:
            if self._interruption is not None:
                self._push(ExecutionGap(self._interruption))
            self._cursor = None
        self._interruption = None
        self._is_first = self._cursor is None
        if not self.ready.done():
            self.ready.set_result(None)

    def receive(self, message: DataMessage) -> None:
        if not isinstance(message, ExecutionMessage):
            return
        position = message.position
        if not self._is_first and (None if position is None else position.prev) != self._cursor:
            raise Fault("a message is missing: an execution follows one that was not received")
        self._is_first = False
        self._cursor = None if position is None else position.cursor
        self._push(message.execution)

    def confirm(self, statement: BookStatement) -> None:
        """Statements are about books only."""

    def suspend(self, reason: str) -> None:
        # Before the first acknowledgement nothing was promised.
        if self.ready.done():
            self._interruption = self._interruption or reason

    def reset(self, reason: str) -> None:
        self.suspend(reason)
        self._cursor = None

    def end(self, error: TidegateError | None) -> None:
        self._is_ended = True
        self._error = error
        if not self.ready.done():
            self.ready.set_exception(error or TidegateError("CLOSED", f"the executions of {self.market} were closed"))
        self._news.set()

    def _push(self, event: Execution | ExecutionGap) -> None:
        self._queue.append(event)
        if len(self._queue) > QUEUED_MAX:
            for _ in range(QUEUED_MAX // 2):
                self._queue.popleft()
            self._queue.appendleft(ExecutionGap("the reader did not keep up"))
        self._news.set()

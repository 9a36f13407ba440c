"""Events pushed to your webhook endpoint, as one loop."""

import asyncio

from .errors import TidegateError
from .events import CustomerEvent, check_after

# Sequences remembered to recognise repetitions. A repetition of an older one is given again.
REMEMBERED_MAX = 100_000


class PushedEvents:
    """Gives each sequence once, however often it is pushed.

    The service keeps the order per object, and events of different objects may overtake each other. Those that wait are
    given in the order of their sequences, and a late one is still given. Loop over it once.
    """

    def __init__(self, after: int = 0) -> None:
        """after: the last sequence processed before. It and earlier ones are left out."""
        check_after(after)
        self._after = after
        self._processed: dict[int, None] = {}
        self._waiting: dict[int, tuple[CustomerEvent, asyncio.Future[None]]] = {}
        self._current: int | None = None
        self._news = asyncio.Event()
        self._is_closed = False

    async def push(self, event: CustomerEvent) -> None:
        """Passes a verified event to the loop, and returns when the loop has processed it: answer 200 then.

        Raises TidegateError (CLOSED) when the loop has ended before.
        """
        sequence = event["sequence"]
        if sequence <= self._after or sequence in self._processed:
            return
        if self._is_closed:
            raise _closed()
        if sequence not in self._waiting:
            self._waiting[sequence] = (event, asyncio.get_running_loop().create_future())
            self._news.set()
        # Shielded: a cancelled request does not take the event from another one.
        await asyncio.shield(self._waiting[sequence][1])

    def close(self) -> None:
        """Ends the loop."""
        self._is_closed = True
        for _, processed in self._waiting.values():
            if not processed.done():
                processed.set_exception(_closed())
                # A push may no longer wait for it.
                processed.exception()
        self._waiting.clear()
        self._news.set()

    def __aiter__(self) -> "PushedEvents":
        return self

    async def __anext__(self) -> CustomerEvent:
        """The next event. Asking for it says that the one before was processed."""
        self._finish_current()
        while not self._is_closed:
            if self._waiting:
                self._current = min(self._waiting)
                return self._waiting[self._current][0]
            self._news.clear()
            await self._news.wait()
        raise StopAsyncIteration

    def _finish_current(self) -> None:
        sequence, self._current = self._current, None
        if sequence is None or sequence not in self._waiting:
            return
        _, processed = self._waiting.pop(sequence)
        self._processed[sequence] = None
        if len(self._processed) > REMEMBERED_MAX:
            del self._processed[next(iter(self._processed))]
        if not processed.done():
            processed.set_result(None)


def _closed() -> TidegateError:
    return TidegateError("CLOSED", "the loop over the events has ended")

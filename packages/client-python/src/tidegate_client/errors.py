"""The client's errors. Each message states what happened and what to do. None contains a secret or a token."""

from typing import Literal

# Errors that a retry cannot repair. The client repairs all others by itself.
ErrorCode = Literal[
    # An argument or the credentials are wrong.
    "INVALID_ARGUMENT",
    # The token endpoint rejected the credentials or the scope, or there is no token endpoint at the address.
    "TOKEN_REFUSED",
    # The handshake was rejected: the client may not stream, or there is no stream at the address.
    "STREAM_REFUSED",
    # The service revoked the client's access while it was connected.
    "ACCESS_REVOKED",
    # The service could not read what the client sent.
    "PROTOCOL_ERROR",
    # The service does not have the market, or not with these params, or the connection has reached its subscription
    # limit.
    "SUBSCRIPTION_REFUSED",
    # The service no longer keeps the events after the given sequence.
    "EVENTS_EXPIRED",
    # A webhook request does not have a valid signature.
    "INVALID_SIGNATURE",
    # The first attempt to reach the service failed.
    "UNREACHABLE",
    # The service or the market was not ready, in several attempts.
    "UNAVAILABLE",
    # This program closed the subscription before it was complete.
    "CLOSED",
]


class TidegateError(Exception):
    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: ErrorCode = code


class EventsExpired(TidegateError):
    """Read your objects again, then continue after `oldest_sequence - 1`."""

    def __init__(self, oldest_sequence: int) -> None:
        what = f"the oldest event kept has the sequence {oldest_sequence}: read your objects again"
        super().__init__("EVENTS_EXPIRED", what)
        self.oldest_sequence = oldest_sequence


class Fault(Exception):
    """A message that breaks a rule of the API, or contradicts an earlier message."""


class Unavailable(Exception):
    """The service cannot answer at present.

    `retry_after` is in seconds, 0 without a Retry-After header. `is_unreachable` is True when no answer arrived at
    all.
    """

    def __init__(self, message: str, retry_after: float = 0, is_unreachable: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.is_unreachable = is_unreachable


RETRY_AFTER_SECONDS_MAX = 86_400


def retry_after_seconds(text: str | None) -> float:
    """The seconds in a Retry-After header, or 0 without one or with a date."""
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 9:
        return 0
    return min(int(text), RETRY_AFTER_SECONDS_MAX)

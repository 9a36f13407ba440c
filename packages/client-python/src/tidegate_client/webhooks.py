"""Requests to your webhook endpoint: signed as in Standard Webhooks 1.0, with HMAC-SHA256."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence

from .errors import TidegateError
from .events import CustomerEvent

# A larger difference between the request's time and ours is refused, because the request may be a recorded one sent
# again.
TOLERANCE_SECONDS = 300


def verify_webhook(
    body: bytes | str, headers: Mapping[str, str], secrets: Sequence[str], now: float | None = None
) -> CustomerEvent:
    """The event in a request signed with one of the secrets.

    body: exactly as received, because parsing and serialising again changes the signature. secrets: `whsec_...`, one,
    or two while the secret is being replaced. now: seconds since 1970, otherwise the current time. Raises
    TidegateError with the code INVALID_SIGNATURE for any other request: answer 401.
    """
    fields = {name.lower(): value for name, value in headers.items()}
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    identifier, timestamp, signatures = (fields.get(name, "") for name in names)
    if "" in (identifier, timestamp, signatures):
        raise _refusal("it has no webhook-id, webhook-timestamp or webhook-signature")
    is_time = timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12
    if not is_time or abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE_SECONDS:
        raise _refusal(f"its time, {timestamp}, is not within {TOLERANCE_SECONDS} s of ours: check the clock")
    content = body.encode() if isinstance(body, str) else body
    signed = f"{identifier}.{timestamp}.".encode() + content
    given = [signature[3:].encode() for signature in signatures.split(" ") if signature.startswith("v1,")]
    for secret in secrets:
        expected = base64.b64encode(hmac.digest(_key_of(secret), signed, hashlib.sha256))
        if any([hmac.compare_digest(expected, signature) for signature in given]):
            event: CustomerEvent = json.loads(content)
            return event
    raise _refusal("no secret has signed it: check that the secrets are those of this endpoint")


def _key_of(secret: str) -> bytes:
    try:
        if secret.startswith("whsec_"):
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        pass
    raise TidegateError("INVALID_ARGUMENT", "a secret must be whsec_ followed by base64")


def _refusal(reason: str) -> TidegateError:
    return TidegateError("INVALID_SIGNATURE", f"the webhook is refused: {reason}")

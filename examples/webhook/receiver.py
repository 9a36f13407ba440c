#!/usr/bin/env python3
"""A reference receiver of events with the standard library only: it verifies every request, handles each event once, and
accepts repeated ones.

    TIDEGATE_WEBHOOK_SECRET=whsec_... python3 receiver.py

Replace `handle` with your own work, and `seen` with a table that your work writes in its own transaction.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(os.environ.get("PORT", "9292"))
BODY_BYTES_MAX = 65_536
TOLERANCE_SECONDS = 300
# Ids kept to recognise repeated events.
KEPT_MAX = 100_000

# One secret, or two during a rotation.
SECRETS = re.split(r"[\s,]+", os.environ.get("TIDEGATE_WEBHOOK_SECRET", ""))
KEYS = [base64.b64decode(secret[len("whsec_") :]) for secret in SECRETS if secret.startswith("whsec_")]
if not KEYS:
    raise SystemExit("set TIDEGATE_WEBHOOK_SECRET to the endpoint's secret")


def handle(event):
    """The event names the changed object: read it with the API, because it may have changed again."""
    print(event["sequence"], event["type"], event["subject"], event["data"].get("status", ""), flush=True)


lock = threading.Lock()
seen = {}  # The ids of handled events, the oldest first.


def handle_once(event_id, body):
    # One event at a time: concurrent repeats find it handled. A failed one is handled again when it is repeated.
    with lock:
        if event_id in seen:
            return
        handle(json.loads(body))
        seen[event_id] = True
        if len(seen) > KEPT_MAX:
            del seen[next(iter(seen))]


def is_verified(event_id, timestamp, signatures, body):
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    given = [text[3:].encode() for text in signatures.split(" ") if text.startswith("v1,")]
    for key in KEYS:
        digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
        if any(hmac.compare_digest(base64.b64encode(digest), text) for text in given):
            return True
    return False


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_POST(self):
        size = int(self.headers.get("content-length") or 0)
        if not 0 <= size <= BODY_BYTES_MAX:
            self.close_connection = True
            return self.respond(413)
        # The signature covers the received bytes: a body that was parsed and serialised again has another signature.
        body = self.rfile.read(size)
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        event_id, timestamp, signatures = (self.headers.get(name, "") for name in names)
        if not is_verified(event_id, timestamp, signatures, body):
            return self.respond(401)
        handle_once(event_id, body)
        return self.respond(204)

    def respond(self, status):
        self.send_response(status)
        if status != 204:
            self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
server.daemon_threads = True
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()

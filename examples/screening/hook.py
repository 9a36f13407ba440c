#!/usr/bin/env python3
"""A reference screening hook with the standard library only: it verifies every request, decides once per question, and
answers every repeated request with the first decision.

    TIDEGATE_WEBHOOK_SECRET=whsec_... python3 hook.py

Replace `decide` with a call to your provider. It must be quick: Tidegate waits ten seconds and asks again later.
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

PORT = int(os.environ.get("PORT", "9191"))
BODY_BYTES_MAX = 65_536
TOLERANCE_SECONDS = 300
# Decisions kept for repeated requests.
KEPT_MAX = 100_000

# Addresses with which no customer may deal, separated by spaces.
DENIED = set(os.environ.get("DENIED_ADDRESSES", "").lower().split())

# One secret, or two during a rotation.
SECRETS = re.split(r"[\s,]+", os.environ.get("TIDEGATE_WEBHOOK_SECRET", ""))
KEYS = [base64.b64decode(secret[len("whsec_") :]) for secret in SECRETS if secret.startswith("whsec_")]
if not KEYS:
    raise SystemExit("set TIDEGATE_WEBHOOK_SECRET to the secret in screening.secrets")


def decide(data):
    """ALLOW, HOLD (a person decides) or REJECT, with a reason for the operators."""
    wanted = data.get("tidegate_check")
    if wanted in ("allow", "hold", "reject"):  # `tidegate check-screening` asks for each decision.
        return {"decision": wanted.upper()}
    movement = data["movement"]
    crypto = (movement.get("destination") or {}).get("crypto") or {}
    if {str(movement.get("address")).lower(), str(crypto.get("address")).lower()} & DENIED:
        return {"decision": "REJECT", "reason": "the address is on the list"}
    is_first = movement["type"] == "payment" and data.get("destination_use", {}).get("payments") == 0
    if is_first and len(movement["amount"].split(".")[0]) > 4:
        return {"decision": "HOLD", "reason": "a first payment of 10,000 or more"}
    return {"decision": "ALLOW"}


lock = threading.Lock()
questions = {}  # By question: its body and its answer.


def answer_to(question_id, body):
    # One decision at a time: concurrent repeats get the first one.
    with lock:
        if question_id not in questions:
            questions[question_id] = (body, {"id": question_id, **decide(json.loads(body)["data"])})
            if len(questions) > KEPT_MAX:
                del questions[next(iter(questions))]
        known, answer = questions[question_id]
    # The same id with another body is an error of the sender: it gets no decision.
    return answer if known == body else None


def is_verified(question_id, timestamp, signatures, body):
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    given = [text[3:].encode() for text in signatures.split(" ") if text.startswith("v1,")]
    for key in KEYS:
        digest = hmac.new(key, f"{question_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
        if any(hmac.compare_digest(base64.b64encode(digest), text) for text in given):
            return True
    return False


class Hook(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_POST(self):
        size = int(self.headers.get("content-length") or 0)
        if not 0 <= size <= BODY_BYTES_MAX:
            self.close_connection = True
            return self.respond(413, {})
        # The signature covers the received bytes: a body that was parsed and serialised again has another signature.
        body = self.rfile.read(size)
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        question_id, timestamp, signatures = (self.headers.get(name, "") for name in names)
        if not is_verified(question_id, timestamp, signatures, body):
            return self.respond(401, {})
        answer = answer_to(question_id, body)
        return self.respond(409, {}) if answer is None else self.respond(200, answer)

    def respond(self, status, answer):
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", PORT), Hook)
server.daemon_threads = True
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()

"""The engine of pull.py and push.py: replace it by yours. Prices are cents, amounts hundredths."""

import json
import random
import secrets
from collections import deque
from datetime import datetime, timezone

KEPT_MESSAGES = 10_000
INSTRUMENT = {"price_decimals": 2, "amount_decimals": 4, "state": "OPEN", "reason": ""}


def time():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def heartbeat():
    return json.dumps({"channel": "heartbeat", "payload": {"timestamp": time()}})


def text(value):
    return f"{value // 100}.{value % 100:02d}"


def level(price, amount):
    return {"price": text(price), "amount": text(amount) if amount else "0"}


class Engine:
    def __init__(self, market):
        self.market = market
        self.epoch = f"run-{secrets.token_hex(6)}"
        self.seq = self.trades = 0
        self.book = {"bids": {9990: 500}, "asks": {10010: 500}}
        self.past = deque(maxlen=KEPT_MESSAGES)  # The last messages, to continue after a lost connection.

    def message(self, payload):
        payload = {"market": self.market, "time": time(), **payload}
        return json.dumps(
            {"channel": "publication", "payload": payload, "stream": {"epoch": self.epoch, "seq": self.seq}}
        )

    def snapshot(self):
        sides = {side: [level(*pair) for pair in levels.items()] for side, levels in self.book.items()}
        return self.message({"type": "SNAPSHOT", "instrument": INSTRUMENT, **sides})

    def after(self, epoch, seq):
        """The messages after one that was sent; None where not all of them are kept."""
        first = self.past[0][0] if self.past else 1
        if epoch != self.epoch or not first - 1 <= seq <= self.seq:
            return None
        return [message for number, message in self.past if number > seq]

    def step(self):
        """Adds a level, or trades all of one, and returns the message about it."""
        side = random.choice(("bids", "asks"))
        offset = random.randint(1, 10)
        price = 10_000 - offset if side == "bids" else 10_000 + offset
        before = self.book[side].pop(price, None)
        executions, amount = [], 0
        if before is None:
            amount = self.book[side][price] = random.randint(1, 1000)
        else:
            self.trades += 1
            taker = "sell" if side == "bids" else "buy"
            executions = [{"id": f"t{self.trades}", "side": taker, **level(price, before)}]
        self.seq += 1
        message = self.message({"type": "UPDATE", side: [level(price, amount)], "executions": executions})
        self.past.append((self.seq, message))
        return message

"""A book's content, built from messages and checked against the API's rules.

Times increase, levels are sorted, only existing levels are removed, the number of decimals stays, bids stay below
asks. A message that breaks a rule raises Fault, and the content must not be used afterwards.
"""

from collections.abc import Callable, Sequence

from .digest import digest_text
from .errors import Fault
from .levels import SIDES, LevelText, Side, SideName, decimals_of
from .messages import BookMessage

# Called for every level in an update: side, rank, price, and the level before it, None for a new one.
OnChange = Callable[[SideName, int, str, LevelText | None], None]
GONE = "0"


class BookContent:
    def __init__(self) -> None:
        self.bids = Side("bids")
        self.asks = Side("asks")
        # The last message's time: RFC 3339 with milliseconds.
        self.time = ""
        # How many decimals all prices and all amounts have. None before the first level.
        self.price_decimals: int | None = None
        self.amount_decimals: int | None = None

    def __len__(self) -> int:
        return len(self.bids) + len(self.asks)

    def side(self, name: SideName) -> Side:
        return self.bids if name == "bids" else self.asks

    def digest(self) -> str:
        return digest_text(self.bids.hash_total() + self.asks.hash_total())

    def replace(self, message: BookMessage) -> None:
        self._advance(message.time)
        for name in SIDES:
            side, levels = self.side(name), message.levels(name)
            self._check_order(side, levels)
            for level in levels:
                self._check_decimals(level)
                if is_zero(level.amount):
                    raise Fault(f"a SNAPSHOT has no amount at {level.price}")
            side.replace(levels)
        self._check_not_crossed()

    def update(self, message: BookMessage, on_change: OnChange) -> None:
        self._advance(message.time)
        for name in SIDES:
            side, levels = self.side(name), message.levels(name)
            ranks = self._check_order(side, levels)
            for rank, level in zip(ranks, levels, strict=True):
                self._check_decimals(level)
                before = side.at(rank)
                on_change(name, rank, level.price, before)
                if not is_zero(level.amount):
                    side.set(rank, level)
                elif before is not None:
                    side.remove(rank)
                else:
                    raise Fault(f"{level.price}, which an UPDATE removes from the {name}, is not in the book")
        self._check_not_crossed()

    def _advance(self, time: str) -> None:
        """Times have a fixed width, so they compare as text."""
        if time <= self.time:
            raise Fault(f"a message of {time} arrived after one of {self.time}")
        self.time = time

    def _check_decimals(self, level: LevelText) -> None:
        decimals = decimals_of(level.price)
        if self.price_decimals is None:
            self.price_decimals = decimals
        if decimals != self.price_decimals:
            raise Fault(f"the price {level.price} has more or fewer decimals than before")
        if level.amount == GONE:
            return
        decimals = decimals_of(level.amount)
        if self.amount_decimals is None:
            self.amount_decimals = decimals
        if decimals != self.amount_decimals:
            raise Fault(f"the amount {level.amount} has more or fewer decimals than before")

    @staticmethod
    def _check_order(side: Side, levels: Sequence[LevelText]) -> list[int]:
        ranks = [side.rank(level.price) for level in levels]
        for index in range(1, len(ranks)):
            if ranks[index] >= ranks[index - 1]:
                before, after = levels[index - 1].price, levels[index].price
                raise Fault(f"the {side.name} of a message are not sorted: {before}, then {after}")
        return ranks

    def _check_not_crossed(self) -> None:
        bid, ask = self.bids.best, self.asks.best
        if bid is not None and ask is not None and self.bids.rank(bid.price) >= -self.asks.rank(ask.price):
            raise Fault(f"the book is crossed: {bid.price} bid, {ask.price} asked")


def check_venues(message: BookMessage) -> None:
    """Checks the venues named by each level in a message: their amounts must add up to the level's."""
    for level in (*message.bids, *message.asks):
        if is_zero(level.amount):
            continue
        if level.venues is None:
            raise Fault(f"the level at {level.price} does not name its venues")
        # Empty where the service does not know the venues.
        if level.venues and not _is_division(level.amount, level.venues):
            raise Fault(f"the venues of the level at {level.price} do not have its amount of {level.amount}")


def _is_division(amount: str, venues: Sequence[tuple[str, str]]) -> bool:
    """Whether different venues' amounts add up to this one, with the same decimals."""
    amounts = [share for _, share in venues]
    if any(is_zero(share) or decimals_of(share) != decimals_of(amount) for share in amounts):
        return False
    units = [int(text.replace(".", "", 1)) for text in (amount, *amounts)]
    return units[0] == sum(units[1:]) and len({venue for venue, _ in venues}) == len(venues)


def is_zero(amount: str) -> bool:
    return not amount.strip("0.")

"""A book's level, and a book's side as a sorted list of levels. Numbers are exact."""

from bisect import bisect_left
from collections.abc import Iterable
from decimal import Decimal
from typing import Literal, NamedTuple

from .digest import level_hash

SideName = Literal["bids", "asks"]
SIDES: tuple[SideName, SideName] = ("bids", "asks")


class VenueShare(NamedTuple):
    """One venue's share of a level's amount."""

    venue: str
    amount: Decimal


class Level(NamedTuple):
    """A price and the amount bid or asked at it, with all the market's decimals.

    In a change, the amount 0 means that the level is gone.
    """

    price: Decimal
    amount: Decimal
    venues: tuple[VenueShare, ...] | None = None
    """The amount divided between the market's venues, whose shares add up to it.

    Empty where the service does not know the venues. None where the level is gone, without `attribution`, and in the
    base protocol.
    """


class LevelText(NamedTuple):
    """A level exactly as in a message."""

    price: str
    amount: str
    venues: tuple[tuple[str, str], ...] | None = None

    def level(self) -> Level:
        shares = self.venues
        venues = None if shares is None else tuple(VenueShare(venue, Decimal(amount)) for venue, amount in shares)
        return Level(Decimal(self.price), Decimal(self.amount), venues)


def decimals_of(text: str) -> int:
    """How many digits follow the point."""
    point = text.find(".")
    return 0 if point == -1 else len(text) - point - 1


class Side:
    """One side's levels.

    Each has a rank: its price in units of the last decimal, negative for asks, so that on both sides the best level
    has the highest rank. The best level is last: most changes are near it, and an insertion there moves few levels.
    """

    def __init__(self, name: SideName) -> None:
        self.name: SideName = name
        self._ranks: list[int] = []
        self._levels: dict[int, LevelText] = {}
        # The levels hashed since they last changed.
        self._hashes: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._ranks)

    def rank(self, price: str) -> int:
        units = int(price.replace(".", "", 1))
        return units if self.name == "bids" else -units

    @property
    def best(self) -> LevelText | None:
        return self._levels[self._ranks[-1]] if self._ranks else None

    def top(self, count: int | None) -> list[LevelText]:
        """The best levels, best first, or all levels when the count is None."""
        first = 0 if count is None else max(0, len(self._ranks) - max(0, count))
        return [self._levels[rank] for rank in reversed(self._ranks[first:])]

    def at(self, rank: int) -> LevelText | None:
        return self._levels.get(rank)

    def replace(self, levels: Iterable[LevelText]) -> None:
        """Replaces all levels. `levels` has the best first."""
        self._levels = {self.rank(level.price): level for level in levels}
        self._ranks = sorted(self._levels)
        self._hashes = {}

    def set(self, rank: int, level: LevelText) -> None:
        if rank not in self._levels:
            self._ranks.insert(bisect_left(self._ranks, rank), rank)
        self._levels[rank] = level
        self._hashes.pop(rank, None)

    def remove(self, rank: int) -> None:
        del self._levels[rank]
        del self._ranks[bisect_left(self._ranks, rank)]
        self._hashes.pop(rank, None)

    def hash_total(self) -> int:
        """The sum of all levels' hashes. An unchanged level is hashed only once, however many heartbeats follow."""
        side, hashes = self.name[:-1], self._hashes
        if len(hashes) < len(self._levels):
            for rank, level in self._levels.items():
                if rank not in hashes:
                    hashes[rank] = level_hash(side, level.price, level.amount)
        return sum(hashes.values())

"""The hash of a level, for the book's digest carried by `tidegate.v1` heartbeats.

The digest is the sum, modulo 2^64, over all levels' hashes: 64-bit FNV-1a over `side|price|amount`, followed by
MurmurHash3's finaliser `fmix64`.
"""

MASK = 0xFFFF_FFFF_FFFF_FFFF


def level_hash(side: str, price: str, amount: str) -> int:
    """`side` is `bid` or `ask`. Price and amount are texts exactly as in the message."""
    value = 0xCBF29CE484222325
    for byte in f"{side}|{price}|{amount}".encode("ascii"):
        value = (value ^ byte) * 0x100000001B3 & MASK
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ value >> 33


def digest_text(total: int) -> str:
    """A sum of hashes as 16 lower-case hexadecimal digits."""
    return f"{total & MASK:016x}"

"""The hash of a level for the digest of a book, which heartbeats of `tidegate.v1` carry.

The digest is the sum, modulo 2^64, of the hashes of all levels: 64-bit FNV-1a of `side|price|amount`, followed by the
finaliser `fmix64` of MurmurHash3.
"""

MASK = 0xFFFF_FFFF_FFFF_FFFF


def level_hash(side: str, price: str, amount: str) -> int:
    """`side` is `bid` or `ask`; price and amount are texts exactly as in the message."""
    value = 0xCBF29CE484222325
    for byte in f"{side}|{price}|{amount}".encode("ascii"):
        value = (value ^ byte) * 0x100000001B3 & MASK
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ value >> 33


def digest_text(total: int) -> str:
    """16 lower-case hexadecimal digits of a sum of hashes."""
    return f"{total & MASK:016x}"

"""Functions of the reference that some kernels need, as PyTorch code."""

from __future__ import annotations

INTEGERS = '''\

def unsigned(value, bits):
    """Return an integer of so many bits as one without a sign."""
    value = value if isinstance(value, int) else value.to(torch.int64)
    return value & ((1 << bits) - 1)


def signed(value, bits):
    """Return the integer of so many bits that is left of one that has more."""
    half = 1 << (bits - 1)
    return (unsigned(value, bits) ^ half) - half
'''


SCANS = '''\

def scanned(tiles, axis, combine, reverse=False):
    """Combine every element of some tiles along an axis with all that come before it."""
    count = tiles[0].shape[axis]
    places = range(count - 1, -1, -1) if reverse else range(count)
    rows = []
    for place in places:
        here = tuple(tile.select(axis, place) for tile in tiles)
        rows.append(combine(*rows[-1], *here) if rows else here)
    rows = rows[::-1] if reverse else rows
    return tuple(torch.stack(column, axis) for column in zip(*rows))
'''


def needed(body: str) -> list[str]:
    """Return the lines of the functions that a reference calls."""
    texts = [INTEGERS] if "signed(" in body else []
    texts += [SCANS] if "scanned(" in body else []
    return [line for text in texts for line in text.split("\n")]

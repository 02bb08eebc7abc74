"""How numbers are written for people, one way for each quantity."""

from __future__ import annotations

MIB = 1 << 20


def count(value: float) -> str:
    """Return a whole number."""
    return f"{value:.0f}"


def number(value: float) -> str:
    """Return a number of which nothing else is known, with up to six digits."""
    return f"{value:.6g}"


def cycles(value: float) -> str:
    """Return a time in cycles or units of time: whole ones as they are, others with six digits."""
    return f"{value:.0f}" if value == round(value) else f"{value:.6g}"


def tenths(value: float) -> str:
    """Return an average, or a short time, with one digit behind the point."""
    return f"{value:.1f}"


def percent(share: float) -> str:
    """Return a share as a percentage."""
    return f"{share:.1%}"


def signed_percent(share: float) -> str:
    """Return a relative difference as a percentage."""
    return f"{share:+.1%}"


def ratio(value: float) -> str:
    """Return how many times as much something is."""
    return f"{value:.2f}"


def seconds(value: float) -> str:
    """Return a duration in seconds."""
    return f"{value:.2f}"


def teraflops(value: float) -> str:
    """Return a throughput in TFLOP/s."""
    return f"{value:.0f}" if value >= 10_000 else f"{value:.1f}"


def megahertz(value: float) -> str:
    """Return a clock in MHz."""
    return f"{value:g}"


def mebibytes(value: float) -> str:
    """Return a number of bytes in MiB."""
    return f"{value / MIB:.0f}"


def yes(value: bool) -> str:  # noqa: FBT001 - a value to be written
    """Return whether something holds, a no in capitals."""
    return "yes" if value else "NO"


def plural(number: int, noun: str) -> str:
    """Return a count with its noun, ``1 cycle`` or ``2 cycles``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"

"""How numbers are written for people, one way for each quantity."""

from __future__ import annotations

count = "{:.0f}".format  # a whole number
number = "{:.6g}".format  # a number of which nothing else is known, with up to six digits
tenths = "{:.1f}".format  # an average, or a short time, with one digit behind the point
percent = "{:.1%}".format  # a share
signed_percent = "{:+.1%}".format  # a relative difference
ratio = "{:.2f}".format  # how many times as much something is
seconds = "{:.2f}".format  # a duration in seconds
megahertz = "{:g}".format  # a clock in MHz


def cycles(value: float) -> str:
    """Return a time in cycles or units of time: whole ones as they are, others with six digits."""
    return count(value) if value == round(value) else number(value)


def teraflops(value: float) -> str:
    """Return a throughput in TFLOP/s."""
    return count(value) if value >= 10_000 else tenths(value)


def yes(value: bool) -> str:  # noqa: FBT001 - a value to be written
    """Return whether something holds, a no in capitals."""
    return "yes" if value else "NO"


def plural(number: int, noun: str) -> str:
    """Return a count with its noun, ``1 cycle`` or ``2 cycles``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"

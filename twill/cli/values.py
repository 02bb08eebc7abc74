"""What the texts of options are read as."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from twill.base.errors import InputError, short

if TYPE_CHECKING:
    from twill.sim.engine import Conditions

MOST_DIGITS = 18  # of whole numbers; Python refuses to read those of thousands


def pairs(texts: Iterable[str] | None, between: str, option: str) -> list[tuple[str, str]]:
    """Split the values of a repeatable option in two.

    Raises
    ------
    InputError
        If a part is missing.
    """
    found = []
    for text in texts or ():
        first, _, second = text.partition(between)
        if not first.strip() or not second.strip():
            raise InputError(f"two parts with {between!r} between (got {short(text)})", path=option)
        found.append((first.strip(), second.strip()))
    return found


def number(text: str, option: str) -> int:
    """Return a whole number that was given as text.

    Raises
    ------
    InputError
        If it is none.
    """
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise InputError(f"a whole number (got {short(text)})", path=option)
    return int(text)


def loaded_clock(text: str | None) -> float | str | None:
    """Return a clock in MHz, or that it is the capped one.

    Raises
    ------
    InputError
        If it is neither.
    """
    if text is None or text == "capped":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"MHz, or capped (got {short(text)})", path="--clock") from None


def sizes(texts: Iterable[str]) -> tuple[tuple[int, ...], ...]:
    """Return rows, columns and depth of matrix products.

    Raises
    ------
    InputError
        If a text is anything else.
    """
    from twill.studies.tune.candidates import parse_tile

    found = tuple(parse_tile(text, "--size") for text in texts)
    if any(len(size) != 3 for size in found):
        raise InputError("rows, columns and depth, as 8192x8192x8192", path="--size")
    return found


def numbers(text: str, option: str) -> list[int]:
    """Split ``10,20,50``."""
    return [number(part.strip(), option) for part in text.split(",")]


def conditions_of(texts: Sequence[str] | None) -> tuple[Conditions, ...]:
    """Return the conditions under which programs are simulated.

    Raises
    ------
    InputError
        If there is no such warp scheduler.
    """
    from twill.polish import DEFAULT_CONDITIONS
    from twill.sim.engine import Conditions

    parts = [text.partition(":") for text in texts or ()]
    given = [
        Conditions.of(warp_scheduler=warps, latency=latency or None) for warps, _, latency in parts
    ]
    return tuple(dict.fromkeys(given)) or DEFAULT_CONDITIONS

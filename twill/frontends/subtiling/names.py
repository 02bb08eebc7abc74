"""Names of what sub-tiles have of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twill.errors import InputError, short
from twill.names import MOST_NAME

Named = Mapping[tuple[int, int], str]


def numbered(names: Mapping[int, str], factor: int, taken: Iterable[str]) -> Named:
    """Return a name for every copy: ``o.mul`` becomes ``o0.mul``, ``o1.mul``.

    The number follows the part before the first dot, after an underscore where it would be taken
    for a part of the name or make a name that is used already.

    Raises
    ------
    InputError
        If one would be longer than names may be.
    """
    used = set(taken)
    found: dict[tuple[int, int], str] = {}
    for base in dict.fromkeys(name.partition(".")[0] for name in names.values()):
        family = {key: name for key, name in names.items() if name.partition(".")[0] == base}
        between = "_" if base[-1:].isdigit() else ""
        while True:
            made = {
                (key, copy): f"{base}{between}{copy}{name[len(base) :]}"
                for key, name in family.items()
                for copy in range(factor)
            }
            if used.isdisjoint(made.values()):
                break
            between += "_"
        found |= made
        used |= set(made.values())
    for (key, _), name in found.items():
        if len(name) > MOST_NAME:
            raise InputError(
                f"no room for a number in {MOST_NAME} characters (got {short(names[key])})",
                path="name",
            )
    return found

"""What is written beside the operations of a dump: names, places and Triton's own schedule."""

from __future__ import annotations

import linecache
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_ALIAS = re.compile(r"^#(loc\d*) = loc\((.*)\)$")
_ALIAS_USE = re.compile(r"#(loc\d*)\b")
_OPERATION = re.compile(r'^\s*(?:%\S+(?:, %\S+)* = )?"([\w.]+)"\(')
_ARGUMENT = re.compile(r"^\s*\^bb\d+\(%[^:]+: \S+")
_PLACE = re.compile(r'"([^"]+\.py)":(\d+):(\d+)')
_VARIABLE = re.compile(r'"([A-Za-z_]\w*)"\(')
_FOR = re.compile(r"^\s*for (\w+) in ")
_PLACEMENT = re.compile(r"\bloop\.(stage|cluster) = (\d+) : i32")
BOOKKEEPING = ("module", "yield", "return")
MOST_NAMED = 4
LOCATION = " loc("


def annotated(rolled: Listing, scheduled: Listing) -> tuple[str, str]:
    """Return a dump's text with every attribute that it gets, and what could not be matched.

    Returns: the text, and a remark about operations of Triton's schedule that are not in the dump;
    empty without such.
    """
    attributes = defaultdict[int, dict[str, str]](dict)
    for listed in rolled.operations:
        for name, value in (("location", listed.place), ("name", listed.variable)):
            if value and not listed.operation.endswith(BOOKKEEPING):
                attributes[listed.line][f"sched.{name}"] = f'"{value}"'
    lines = {key: listed.line for key, listed in _keyed(rolled)}
    unmatched = []
    for key, listed in _keyed(scheduled):
        placed = dict(_PLACEMENT.findall(scheduled.lines[listed.line]))
        if placed.keys() < {"stage", "cluster"}:
            continue
        if key not in lines:
            unmatched.append(listed)
            continue
        for name in ("stage", "cluster"):
            attributes[lines[key]][f"sched.{name}"] = f"{placed[name]} : i32"
    return rolled.annotated(attributes), _remark(unmatched)


def _keyed(listing: Listing) -> Iterator[tuple[tuple[str, str, str, int], Listed]]:
    """Number the operations of one name, variable and place; equal modules get equal keys."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for listed in listing.operations:
        key = (listed.operation, listed.variable, listed.place)
        seen[key] += 1
        yield (*key, seen[key]), listed


def _remark(unmatched: list[Listed]) -> str:
    if not unmatched:
        return ""
    named = [f"{e.operation} at {e.place or 'an unknown place'}" for e in unmatched[:MOST_NAMED]]
    more = ["..."] if len(unmatched) > MOST_NAMED else []
    return f"only in Triton's schedule: {', '.join(named + more)}"


@dataclass(frozen=True)
class Listed:
    """An operation, at the line of its text that ends it.

    It computes a variable of the source (a loop its induction variable) at ``file:line:column``;
    both are empty where they are unknown.
    """

    line: int
    operation: str
    variable: str
    place: str


class Listing:
    """The text of a module in generic form: lines without locations, operations as they end."""

    def __init__(self, text: str) -> None:
        lines = text.rstrip().splitlines()
        aliases = {found[1]: found[2] for line in lines if (found := _ALIAS.match(line))}
        written = [line for line in lines if not _ALIAS.match(line)]
        self.lines = [without_locations(line) for line in written]
        self.operations = list(_operations(written, aliases))

    def annotated(self, attributes: Mapping[int, Mapping[str, str]]) -> str:
        """Return the text with more attributes, as text by name, for indices of lines."""
        lines = list(self.lines)
        for number, extra in attributes.items():
            added = ", ".join(f"{name} = {value}" for name, value in extra.items())
            head, types = lines[number].rsplit(" : (", 1)
            joined = f"{head} {{{added}}}"
            if head.endswith("}") and not head.endswith("{}"):
                joined = f"{head[:-1]}, {added}}}"
            lines[number] = f"{joined} : ({types}"
        return "\n".join(lines) + "\n"


def without_locations(line: str) -> str:
    """Return a line of MLIR without its ``loc(...)``."""
    kept, rest = "", line
    while LOCATION in rest:
        before, rest = rest.split(LOCATION, 1)
        kept += before
        rest = rest[len(_balanced(rest)) + 1 :]
    return kept + rest


def _balanced(text: str) -> str:
    """Return what comes before the parenthesis that closes the one before `text`."""
    depth, quoted = 1, False
    for i, character in enumerate(text):
        quoted ^= character == '"'
        if not quoted:
            depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[:i]
    return text


def _operations(lines: list[str], aliases: Mapping[str, str]) -> Iterator[Listed]:
    open_regions: list[tuple[str, str]] = []
    for number, line in enumerate(lines):
        found = _OPERATION.match(line)
        if found and line.endswith("({"):
            inside = lines[number + 1]
            induction = _first_argument(inside, aliases) if found[1] == "scf.for" else ""
            open_regions.append((found[1], induction))
            continue
        closes = line.lstrip().startswith("})")
        if not found and not closes:
            continue
        operation, induction = (found[1], "") if found else open_regions.pop()
        location = _location(line, aliases)
        variable, place = source_of(location)
        if operation == "scf.for":
            variable = induction or _loop_variable(location)
        yield Listed(number, operation, variable, place)


def _location(line: str, aliases: Mapping[str, str]) -> str:
    """Return the last location on a line with every alias written out."""
    text = _balanced(line.rsplit(LOCATION, 1)[1]) if LOCATION in line else ""
    while _ALIAS_USE.search(text):
        text = _ALIAS_USE.sub(lambda use: aliases.get(use[1], "unknown"), text)
    return text


def _first_argument(line: str, aliases: Mapping[str, str]) -> str:
    found = _ARGUMENT.match(line)
    if not found or not line.startswith(LOCATION, found.end()):
        return ""
    location = _balanced(line[found.end() + len(LOCATION) :])
    return source_of(_location(f"{LOCATION}{location})", aliases))[0]


def _loop_variable(location: str) -> str:
    """Return what the ``for`` statement at a place of the source counts with."""
    place = _PLACE.search(_outermost(location))
    found = _FOR.match(linecache.getline(place[1], int(place[2]))) if place else None
    return found[1] if found else ""


def _outermost(location: str) -> str:
    return location.rsplit(" at ", 1)[-1]


def source_of(location: str) -> tuple[str, str]:
    """Return variable and place from MLIR's text of a location; of a call, the outermost caller."""
    caller = _outermost(location)
    variable, place = _VARIABLE.search(caller), _PLACE.search(caller)
    where = f"{Path(place[1]).name}:{place[2]}:{place[3]}" if place else ""
    return (variable[1] if variable else ""), where

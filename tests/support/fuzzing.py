"""Documents that are valid but for a few changes, made from valid ones and a seed.

Changes know the structure of the document (a type, a key, a reference, a number); a few know only
its bytes.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

NUMBERS: tuple[float, ...] = (
    *(0, 1, -1, 2, 7, 255, 65_536, 1 << 20, (1 << 31) - 1, 1 << 40, -(1 << 63), 1 << 64, 10**30),
    *(0.5, -0.0, 1e-308, 1e308, math.nan, math.inf, -math.inf),
)
NAMES = (
    *("", " ", "x", ".", "..", "/", "-", "../up", "a/b", "$x$", r"\frac{a", "%s", "{0}", "[bold]"),
    *("a\nb", "\0", "\x1b[31mred", "\u202eevil", "\ud800", "\u00e9\u0301", "\U0001f600", "漢字"),
    *("عربى", "x" * 200, "x" * 201, "x" * 5000, "<script>", "nan", "1e9", "n=1", "a,b", "&amp;"),
)
OTHERS: tuple[object, ...] = (None, True, False, [], {}, [[]], [1], {"a": 1}, [None], {"": ""})
MOST_CHANGES = 3
Change = Callable[[Any, random.Random], str]
TextChange = Callable[[str, random.Random], str]
Place = tuple[Any, Any]
"""A list or dictionary, and an index or key of it."""


@dataclass(frozen=True)
class Mutant:
    """A changed document: what was done to it, and its bytes."""

    how: str
    data: bytes


def mutants(
    seed: int, count: int, documents: list[Any], write: Callable[[Any], str]
) -> Iterator[Mutant]:
    """Yield changes of valid documents, as texts; equal seeds give equal ones."""
    generator = random.Random(seed)
    kept = [json.dumps(document) for document in documents]
    for number in range(count):
        document = json.loads(kept[number % len(kept)])
        changes = 1 + (generator.random() < 0.3) * generator.randrange(MOST_CHANGES)
        how = [generator.choice(CHANGES)(document, generator) for _ in range(changes)]
        yield mutant(how, write(document), generator)


def mutant(how: list[str], text: str, generator: random.Random) -> Mutant:
    """Return a changed text; of one in ten the bytes are damaged, too."""
    data = text.encode("utf-8", "surrogatepass")
    if generator.random() < 0.1:
        done, data = damaged(data, generator)
        how = [*how, done]
    return Mutant(", ".join(how), data)


def _place(document: Any, generator: random.Random) -> Place:
    """Choose a place; each level is as likely as the next, whatever stands below it."""
    place: Place = ({"": document}, "")
    here = document
    while (
        isinstance(here, dict | list) and here and (here is document or generator.random() < 0.85)
    ):
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = generator.choice(keys)
        place, here = (here, key), here[key]
    return place


def _leaf(document: Any, generator: random.Random, kinds: type | tuple[type, ...]) -> Place | None:
    """Choose a place with a value of some type; None if a few attempts find none."""
    for _ in range(60):
        place = _place(document, generator)
        value = place[0][place[1]]
        if isinstance(value, kinds) and not isinstance(value, bool):
            return place
    return None


def retyped(document: Any, generator: random.Random) -> str:
    holder, key = _place(document, generator)
    holder[key] = generator.choice((*OTHERS, *NUMBERS[:2], *NAMES[:3]))
    return f"retyped {key}"


def nested(document: Any, generator: random.Random) -> str:
    holder, key = _place(document, generator)
    value: Any = holder[key]
    for _ in range(generator.choice((1, 2, 50, 300))):
        value = [value] if generator.random() < 0.5 else {str(key): value}
    holder[key] = value
    return f"nested {key}"


def removed(document: Any, generator: random.Random) -> str:
    holder, key = _place(document, generator)
    del holder[key]
    return f"removed {key}"


def doubled(document: Any, generator: random.Random) -> str:
    place = _leaf(document, generator, list)
    if place is None:
        return "nothing doubled"
    items = place[0][place[1]]
    if items:
        items.insert(generator.randrange(len(items) + 1), generator.choice(items))
    return f"doubled an entry of {place[1]}"


def shuffled(document: Any, generator: random.Random) -> str:
    place = _leaf(document, generator, list)
    if place is None:
        return "nothing shuffled"
    generator.shuffle(place[0][place[1]])
    return f"shuffled {place[1]}"


def rekeyed(document: Any, generator: random.Random) -> str:
    holder, key = _place(document, generator)
    if isinstance(holder, dict):
        name = generator.choice((*NAMES, *holder))
        holder[name] = holder.pop(key)
        return f"renamed {key} to {name[:20]!r}"
    return "nothing renamed"


def number_changed(document: Any, generator: random.Random) -> str:
    place = _leaf(document, generator, (int, float))
    if place is None:
        return "no number changed"
    holder, key = place
    value = holder[key]
    near = (value + 1, value - 1, -value, value * 2, value // 2, value * 1000, value + 0.5)
    holder[key] = generator.choice((*near, *NUMBERS))
    return f"{key} = {str(holder[key])[:20]}"


def name_changed(document: Any, generator: random.Random) -> str:
    place = _leaf(document, generator, str)
    if place is None:
        return "no name changed"
    place[0][place[1]] = generator.choice(NAMES)
    return f"{place[1]} = {place[0][place[1]][:20]!r}"


def string_changed(document: Any, generator: random.Random) -> str:
    """Change something within a string: an expression, a type, a range, a path."""
    place = _leaf(document, generator, str)
    if place is None:
        return "no string changed"
    holder, key = place
    holder[key] = generator.choice(TEXT_CHANGES)(holder[key], generator)
    return f"{key} = {holder[key][:40]!r}"


def name_changed_everywhere(document: Any, generator: random.Random) -> str:
    """Keep references whole, so that the document may well be accepted."""
    place = _leaf(document, generator, str)
    if place is None:
        return "no name changed"
    old, new = place[0][place[1]], generator.choice(NAMES)
    _replace(document, old, new)
    return f"{old[:20]!r} = {new[:20]!r} everywhere"


def _replace(here: Any, old: str, new: str) -> None:
    for key in list(here) if isinstance(here, dict) else range(len(here)):
        if isinstance(here[key], dict | list):
            _replace(here[key], old, new)
        elif here[key] == old:
            here[key] = new
        if key == old:
            here[new] = here.pop(key)


def swapped(document: Any, generator: random.Random) -> str:
    kinds = generator.choice((str, (int, float), (list, dict)))
    one, other = _leaf(document, generator, kinds), _leaf(document, generator, kinds)
    if one is None or other is None:
        return "nothing swapped"
    copied = json.dumps(other[0][other[1]])
    one[0][one[1]] = json.loads(copied)
    return f"{one[1]} = what {other[1]} is"


CHANGES: tuple[Change, ...] = (
    *(retyped, nested, removed, doubled, shuffled, rekeyed, number_changed, number_changed),
    *(number_changed, name_changed, name_changed_everywhere, string_changed, string_changed),
    *(swapped, swapped),
)


def damaged(data: bytes, generator: random.Random) -> tuple[str, bytes]:
    """Return what was done to the bytes of a whole document, and them."""
    place = generator.randrange(len(data) + 1)
    other = generator.randrange(len(data) + 1)
    cut = data[min(place, other) : max(place, other)]
    odd = generator.choice((b"\xff", b"\0", b"\xef\xbb\xbf", b"[" * 3000, b'"', b"9" * 5000, b"{"))
    how = generator.choice(("truncated", "cut", "repeated", "inserted", "bit", "key twice"))
    if how == "truncated":
        return how, data[:place]
    if how == "cut":
        return how, data.replace(cut[:40], b"", 1)
    if how == "repeated":
        return how, data[:place] + cut[:2000] + data[place:]
    if how == "inserted":
        return how, data[:place] + odd + data[place:]
    if how == "bit" and data:
        place = min(place, len(data) - 1)
        return how, data[:place] + bytes([data[place] ^ 1 << generator.randrange(8)]) + data[
            place + 1 :
        ]
    keys = re.findall(rb'"\w+":', data)
    key = generator.choice(keys) if keys else b""
    return how, data.replace(key, key + b" 1, " + key, 1)


def text_mutants(seed: int, count: int, texts: list[str]) -> Iterator[Mutant]:
    """Yield changes of valid texts of lines, numbers and quoted names."""
    generator = random.Random(seed)
    for number in range(count):
        text = texts[number % len(texts)]
        how = []
        for _ in range(1 + (generator.random() < 0.3) * generator.randrange(MOST_CHANGES)):
            change = generator.choice(TEXT_CHANGES)
            text = change(text, generator)
            how.append(getattr(change, "__name__", "token"))
        yield mutant(how, text, generator)


def _token_changed(pattern: str, others: Callable[[str], Sequence[object]]) -> TextChange:
    def change(text: str, generator: random.Random) -> str:
        places = list(re.finditer(pattern, text))
        if not places:
            return text
        place = generator.choice(places)
        new = generator.choice((*others(place[0]), generator.choice(places)[0]))
        return f"{text[: place.start()]}{new}{text[place.end() :]}"

    return change


def _near(number: str) -> Sequence[object]:
    value = min(float(number), 1e300)
    return (*NUMBERS, "", "x", "9" * 5000, *(int(value + more) for more in (1, -1, 2, 100)))


a_number = _token_changed(r"(?<![\w.])-?\d+(?:\.\d+)?", _near)
a_name = _token_changed(r"(?<=\")[^\"\n]*(?=\")", lambda _: NAMES)
a_word = _token_changed(r"[A-Za-z_]\w*", lambda word: (word * 2, word[:-1], "x", "", "nan"))


def a_line(text: str, generator: random.Random) -> str:
    """Remove, repeat or move a line."""
    lines = text.splitlines(keepends=True)
    line = lines.pop(generator.randrange(len(lines))) if lines else ""
    for _ in range(generator.randrange(3)):
        lines.insert(generator.randrange(len(lines) + 1), line)
    return "".join(lines)


a_mark = _token_changed(r"[^\w\s\"]", lambda mark: ("", mark * 2, "=", ":", ",", "[", "\\"))


def a_mark_more(text: str, generator: random.Random) -> str:
    """Put a mark where a word begins or ends."""
    places = [place.start() for place in re.finditer(r"\b|^|$", text)]
    place = generator.choice(places)
    mark = generator.choice(('"', '"', "'", ",", "=", "-", "(", "[", "{", "<", "\\", "\0", "%"))
    return text[:place] + mark + text[place:]


TEXT_CHANGES: tuple[TextChange, ...] = (
    *(a_number, a_number, a_name, a_word, a_mark, a_mark_more, a_line),
)


def as_json(document: Any) -> str:
    """Return a document as JSON; NaN and infinity as Python's reader takes them."""
    return json.dumps(document)


def as_toml(document: Any) -> str:
    """Return a document as TOML, a line for each key of the first level."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10 * limit)
    try:
        return "\n".join(f"{_toml(str(key))} = {_toml(value)}" for key, value in document.items())
    finally:
        sys.setrecursionlimit(limit)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        entries = (f"{_toml(str(key))} = {_toml(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(entries)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value)


class TooLate(BaseException):
    """Not an `Exception`, so that nobody takes it for bad input."""


LONGEST_SECONDS = 20  # processor seconds in which a file is read, and any one command ends
PATIENCE = 10  # times as long as the work may take on a machine with other work


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `TooLate` after so many processor seconds, or `PATIENCE` times as many by the clock."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooLate

    before = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(PATIENCE * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


def peak_bytes() -> int:
    """Return the most memory that this process has had."""
    # On Linux getrusage still counts what the process that started this one had in memory.
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
        assert found is not None
        return int(found[1]) * 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024

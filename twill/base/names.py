"""Free-text names: their rules, and how they are shown and stored."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Container

MOST_NAME = 200  # characters of a name that people give
MOST_LABEL = 3 * MOST_NAME  # characters of a name that is made of names, such as a barrier's
MOST_SHOWN = 60  # characters of a word in tables and pictures
MOST_BYTES = 200  # of a file's name; systems allow 255 with its ending
DIGITS = 16  # hexadecimal digits of the hash at the end of a name that was cut
# Characters of file names beside letters and digits.
KEPT = "._-+#"


def wrong(name: str) -> str:
    """Return what keeps a text from being a name, empty if nothing does.

    A name has 1 to 200 visible characters: letters of all scripts, digits, signs and spaces.
    Control characters, line breaks and changes of the direction of writing are refused.
    """
    if not 1 <= len(name) <= MOST_NAME:
        return f"a name has 1 to {MOST_NAME} characters"
    return "" if name.isprintable() else "a name has no control characters"


def visible(text: str) -> str:
    """Return a text whose characters can all be seen, its lines kept.

    Others are written as JSON writes them, so that JSON stays what it says.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" or unicodedata.category(c) == "Zs" else _escaped(c)
        for c in text
    )


def one_line(text: str) -> str:
    """Return a text as one line of characters that can be seen."""
    return visible(" ".join(text.split()))


def elided(text: str, most: int = MOST_SHOWN) -> str:
    """Return a text with the middle of longer words left out, for tables and pictures."""
    if len(text) <= most:
        return text
    half = most // 2
    return " ".join(
        word if len(word) <= most else f"{word[:half]}\u2026{word[1 - half :]}"
        for word in text.split(" ")
    )


def cell(text: str) -> str:
    """Return a text as tables show it."""
    return "\n".join(elided(line) for line in visible(text).split("\n"))


def file_name(name: str) -> str:
    """Return a file's name for a free-text name: a single one, not hidden, never a path.

    Letters and digits of all scripts stay; other characters but ``._-+#`` are written as ``%XX``,
    byte by byte, so that different names give different ones.
    """
    text = "".join(
        c if c.isalnum() or c in KEPT else "".join(f"%{byte:02X}" for byte in _bytes(c))
        for c in name
    )
    if text.startswith("."):
        text = f"%2E{text[1:]}"
    if len(_bytes(text)) <= MOST_BYTES:
        return text
    end = f"~{hashlib.sha256(_bytes(name)).hexdigest()[:DIGITS]}"
    return _bytes(text)[: MOST_BYTES - len(end)].decode("utf-8", "ignore") + end


def unused(base: str, taken: Container[str]) -> str:
    """Return a name, numbered from 2 if it is taken."""
    name, number = base, 2
    while name in taken:
        name, number = f"{base}{number}", number + 1
    return name


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

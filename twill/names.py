"""What free-text names may be, and how they are shown and stored."""

from __future__ import annotations

import hashlib

MOST_BYTES = 200
"""Of a file's name; systems allow 255 with its ending."""
DIGITS = 16
"""Hexadecimal digits of the hash at the end of a name that was cut."""
KEPT = "._-+#"
"""Characters of file names beside letters and digits."""


def file_name(name: str) -> str:
    """Return a file's name for a free-text name: a single one, hidden from nobody, never a path.

    Letters and digits of all scripts stay; other characters but ``._-+#`` are written as ``%XX``,
    byte by byte, so that different names give different ones.

    Parameters
    ----------
    name : str
        Any text.
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


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

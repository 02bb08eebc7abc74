"""Long lines of code, broken inside their outermost call."""

from __future__ import annotations

from twill.emit.names import INDENT, LINE


def wrapped(line: str) -> list[str]:
    """Return a line of code as several, if it is too long, broken inside its outermost call."""
    if len(line) <= LINE or "\n" in line or line.lstrip().startswith(("#", '"')):
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    opened = next((k for k, c in enumerate(line) if c in "([" and _ends(line, k)), None)
    if opened is None:
        return [line]
    closed = _closing(line, opened)
    parts = _arguments(line[opened + 1 : closed])
    brackets = line[opened] == "(" and line[opened - 1] in " (["  # not those of a call
    comma = "" if brackets and len(parts) == 1 else ","
    inner = [p for part in parts for p in wrapped(f"{indent}{INDENT}{part}{comma}")]
    return [line[: opened + 1], *inner, f"{indent}{line[closed:]}"]


def _ends(line: str, opened: int) -> bool:
    """Whether what is opened here is closed at the end of the line, and has something inside."""
    closed = _closing(line, opened)
    return closed >= len(line.rstrip(",")) - 2 and closed - opened > LINE // 3


def _closing(line: str, opened: int) -> int:
    depth = 0
    for k in range(opened, len(line)):
        depth += (line[k] in "([{") - (line[k] in ")]}")
        if not depth:
            return k
    return len(line)


def _arguments(text: str) -> list[str]:
    """Return what stands between the outermost commas."""
    parts, depth, begin = [], 0, 0
    for k, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and not depth:
            parts.append(text[begin:k].strip())
            begin = k + 1
    return [p for p in (*parts, text[begin:].strip()) if p]

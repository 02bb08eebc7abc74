"""Faults: violations of a rule by a kernel in some run, with the line that causes them."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

from twill.base.errors import TwillError

OWN = str(Path(__file__).parent)


@dataclass(frozen=True)
class Place:
    """A line of a kernel file, and the partition that executes it."""

    partition: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.partition}, {Path(self.file).name}:{self.line}"


class FaultError(TwillError):
    """A kernel that breaks a rule.

    Parameters
    ----------
    kind : str
        ``race``, ``fence``, ``uninitialised``, ``barrier``, ``in flight``, ``deadlock``,
        ``bounds``, ``shape`` or ``unwritten``.
    text : str
        The fault in words, with the name of the memory or barrier.
    place : Place, optional
        Where it occurred; a deadlock has no place, and its text names every line.
    """

    exit_status = 1

    def __init__(self, kind: str, text: str, place: Place | None = None) -> None:
        self.kind, self.text, self.place = kind, text, place
        super().__init__(f"{kind}: {text}" if place is None else f"{place}: {kind}: {text}")


def kernel_frames(until: CodeType | None = None) -> list[FrameType]:
    """Return the frames of kernel files, from the innermost out to the function `until`."""
    frames, frame = [], inspect.currentframe()
    while frame is not None and frame.f_code is not until:
        if not frame.f_code.co_filename.startswith(OWN):
            frames.append(frame)
            if until is None:
                break
        frame = frame.f_back
    return frames


def place(partition: str) -> Place:
    """Return the line of the kernel file that is executed now."""
    frame = kernel_frames()[0]
    return Place(partition, frame.f_code.co_filename, frame.f_lineno)


def assigned(until: CodeType) -> str:
    """Return the variables that what is being made is assigned to, outermost first."""
    lines = [(Path(f.f_code.co_filename), f.f_lineno) for f in kernel_frames(until)]
    names = [_targets(file, file.stat().st_mtime_ns).get(line, "") for file, line in lines]
    return ".".join(name for name in reversed(names) if name) or "memory"


@cache
def _targets(file: Path, _changed: int) -> dict[int, str]:
    """Return the assignment target of each line of a file."""
    targets: dict[int, str] = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                targets[line] = ast.unparse(target)
    return targets

"""The user's line that is being executed."""

from __future__ import annotations

import itertools
import sys

OWN_MODULES = "twill.frontends.builder"


def here() -> str:
    """Return ``file:line:column`` of the expression outside the builder that is being executed."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to the caller's line
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(OWN_MODULES):
        frame = frame.f_back
    positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    line, _, column, _ = next(positions, (None, None, None, None))
    file = frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{file}:{line or frame.f_lineno}:{(column or 0) + 1}"

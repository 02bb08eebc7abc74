"""Processes that do not outlive the one that started them."""

from __future__ import annotations

import ctypes
import signal
import sys

PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
# Looked up now: between a fork and the program that follows, little is safe to do.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def end_with_parent() -> None:
    """Let the system kill this process when the thread that started it ends, where Linux can.

    Without that a solver goes on at full load when whoever asked it was killed. No thread of the
    process itself could see to that while it is stopped.
    """
    if _prctl is not None:
        _prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)

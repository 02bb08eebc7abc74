"""The GPU at hand as NVIDIA's driver describes it, by ``nvidia-smi``."""

from __future__ import annotations

import shutil
import subprocess

SECONDS = 10  # after which nvidia-smi, which hangs where a driver does, is given up


def said_by_driver(what: str, gpu: str = "0") -> str | None:
    """Return what the driver says of a GPU, None if there is no driver.

    Parameters
    ----------
    what : str
        ``name``, ``clocks.sm``, ...
    gpu : str
        Its number or its UUID.

    Raises
    ------
    OSError, subprocess.SubprocessError
        If the driver finds no such GPU, or does not answer.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    asked = [program, f"--id={gpu}", f"--query-gpu={what}", "--format=csv,noheader,nounits"]
    told = subprocess.run(  # noqa: S603 - the driver's own program
        asked, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return told.stdout.partition("\n")[0].strip()

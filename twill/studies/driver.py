"""The GPU at hand as NVIDIA's driver describes it, by ``nvidia-smi``."""

from __future__ import annotations

import shutil
import subprocess

SECONDS = 10  # after which nvidia-smi, which hangs where a driver does, is given up


def name_by_driver() -> str | None:
    """Return the name of the first GPU, None if there is no driver.

    Raises
    ------
    OSError, subprocess.SubprocessError
        If the driver finds no GPU, or does not answer.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    asked = [program, "--id=0", "--query-gpu=name", "--format=csv,noheader"]
    told = subprocess.run(  # noqa: S603 - the driver's own program
        asked, capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return told.stdout.partition("\n")[0].strip()

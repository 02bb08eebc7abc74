"""Small kernel files of two roles, as text: a product a round on either architecture.

``python -m tests.compiled.kernels`` writes their listings into `tests/data/compiled`.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from twill.compiled.cubin import Cubin, compile_file

DATA = Path(__file__).parents[1] / "data"
RECORDED = DATA / "compiled"
HOPPER, BLACKWELL = (
    (DATA / "gluon" / "small" / f"{name}.py").read_text() for name in ("hopper", "blackwell")
)
TEXTS = {90: HOPPER, 100: BLACKWELL}


def recorded(cubin: Cubin) -> str:
    """Return a listing as it is kept: without words, folders of source files, columns of spaces."""
    plain = re.sub(r"^\s*/\* 0x\w+ \*/\n| */\* 0x\w+ \*/", "", cubin.listing, flags=re.MULTILINE)
    short = re.sub(r'"[^"\n]*/(\w+\.py)"', r'"\1"', plain)
    return re.sub(r"[ \t]+", " ", re.sub(r"[ \t]+$", "", short, flags=re.MULTILINE))


def compiled_text(text: str, architecture: int, folder: Path) -> Cubin:
    file = folder / "kernel.py"
    file.write_text(text)
    return compile_file(file, architecture)


if __name__ == "__main__":
    for architecture, text in TEXTS.items():
        with tempfile.TemporaryDirectory() as made:
            listing = recorded(compiled_text(text, architecture, Path(made)))
        (RECORDED / f"sm_{architecture}.sass").write_text(listing)

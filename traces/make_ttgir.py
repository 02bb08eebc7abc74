"""Make the packaged TTGIR dumps from the packaged kernels.

``python -m twill.traces.make_ttgir`` writes them, ``--check`` only compares. Needs the extra
``[triton]``; the dumps were made with the version that their first line names.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twill.frontends.triton_dump import dump

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Packaged:
    """One packaged dump: the kernel, its argument types and the architectures."""

    name: str
    file: str
    kernel: str
    signature: dict[str, str]
    constants: dict[str, Any]
    architectures: tuple[int, ...]


def attention(rows: int, keys: int, depth: int) -> tuple[dict[str, str], dict[str, int]]:
    """Return argument types and constants of the attention kernels.

    Parameters
    ----------
    rows, keys, depth : int
        Query rows of a sub-tile, keys of a streamed tile, head dimension.
    """
    query, stream = f"tensordesc<fp16[{rows},{depth}]>", f"tensordesc<fp16[{keys},{depth}]>"
    signature = {
        "q_desc": query,
        "k_desc": stream,
        "v_desc": stream,
        "o_desc": query,
        "scale": "fp32",
        "sequence": "i32",
        "M": "constexpr",
        "N": "constexpr",
        "D": "constexpr",
    }
    return signature, {"M": rows, "N": keys, "D": depth}


DUMPS = (
    Packaged(
        "attention_forward_two_tiles",
        "attention_forward.py",
        "attention_forward_two_tiles",
        *attention(64, 128, 128),
        architectures=(90,),
    ),
)


def text_of(packaged: Packaged, architecture: int) -> str:
    """Return the dump of a packaged kernel.

    Parameters
    ----------
    packaged : Packaged
        Which one.
    architecture : int
        90 or 100.
    """
    file = HERE / "kernels" / packaged.file
    specification = importlib.util.spec_from_file_location(file.stem, file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return dump(
        getattr(module, packaged.kernel),
        signature=packaged.signature,
        constants=packaged.constants,
        architecture=architecture,
    )


def main() -> int:
    """Write or check every dump; return 1 if a check found a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    differing = 0
    for packaged in DUMPS:
        for architecture in packaged.architectures:
            file = HERE / "ttgir" / f"{packaged.name}.sm{architecture}.mlir"
            text = text_of(packaged, architecture)
            if arguments.check:
                same = file.exists() and file.read_text() == text
                differing += not same
                sys.stdout.write(f"{'same' if same else 'DIFFERENT'} {file.name}\n")
            else:
                file.write_text(text)
                sys.stdout.write(f"wrote {file.name}\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

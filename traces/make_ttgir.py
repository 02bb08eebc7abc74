"""Make the packaged TTGIR dumps from the packaged kernels.

A tool for who maintains them: ``python -m twill.traces.make_ttgir`` writes them, ``--check`` only
compares. Needs the extra ``[triton]``; the dumps were made with the version that their first line
names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from twill.frontends.triton_dump import dump_kernel
from twill.traces import HERE, write_or_check

HOPPER, BLACKWELL = 90, 100
ROWS, KEYS = "tensordesc<fp16[M,D]>", "tensordesc<fp16[N,D]>"
FACTORS = {
    "a_desc": "tensordesc<fp16[M,K]>",
    "b_desc": "tensordesc<fp16[K,N]>",
    "c_desc": "tensordesc<fp16[M,N]>",
}
SIGNATURES = {
    "attention_forward": {
        "q_desc": ROWS,
        "k_desc": KEYS,
        "v_desc": KEYS,
        "o_desc": ROWS,
        "scale": "fp32",
        "sequence": "i32",
    },
    "attention_backward": {
        "q_desc": ROWS,
        "k_desc": KEYS,
        "v_desc": KEYS,
        "do_desc": ROWS,
        "dq_desc": "tensordesc<fp32[M,D]>",
        "dk_desc": KEYS,
        "dv_desc": KEYS,
        "lse_ptr": "*fp32",
        "delta_ptr": "*fp32",
        "scale": "fp32",
        "sequence": "i32",
    },
    "gemm": {**FACTORS, "depth": "i32"},
    "gemm_pointers": {
        "a_ptr": "*fp16",
        "b_ptr": "*fp16",
        "c_ptr": "*fp16",
        "depth": "i32",
        "a_stride": "i32:16",
        "b_stride": "i32:16",
        "c_stride": "i32:16",
    },
    "gemm_persistent": {**FACTORS, "rows": "i32", "columns": "i32", "depth": "i32"},
    "gemm_geglu": {
        "a_desc": FACTORS["a_desc"],
        "gate_desc": FACTORS["b_desc"],
        "up_desc": FACTORS["b_desc"],
        "c_desc": FACTORS["c_desc"],
        "depth": "i32",
    },
    "linear_attention": {
        **dict.fromkeys(("q_desc", "k_desc", "v_desc", "o_desc"), "tensordesc<fp16[C,D]>"),
        "sequence": "i32",
    },
    "layer_norm": {
        **dict.fromkeys(("x_ptr", "y_ptr", "weight_ptr", "bias_ptr"), "*fp16"),
        "columns": "i32:16",
        "epsilon": "fp32",
    },
    "online_softmax": {
        **dict.fromkeys(("x_desc", "y_desc"), "tensordesc<fp16[R,N]>"),
        "columns": "i32",
    },
    "block_scaled_gemm": {
        "a_desc": "tensordesc<fp8e4nv[M,K]>",
        "b_desc": "tensordesc<fp8e4nv[N,K]>",
        **dict.fromkeys(("a_scale_desc", "b_scale_desc"), "tensordesc<u8[1,1,1,2,256]>"),
        "c_desc": "tensordesc<fp16[M,N]>",
        "depth": "i32",
    },
}
"""Triton types of the arguments of kernels, and of variants without types of their own.

A capital letter stands for the value of the constant of this name.
"""


@dataclass(frozen=True)
class Packaged:
    """A packaged dump of a kernel, for compute capability `architecture` / 10.

    `constants` are the values of ``constexpr`` arguments; a suffix tells dumps of a kernel apart.
    """

    kernel: str
    architecture: int
    constants: dict[str, int]
    suffix: str = ""

    @property
    def file_name(self) -> str:
        """Name of the dump's file."""
        return f"{self.kernel}{self.suffix}.sm{self.architecture}.mlir"

    def text(self) -> str:
        """Return the dump."""
        files = (HERE / "kernels").glob("*.py")
        file = next(file for file in files if self.kernel.startswith(file.stem))
        settings = {
            name: re.sub(r"\b[A-Z]\b", lambda letter: str(self.constants[letter[0]]), kind)
            for name, kind in (SIGNATURES.get(self.kernel) or SIGNATURES[file.stem]).items()
        }
        settings |= {name: str(value) for name, value in self.constants.items()}
        return dump_kernel(f"{file}:{self.kernel}", settings, self.architecture)


def attention(architecture: int, kernel: str, rows: int, keys: int, depth: int = 128) -> Packaged:
    """Return a dump of attention.

    `rows`, `keys`: of one (sub-)tile, of which one is streamed; `depth`: head dimension.
    """
    constants = {"M": rows, "N": keys, "D": depth}
    name = f"attention_{kernel}"
    if not kernel.startswith("backward"):
        return Packaged(name, architecture, constants)
    constants["SWAPPED"] = architecture == HOPPER
    return Packaged(name, architecture, constants, "" if depth == 128 else f"_d{depth}")


def gemm(architecture: int, variant: str, rows: int, columns: int, depth: int = 64) -> Packaged:
    """Return a dump of a matrix product.

    `rows`, `columns`, `depth`: shape of the tile of C and the step along the depth.
    """
    constants = {"M": rows, "N": columns, "K": depth}
    return Packaged(f"gemm{variant}", architecture, constants)


def packaged() -> Iterator[Packaged]:
    """Yield every dump that ships with the package."""
    for architecture in (HOPPER, BLACKWELL):
        for kernel in ("forward", "forward_causal"):
            yield attention(architecture, kernel, 128, 128)
        yield gemm(architecture, "", 128, 256)
        for kernel in ("layer_norm", "online_softmax"):
            yield Packaged(kernel, architecture, {"R": 16, "N": 512})
    yield attention(HOPPER, "forward_two_tiles", 64, 128)
    yield attention(BLACKWELL, "forward_two_tiles", 128, 128)
    for depth in (64, 128):
        yield attention(HOPPER, "backward", 64, 128, depth)
        yield attention(HOPPER, "backward_two_tiles", 64, 64, depth)
        yield attention(BLACKWELL, "backward", 128, 128, depth)
    yield attention(BLACKWELL, "backward_two_tiles", 128, 128, 64)
    # Accumulators of 2 x 128 keys would fill all 512 columns of TMEM.
    yield attention(BLACKWELL, "backward_two_tiles", 128, 64)
    for variant in ("_pointers", "_persistent"):
        yield gemm(HOPPER, variant, 128, 128)
        yield gemm(BLACKWELL, variant, 128, 256)
    yield gemm(HOPPER, "_two_tiles", 64, 256)
    yield gemm(BLACKWELL, "_two_tiles", 128, 256)
    yield gemm(HOPPER, "_geglu", 64, 128)
    yield gemm(BLACKWELL, "_geglu", 128, 128)
    yield Packaged("linear_attention", HOPPER, {"C": 64, "D": 128})
    yield Packaged("linear_attention", BLACKWELL, {"C": 128, "D": 128})
    yield Packaged("block_scaled_gemm", BLACKWELL, {"M": 128, "N": 128, "K": 128})


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, ((f"ttgir/{p.file_name}", p.text()) for p in packaged())))

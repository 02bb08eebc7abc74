"""Make the packaged TTGIR dumps from the packaged kernels.

``python -m twill.traces.make_ttgir`` writes them, ``--check`` only compares. Needs the extra
``[triton]``; the dumps were made with the version that their first line names.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twill.frontends.triton_dump import dump

HERE = Path(__file__).resolve().parent
HOPPER, BLACKWELL = 90, 100


@dataclass(frozen=True)
class Packaged:
    """One packaged dump.

    Attributes
    ----------
    name : str
        Of the dump's file, without architecture.
    file, kernel : str
        Where the kernel is in the folder ``kernels``.
    signature : dict
        Triton types of the arguments; those of ``constants`` are added.
    constants : dict
        Values of the ``constexpr`` arguments.
    architecture : int
        Compute capability times ten.
    """

    name: str
    file: str
    kernel: str
    signature: dict[str, str]
    constants: dict[str, Any]
    architecture: int

    @property
    def file_name(self) -> str:
        """Name of the dump's file."""
        return f"{self.name}.sm{self.architecture}.mlir"


def tile(rows: int, columns: int, dtype: str = "fp16") -> str:
    """Return the type of a TMA descriptor."""
    return f"tensordesc<{dtype}[{rows},{columns}]>"


def attention_forward(
    architecture: int, variant: str, rows: int, keys: int, depth: int
) -> Packaged:
    """Return a dump of attention forward.

    `rows`, `keys`, `depth`: query rows of a (sub-)tile, keys of a streamed tile, head dimension.
    """
    query, stream = tile(rows, depth), tile(keys, depth)
    descriptors = {"q_desc": query, "k_desc": stream, "v_desc": stream, "o_desc": query}
    name = f"attention_forward{variant}"
    return Packaged(
        name=name,
        file="attention_forward.py",
        kernel=name,
        signature={**descriptors, "scale": "fp32", "sequence": "i32"},
        constants={"M": rows, "N": keys, "D": depth},
        architecture=architecture,
    )


def attention_backward(
    architecture: int, variant: str, rows: int, keys: int, depth: int
) -> Packaged:
    """Return a dump of attention backward.

    `rows`, `keys`, `depth`: query rows of a streamed tile, keys of a (sub-)tile, head dimension.
    """
    stream, key = tile(rows, depth), tile(keys, depth)
    kernel = f"attention_backward{variant}"
    return Packaged(
        name=kernel if depth == 128 else f"{kernel}_d{depth}",
        file="attention_backward.py",
        kernel=kernel,
        signature={
            "q_desc": stream,
            "k_desc": key,
            "v_desc": key,
            "do_desc": stream,
            "dq_desc": tile(rows, depth, "fp32"),
            "dk_desc": key,
            "dv_desc": key,
            "lse_ptr": "*fp32",
            "delta_ptr": "*fp32",
            "scale": "fp32",
            "sequence": "i32",
        },
        constants={"M": rows, "N": keys, "D": depth, "SWAPPED": architecture == HOPPER},
        architecture=architecture,
    )


def gemm(architecture: int, variant: str, rows: int, columns: int, depth: int) -> Packaged:
    """Return a dump of a matrix product.

    `rows`, `columns`, `depth`: shape of the tile of C and the step along the depth.
    """
    a, b, c = tile(rows, depth), tile(depth, columns), tile(rows, columns)
    descriptors = {"a_desc": a, "b_desc": b, "c_desc": c}
    strides = {"a_stride": "i32:16", "b_stride": "i32:16", "c_stride": "i32:16"}
    signature = {
        "": {**descriptors, "depth": "i32"},
        "_two_tiles": {**descriptors, "depth": "i32"},
        "_pointers": {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "depth": "i32"}
        | strides,
        "_persistent": {**descriptors, "rows": "i32", "columns": "i32", "depth": "i32"},
        "_geglu": {"a_desc": a, "gate_desc": b, "up_desc": b, "c_desc": c, "depth": "i32"},
    }[variant]
    name = f"gemm{variant}"
    constants = {"M": rows, "N": columns, "K": depth}
    return Packaged(name, "gemm.py", name, signature, constants, architecture)


def linear_attention(architecture: int, chunk: int, depth: int) -> Packaged:
    """Return a dump of chunked linear attention."""
    descriptors = dict.fromkeys(("q_desc", "k_desc", "v_desc", "o_desc"), tile(chunk, depth))
    return Packaged(
        name="linear_attention",
        file="linear_attention.py",
        kernel="linear_attention",
        signature={**descriptors, "sequence": "i32"},
        constants={"C": chunk, "D": depth},
        architecture=architecture,
    )


def row_wise(architecture: int, kernel: str, rows: int, columns: int) -> Packaged:
    """Return a dump of a kernel that goes over rows without products."""
    block = tile(rows, columns)
    pointers = dict.fromkeys(("x_ptr", "y_ptr", "weight_ptr", "bias_ptr"), "*fp16")
    signature = {
        "layer_norm": {**pointers, "columns": "i32:16", "epsilon": "fp32"},
        "online_softmax": {"x_desc": block, "y_desc": block, "columns": "i32"},
    }[kernel]
    constants = {"R": rows, "N": columns}
    return Packaged(kernel, f"{kernel}.py", kernel, signature, constants, architecture)


def block_scaled_gemm(rows: int, columns: int, depth: int) -> Packaged:
    """Return a dump of the block-scaled matrix product, for Blackwell.

    `rows`, `columns`, `depth`: shape of the tile of C and the step along the depth.
    """

    def scales(extent: int) -> str:
        return f"tensordesc<u8[1,{extent // 128},{depth // 128},2,256]>"

    return Packaged(
        name="block_scaled_gemm",
        file="block_scaled_gemm.py",
        kernel="block_scaled_gemm",
        signature={
            "a_desc": tile(rows, depth, "fp8e4nv"),
            "b_desc": tile(columns, depth, "fp8e4nv"),
            "a_scale_desc": scales(rows),
            "b_scale_desc": scales(columns),
            "c_desc": tile(rows, columns),
            "depth": "i32",
        },
        constants={"M": rows, "N": columns, "K": depth},
        architecture=BLACKWELL,
    )


def packaged() -> Iterator[Packaged]:
    """Yield every dump that ships with the package."""
    for architecture in (HOPPER, BLACKWELL):
        for variant in ("", "_causal"):
            yield attention_forward(architecture, variant, 128, 128, 128)
        yield gemm(architecture, "", 128, 256, 64)
        yield row_wise(architecture, "layer_norm", 16, 512)
        yield row_wise(architecture, "online_softmax", 16, 512)
    yield attention_forward(HOPPER, "_two_tiles", 64, 128, 128)
    yield attention_forward(BLACKWELL, "_two_tiles", 128, 128, 128)
    for depth in (64, 128):
        yield attention_backward(HOPPER, "", 64, 128, depth)
        yield attention_backward(HOPPER, "_two_tiles", 64, 64, depth)
        yield attention_backward(BLACKWELL, "", 128, 128, depth)
    yield attention_backward(BLACKWELL, "_two_tiles", 128, 128, 64)
    # Accumulators of 2 x 128 keys would fill all 512 columns of TMEM.
    yield attention_backward(BLACKWELL, "_two_tiles", 128, 64, 128)
    for variant in ("_pointers", "_persistent"):
        yield gemm(HOPPER, variant, 128, 128, 64)
        yield gemm(BLACKWELL, variant, 128, 256, 64)
    yield gemm(HOPPER, "_two_tiles", 64, 256, 64)
    yield gemm(BLACKWELL, "_two_tiles", 128, 256, 64)
    yield gemm(HOPPER, "_geglu", 64, 128, 64)
    yield gemm(BLACKWELL, "_geglu", 128, 128, 64)
    yield linear_attention(HOPPER, 64, 128)
    yield linear_attention(BLACKWELL, 128, 128)
    yield block_scaled_gemm(128, 128, 128)


def text_of(one: Packaged) -> str:
    """Return the dump of a packaged kernel."""
    file = HERE / "kernels" / one.file
    specification = importlib.util.spec_from_file_location(file.stem, file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return dump(
        getattr(module, one.kernel),
        signature=one.signature | dict.fromkeys(one.constants, "constexpr"),
        constants=one.constants,
        architecture=one.architecture,
    )


def main() -> int:
    """Write or check every dump; return 1 if a check found a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    differing = 0
    for one in packaged():
        file = HERE / "ttgir" / one.file_name
        text = text_of(one)
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

"""Make the packaged TTGIR dumps from the packaged kernels.

A tool for who maintains them: ``python -m twill.traces.make_ttgir`` writes them, ``--check`` only
compares. Needs the extra ``[triton]``; the dumps were made with the version that their first line
names.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from twill.frontends.triton_dump import dump_kernel
from twill.traces import HERE, write_or_check

HOPPER, BLACKWELL = 90, 100
# Types of the arguments of kernels, and of variants without types of their own.
#
# A shape is that of a descriptor's tile; a capital letter stands for the constant of this name.
SIGNATURES = {
    "attention_forward": "q_desc=fp16[M,D] k_desc=fp16[N,D] v_desc=fp16[N,D] o_desc=fp16[M,D] "
    "scale=fp32 sequence=i32",
    "attention_backward": "q_desc=fp16[M,D] k_desc=fp16[N,D] v_desc=fp16[N,D] do_desc=fp16[M,D] "
    "dq_desc=fp32[M,D] dk_desc=fp16[N,D] dv_desc=fp16[N,D] lse_ptr=*fp32 delta_ptr=*fp32 "
    "scale=fp32 sequence=i32",
    "gemm": "a_desc=fp16[M,K] b_desc=fp16[K,N] c_desc=fp16[M,N] depth=i32",
    "gemm_pointers": "a_ptr=*fp16 b_ptr=*fp16 c_ptr=*fp16 depth=i32 "
    "a_stride=i32:16 b_stride=i32:16 c_stride=i32:16",
    "gemm_persistent": "a_desc=fp16[M,K] b_desc=fp16[K,N] c_desc=fp16[M,N] "
    "rows=i32 columns=i32 depth=i32",
    "gemm_geglu": "a_desc=fp16[M,K] gate_desc=fp16[K,N] up_desc=fp16[K,N] c_desc=fp16[M,N] "
    "depth=i32",
    "linear_attention": "q_desc=fp16[C,D] k_desc=fp16[C,D] v_desc=fp16[C,D] o_desc=fp16[C,D] "
    "sequence=i32",
    "layer_norm": "x_ptr=*fp16 y_ptr=*fp16 weight_ptr=*fp16 bias_ptr=*fp16 "
    "columns=i32:16 epsilon=fp32",
    "online_softmax": "x_desc=fp16[R,N] y_desc=fp16[R,N] columns=i32",
    "block_scaled_gemm": "a_desc=fp8e4nv[M,K] b_desc=fp8e4nv[N,K] a_scale_desc=u8[1,1,1,2,256] "
    "b_scale_desc=u8[1,1,1,2,256] c_desc=fp16[M,N] depth=i32",
}


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
        settings = {}
        for word in (SIGNATURES.get(self.kernel) or SIGNATURES[file.stem]).split():
            name, _, kind = word.partition("=")
            kind = re.sub(r"\b[A-Z]\b", lambda letter: str(self.constants[letter[0]]), kind)
            settings[name] = f"tensordesc<{kind}>" if "[" in kind else kind
        settings |= {name: str(value) for name, value in self.constants.items()}
        return dump_kernel(f"{file}:{self.kernel}", settings, self.architecture)


def _of(kernel: str, architecture: int, suffix: str = "", **constants: int) -> Packaged:
    return Packaged(kernel, architecture, constants, suffix)


def _both(kernel: str, **constants: int) -> list[Packaged]:
    return [Packaged(kernel, architecture, constants) for architecture in (HOPPER, BLACKWELL)]


# Every dump that ships with the package.
#
# M, N and K are rows, columns and depth of a product's tile; in attention M and N are queries and
# keys of a tile, of which one is streamed, and D is the head dimension.
PACKAGED = (
    *_both("attention_forward", M=128, N=128, D=128),
    *_both("attention_forward_causal", M=128, N=128, D=128),
    *_both("gemm", M=128, N=256, K=64),
    *_both("layer_norm", R=16, N=512),
    *_both("online_softmax", R=16, N=512),
    _of("attention_forward_two_tiles", HOPPER, M=64, N=128, D=128),
    _of("attention_forward_two_tiles", BLACKWELL, M=128, N=128, D=128),
    _of("attention_backward", HOPPER, "_d64", M=64, N=128, D=64, SWAPPED=True),
    _of("attention_backward_two_tiles", HOPPER, "_d64", M=64, N=64, D=64, SWAPPED=True),
    _of("attention_backward", BLACKWELL, "_d64", M=128, N=128, D=64, SWAPPED=False),
    _of("attention_backward", HOPPER, M=64, N=128, D=128, SWAPPED=True),
    _of("attention_backward_two_tiles", HOPPER, M=64, N=64, D=128, SWAPPED=True),
    _of("attention_backward", BLACKWELL, M=128, N=128, D=128, SWAPPED=False),
    _of("attention_backward_two_tiles", BLACKWELL, "_d64", M=128, N=128, D=64, SWAPPED=False),
    # Accumulators of 2 x 128 keys would fill all 512 columns of TMEM.
    _of("attention_backward_two_tiles", BLACKWELL, M=128, N=64, D=128, SWAPPED=False),
    _of("gemm_pointers", HOPPER, M=128, N=128, K=64),
    _of("gemm_pointers", BLACKWELL, M=128, N=256, K=64),
    _of("gemm_persistent", HOPPER, M=128, N=128, K=64),
    _of("gemm_persistent", BLACKWELL, M=128, N=256, K=64),
    _of("gemm_two_tiles", HOPPER, M=64, N=256, K=64),
    _of("gemm_two_tiles", BLACKWELL, M=128, N=256, K=64),
    _of("gemm_geglu", HOPPER, M=64, N=128, K=64),
    _of("gemm_geglu", BLACKWELL, M=128, N=128, K=64),
    _of("linear_attention", HOPPER, C=64, D=128),
    _of("linear_attention", BLACKWELL, C=128, D=128),
    _of("block_scaled_gemm", BLACKWELL, M=128, N=128, K=128),
)


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, ((f"ttgir/{p.file_name}", p.text()) for p in PACKAGED)))

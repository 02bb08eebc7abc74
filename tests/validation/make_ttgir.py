"""Make the packaged TTGIR dumps from the packaged kernels.

A tool for who maintains them: ``python -m tests.validation.make_ttgir`` writes them, ``--check``
only compares. Needs the extra ``[triton]``; the dumps were made with the version that their first
line names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.validation.packaged import write_or_check
from twill.frontends.triton_dump import dump_kernel
from twill.traces import HERE

HOPPER, BLACKWELL = 90, 100
# Types of the arguments of kernels, and of variants without types of their own.
#
# A shape is that of a descriptor's tile; a capital letter stands for the constant of this name.
ATTENTION = "q_desc=fp16[M,D] k_desc=fp16[N,D] v_desc=fp16[N,D] o_desc=fp16[M,D]"
SIGNATURES = {
    "attention_forward": f"{ATTENTION} scale=fp32 sequence=i32",
    "attention_forward_causal_persistent": f"{ATTENTION} scale=fp32 sequence=i32 heads=i32",
    "attention_backward": "q_desc=fp16[M,D] k_desc=fp16[N,D] v_desc=fp16[N,D] do_desc=fp16[M,D] "
    "dq_desc=fp32[M,D] dk_desc=fp16[N,D] dv_desc=fp16[N,D] lse_ptr=*fp32 delta_ptr=*fp32 "
    "scale=fp32 sequence=i32",
    "attention_backward_halves": "q_desc=fp16[M,H] k_desc=fp16[N,H] v_desc=fp16[N,D] "
    "do_desc=fp16[M,D] dq_desc=fp32[M,H] dk_desc=fp16[N,H] dv_desc=fp16[N,D] lse0_desc=fp32[M] "
    "lse1_desc=fp32[M] delta0_desc=fp32[M] delta1_desc=fp32[M] scale=fp32 sequence=i32",
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
    "gemm_bias_gelu": "a_desc=fp16[M,K] b_desc=fp16[K,N] c_desc=fp16[M,N] bias_ptr=*fp16 depth=i32",
    "gemm_block_scaled": "a_desc=fp8e4nv[M,K] b_desc=fp8e4nv[N,K] c_desc=bf16[M,N] "
    "a_scale_ptr=*fp32 b_scale_ptr=*fp32 depth=i32 blocks=i32",
    "gemm_grouped": "a_desc=fp16[M,K] b_desc=fp16[K,N] c_desc=fp16[M,N] expert_ptr=*i32 depth=i32",
    "rms_norm_gemm": "x_desc=fp16[M,K] w_desc=fp16[K,N] c_desc=fp16[M,N] epsilon=fp32 depth=i32",
    "attention_grouped": f"{ATTENTION} lse_ptr=*fp32 scale=fp32 sequence=i32 group=i32",
    "attention_causal": f"{ATTENTION} scale=fp32 sequence=i32",
    "attention_capped_window": f"{ATTENTION} scale=fp32 cap=fp32 sequence=i32 window=i32",
    "attention_query_gradient": "q_desc=fp16[M,D] k_desc=fp16[N,D] v_desc=fp16[N,D] "
    "do_desc=fp16[M,D] dq_desc=fp16[M,D] lse_ptr=*fp32 delta_ptr=*fp32 scale=fp32 sequence=i32",
    "mla_decode": "q_desc=fp16[M,D] rope_desc=fp16[M,R] cache_desc=fp16[N,D] "
    "key_rope_desc=fp16[N,R] o_desc=fp16[M,D] scale=fp32 sequence=i32 heads=i32",
    "paged_decode": f"{ATTENTION} page_ptr=*i32 scale=fp32 pages=i32",
    "linear_attention_decayed": "q_desc=fp16[C,D] k_desc=fp16[C,D] v_desc=fp16[C,D] "
    "o_desc=fp16[C,D] rate=fp32 sequence=i32",
}


def settings_of(signature: str, constants: Mapping[str, int]) -> dict[str, str]:
    """Return types of arguments and values of constants as `dump_kernel` takes them.

    A shape is that of a descriptor's tile; a capital letter stands for the constant of this name.
    """
    settings = {}
    for word in signature.split():
        name, _, kind = word.partition("=")
        kind = re.sub(r"\b[A-Z]\b", lambda letter: str(constants[letter[0]]), kind)
        settings[name] = f"tensordesc<{kind}>" if "[" in kind else kind
    return settings | {name: str(value) for name, value in constants.items()}


@dataclass(frozen=True)
class Packaged:
    """A packaged dump of a kernel, for compute capability `architecture` / 10.

    `constants` are the values of ``constexpr`` arguments; a suffix tells dumps of a kernel apart.
    The gallery's kernels (docs/gallery.md) have a folder of their own, with their dumps.
    """

    kernel: str
    architecture: int
    constants: dict[str, int]
    suffix: str = ""
    gallery: bool = False

    @property
    def file(self) -> str:
        """The dump's file."""
        folder = "gallery" if self.gallery else "ttgir"
        return f"{folder}/{self.kernel}{self.suffix}.sm{self.architecture}.mlir"

    @property
    def source(self) -> Path:
        """The kernel's file."""
        if self.gallery:
            return HERE / "gallery" / f"{self.kernel}.py"
        files = (HERE / "kernels").glob("*.py")
        return next(file for file in files if self.kernel.startswith(file.stem))

    def text(self) -> str:
        """Return the dump."""
        signature = SIGNATURES.get(self.kernel) or SIGNATURES[self.source.stem]
        settings = settings_of(signature, self.constants)
        return dump_kernel(f"{self.source}:{self.kernel}", settings, self.architecture)


def _of(kernel: str, architecture: int, suffix: str = "", **constants: int) -> Packaged:
    return Packaged(kernel, architecture, constants, suffix)


def _both(kernel: str, **constants: int) -> list[Packaged]:
    return [Packaged(kernel, architecture, constants) for architecture in (HOPPER, BLACKWELL)]


def _shown(kernel: str, hopper: str, blackwell: str, suffix: str = "") -> list[Packaged]:
    """Return a kernel of the gallery with its constants for either architecture, if for both."""
    found = []
    for architecture, words in ((HOPPER, hopper), (BLACKWELL, blackwell)):
        pairs = (word.split("=") for word in words.split())
        constants = {name: int(value) for name, value in pairs}
        if constants:
            found.append(Packaged(kernel, architecture, constants, suffix, gallery=True))
    return found


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
    _of("attention_forward_causal_two_tiles", HOPPER, M=64, N=128, D=128),
    _of("attention_forward_causal_persistent", HOPPER, M=64, N=128, D=128, HEADS=8),
    _of("attention_backward", HOPPER, "_d64", M=64, N=128, D=64, SWAPPED=True),
    _of("attention_backward_two_tiles", HOPPER, "_d64", M=64, N=64, D=64, SWAPPED=True),
    _of("attention_backward", BLACKWELL, "_d64", M=128, N=128, D=64, SWAPPED=False),
    _of("attention_backward", HOPPER, M=64, N=128, D=128, SWAPPED=True),
    _of("attention_backward_two_tiles", HOPPER, M=64, N=64, D=128, SWAPPED=True),
    _of("attention_backward_halves", HOPPER, M=64, N=64, D=128, H=64),
    _of("attention_backward", BLACKWELL, M=128, N=128, D=128, SWAPPED=False),
    # Tiles of 128 x 128 of scores and of their gradients have no room in registers.
    _of("attention_backward", BLACKWELL, "_m64", M=64, N=128, D=128, SWAPPED=False),
    _of("attention_backward", BLACKWELL, "_m64_d64", M=64, N=128, D=64, SWAPPED=False),
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
    *_shown("gemm_bias_gelu", "M=128 N=128 K=64", "M=128 N=256 K=64"),
    *_shown("gemm_block_scaled", "M=64 N=128 K=128", "M=128 N=64 K=128"),
    *_shown("gemm_grouped", "M=128 N=128 K=64", "M=128 N=256 K=64"),
    *_shown("rms_norm_gemm", "M=64 N=128 K=64", "M=128 N=256 K=64"),
    *_shown("attention_grouped", "M=64 N=128 D=128", "M=128 N=128 D=128"),
    *_shown("attention_causal", "M=64 N=64 D=128", "M=128 N=128 D=128"),
    *_shown("attention_capped_window", "M=64 N=64 D=128", "M=128 N=128 D=128"),
    *_shown("attention_query_gradient", "M=64 N=64 D=128", "M=128 N=128 D=128"),
    *_shown("mla_decode", "M=64 N=64 D=256 R=64", "M=128 N=64 D=256 R=64"),
    *_shown("paged_decode", "M=64 N=64 D=128", "M=128 N=64 D=128"),
    *_shown("linear_attention_decayed", "C=64 D=128", "C=128 D=128"),
    # What does not fit, to be refused.
    *_shown("gemm_block_scaled", "", "M=128 N=128 K=128", suffix="_wide"),
    *_shown("mla_decode", "M=64 N=64 D=512 R=64", "M=128 N=64 D=512 R=64", suffix="_wide"),
)


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__, ((p.file, p.text()) for p in PACKAGED)))

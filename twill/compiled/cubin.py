"""Compile the kernel of a Gluon file, in a process of its own, which a crash of LLVM ends alone."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from twill.base.errors import InputError, MissingLibraryError, short
from twill.base.files import read_bytes

ARCHITECTURES = (90, 100)
# Nothing is kept; lines of the source are in the cubin; products and sums become one instruction.
SETTINGS = {
    "TRITON_ALWAYS_COMPILE": "1",
    "TRITON_DISABLE_LINE_INFO": "0",
    "TRITON_DEFAULT_FP_FUSION": "1",
}


@dataclass(frozen=True)
class Cubin:
    """A compiled kernel, as text.

    `kernel`: name of its entry.
    `architecture`: 90 or 100: compiled for ``sm_90a`` or ``sm_100a``.
    `warps`: warps that it starts with, those that partitions are filled up with included.
    `shared`: bytes of shared memory.
    `tensor_columns`: columns of tensor memory.
    `log`: output of ``ptxas -v``.
    `listing`: output of ``nvdisasm -c -hex -gi``.
    `targets`: addresses that indirect branches go to: the section ``.nv.constant2``.
    """

    kernel: str
    architecture: int
    warps: int
    shared: int
    tensor_columns: int
    log: str
    listing: str
    targets: tuple[int, ...] = ()


def compile_file(
    path: str | os.PathLike[str], architecture: int, *, emitted: bool = False
) -> Cubin:
    """Compile the entry of a kernel file; the file is imported, so that what it does happens.

    Parameters
    ----------
    path : path
        A Python file with ``SIGNATURE`` (Triton's type of each argument of the entry) and
        ``KERNEL`` (its name).
    architecture : int
        90 or 100.
    emitted : bool
        Whether ``twill emit`` wrote it, so that PyTorch is not needed when it is imported.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If there is no such file, or it does not compile.
    """
    if architecture not in ARCHITECTURES:
        known = ", ".join(f"sm_{a}a" for a in ARCHITECTURES)
        raise InputError(f"kernels are compiled for {known} (got {short(architecture)})")
    if importlib.util.find_spec("triton") is None:
        raise MissingLibraryError.of_extra("Triton", "triton")
    read_bytes(path)
    with tempfile.TemporaryDirectory() as folder:
        file, result = str(Path(path).resolve()), Path(folder) / "result.json"
        command = [sys.executable, "-m", "twill.compiled.compiler", file, str(architecture)]
        ended = subprocess.run(  # noqa: S603 - this Python, with files as arguments
            [*command, str(result), *(["--emitted"] if emitted else [])],
            env={**os.environ, **SETTINGS, "TRITON_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        if not result.exists():
            message = f"the compiler crashed for sm_{architecture}a (status {ended.returncode})"
            raise InputError(f"{message}: {short(ended.stderr[-200:], 200)}", file=str(path))
        found = json.loads(read_bytes(result))
    if "error" in found:
        raise InputError(f"not compiled for sm_{architecture}a: {found['error']}", file=str(path))
    found["targets"] = tuple(found["targets"])
    return Cubin(architecture=architecture, **found)

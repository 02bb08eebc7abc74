"""Compiling a kernel file with Triton: ``python -m twill.compiled.compiler FILE ...``.

Arguments are the kernel file, an architecture, the name of a file for the result, and perhaps
``--emitted``.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from twill.base.files import write_whole
from twill.base.names import elided, one_line

LONGEST_REASON = 300
WARPS = 4  # of the default partition, where the file has no `CONFIG` that says so
ALIGNED = ":16"  # behind the type of an integer that 16 divides
HOST = ("torch", "pytest")  # what a kernel file may import and compiling needs not
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d,]+)\]>")
# LLVM numbers the lines of inline assembly as if they were lines of the kernel file.
_ASSEMBLY = re.compile(r"// begin inline asm.*?// end inline asm", re.DOTALL)
_LINE = re.compile(r"^\s*\.loc\s.*\n", re.MULTILINE)
# Sections of a cubin that have lines of source.
_LINES = (".debug", ".nv_debug", ".rela.debug", ".rela.nv_debug")
_ELEMENTS = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp8e4nv": "float8e4nv",
    "fp8e5": "float8e5",
    "u8": "uint8",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
}


def main(path: str, architecture: int, result: str, *options: str) -> None:
    """Compile a kernel file and write what is known of it, or why it is not compiled, as JSON.

    `options`: ``--emitted`` for a file whose top uses nothing of what it imports for the host.
    """
    try:
        found = compiled(imported(path, emitted="--emitted" in options), architecture)
    except Exception as error:
        found = {"error": elided(one_line(_reason(error)), LONGEST_REASON)}
    write_whole(result, json.dumps(found))


def _reason(error: BaseException) -> str:
    """Return an error's message; for one in a called function, its place and its last line."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]} {lines[-1] if len(lines) > 1 else ''}"


def compiled_kernel(module: ModuleType, architecture: int) -> Any:
    """Return the kernel that Triton compiles from a file for an architecture, such as 90."""
    triton = importlib.import_module("triton")
    runtime = importlib.import_module("triton.experimental.gluon._runtime")
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", architecture, 32)
    kinds = module.SIGNATURE
    signature = {name: _with_layout(kind.removesuffix(ALIGNED)) for name, kind in kinds.items()}
    aligned = {
        (position,): [["tt.divisibility", 16]]
        for position, kind in enumerate(kinds.values())
        if kind.startswith("*") or kind.endswith(ALIGNED)
    }
    source = runtime.GluonASTSource(getattr(module, module.KERNEL), signature, {}, aligned)
    warps = getattr(getattr(module, "CONFIG", None), "num_warps", WARPS)
    return triton.compile(source, target=target, options={"num_warps": warps})


def compiled(module: ModuleType, architecture: int) -> dict[str, Any]:
    """Return the fields of `twill.compiled.cubin.Cubin` but for the architecture."""
    nvidia = importlib.import_module("triton.backends.nvidia.compiler")
    kernel = compiled_kernel(module, architecture)
    tools = Path(str(nvidia.__file__)).parent / "bin"
    disassembler = [str(tools / "nvdisasm"), "-c"]
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin, again = (f"{folder}/{name}" for name in ("ptx", "cubin", "again"))
        write_whole(ptx, _ASSEMBLY.sub(lambda found: _LINE.sub("", found[0]), kernel.asm["ptx"]))
        write_whole(cubin, kernel.asm["cubin"])
        name = nvidia.sm_arch_from_capability(architecture)
        options = ["-lineinfo", "-v", "--regAllocOptLevel=2", f"--gpu-name={name}"]
        log = _said([nvidia.get_ptxas(architecture).path, *options, ptx, "-o", again])
        ours, theirs = _sections(Path(again).read_bytes()), _sections(kernel.asm["cubin"])
        # Disassembled only if they differ: that takes longer than ptxas.
        same = _without_lines(ours) == _without_lines(theirs)
        if not same and _said([*disassembler, cubin]) != _said([*disassembler, again]):
            raise RuntimeError("ptxas makes other code of the same PTX")
        listing = _said([*disassembler, "-hex", "-gi", again])
    return {
        "kernel": module.KERNEL,
        "warps": kernel.metadata.num_warps,
        "shared": kernel.metadata.shared,
        "tensor_columns": kernel.metadata.tmem_size or 0,
        "log": log,
        "listing": listing,
        "targets": _targets(theirs),
    }


def _sections(cubin: bytes) -> dict[str, bytes]:
    """Return the sections of an ELF file of 64 bits by name (TIS ELF 1.2)."""
    (headers,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, headers + n * size) for n in range(count)]
    found = {}
    for name, _, _, _, begin, length in sections:
        place = sections[names][4] + name
        named = cubin[place : cubin.index(b"\0", place)].decode()
        found[named] = cubin[begin : begin + length]
    return found


def _without_lines(sections: dict[str, bytes]) -> dict[str, bytes]:
    return {name: words for name, words in sections.items() if not name.startswith(_LINES)}


def _targets(sections: dict[str, bytes]) -> list[int]:
    """Return the words of the section ``.nv.constant2``: targets of indirect branches."""
    of = [words for name, words in sections.items() if name.startswith(".nv.constant2")]
    return [word for (word,) in struct.iter_unpack("<I", of[0])] if of else []


def _with_layout(kind: str) -> str:
    """Return Triton's type of an argument; a descriptor's type names the layout of its tiles."""
    found = _DESCRIPTOR.fullmatch(kind)
    if found is None:
        return kind
    language = importlib.import_module("triton.experimental.gluon.language")
    shape = [int(extent) for extent in found[2].split(",")]
    element = getattr(language, _ELEMENTS.get(found[1], found[1]))
    layout = language.NVMMASharedLayout.get_default_for(shape, element)
    return f"{kind[:-1]},{layout!r}>"


def imported(path: str, *, emitted: bool = False) -> ModuleType:
    """Return a kernel file as a module; what is missing of `HOST`, or all of it, is a stand-in."""
    spec = importlib.util.spec_from_file_location("kernel", path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = importlib.util.module_from_spec(spec)
    missing = [name for name in HOST if emitted or importlib.util.find_spec(name) is None]
    kept = {name: sys.modules[name] for name in missing if name in sys.modules}
    sys.modules.update({name: mock.MagicMock() for name in missing})
    try:  # other modules that are imported meanwhile stay
        spec.loader.exec_module(module)
    finally:
        for name in missing:
            del sys.modules[name]
        sys.modules.update(kept)
    return module


def _said(command: list[str]) -> str:
    """Return the output of one of Triton's programs."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    return done.stdout + done.stderr


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])

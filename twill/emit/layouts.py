"""Layouts of TTGIR as Gluon writes them, each under a name of the emitted module."""

from __future__ import annotations

import re

from twill.base.errors import RefusedError
from twill.emit.tree import Assignment
from twill.frontends.types import Layout, parse_layout

DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i1": "int1",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "ui8": "uint8",
    "f8e4m3": "float8e4nv",
    "f8e5m2": "float8e5",
}
TORCH = {"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}  # where PyTorch calls it otherwise
_TENSOR_LAYOUT = re.compile(
    r"tensor_memory_encoding<blockM = (\d+), blockN = (\d+), colStride = (\d+)>"
)
_MEMORY_LAYOUT = re.compile(r"memdesc<[^#]*(#[\w.]+<\{.*?\}>)", re.DOTALL)


def dtype(name: str) -> str:
    """Return an element type as Gluon calls it, and but for those of `TORCH` PyTorch.

    Raises
    ------
    RefusedError
        If there is no template for it.
    """
    if name not in DTYPES:
        raise RefusedError(f"elements of type {name} have no template")
    return DTYPES[name]


class Layouts:
    """The layouts that a module needs, by their text."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def of_tile(self, layout: Layout) -> str:
        """Return the name of a register layout, or a slice of a named one."""
        p = layout.parameters
        if layout.name == "slice":
            return f"gl.SliceLayout({p['dim']}, {self.of_tile(p['parent'])})"
        if layout.name == "dot_op":
            parent, width = self.of_tile(p["parent"]), p.get("kWidth", 0)
            return f"gl.DotOperandLayout({p['opIdx']}, {parent}, {width})"
        return self._named(layout.name, _tile_text(layout))

    def of_number(self, warps: int) -> str:
        """Return the name of the layout of a tile of one element in so many warps."""
        return self._named("number", f"gl.BlockedLayout([1], [32], [{warps}], [0])")

    def of_memory(self, text: str) -> str:
        """Return the name of the layout in a buffer's type."""
        tensor = _TENSOR_LAYOUT.search(text)
        if tensor is not None:
            rows, columns, stride = tensor.groups()
            layout_text = f"TensorMemoryLayout([{rows}, {columns}], col_stride={stride})"
            return self._named("tensor_memory", layout_text)
        found = _MEMORY_LAYOUT.search(text)
        if found is None:
            raise RefusedError(f"the layout of a buffer has no template ({text})")
        layout = parse_layout(found[1])
        return self._named(layout.name, _memory_text(layout))

    def definitions(self) -> list[Assignment]:
        """Return the definitions."""
        return [Assignment(name, f"gl.constexpr({text})") for text, name in self.names.items()]

    def _named(self, kind: str, text: str) -> str:
        base = {"nvidia_mma": "MMA", "nvmma_shared": "SHARED"}.get(kind, kind.upper())
        alike = sum(name.rstrip("0123456789") == base for name in self.names.values())
        return self.names.setdefault(text, f"{base}{alike or ''}")


def _tile_text(layout: Layout) -> str:
    p = layout.parameters
    match layout.name:
        case "blocked":
            counts = (p["sizePerThread"], p["threadsPerWarp"], p["warpsPerCTA"], p["order"])
            return f"gl.BlockedLayout({', '.join(map(str, counts))})"
        case "nvidia_mma":
            version = [p["versionMajor"], p["versionMinor"]]
            return (
                f"gl.NVMMADistributedLayout(version={version}, "
                f"warps_per_cta={p['warpsPerCTA']}, instr_shape={p['instrShape']})"
            )
        case "linear":
            bases = [p[key] for key in ("register", "lane", "warp")] + [p.get("block", [])]
            rank = len(next(basis for group in bases for basis in group))
            shape = [sum(b[d] for group in bases for b in group) + 1 for d in range(rank)]
            return f"gl.DistributedLinearLayout({', '.join(map(str, bases))}, {shape})"
    raise RefusedError(f"the layout {layout.name} has no template")


def _memory_text(layout: Layout) -> str:
    p = layout.parameters
    match layout.name:
        case "nvmma_shared":
            rank = p.get("rank", 2)
            return (
                f"gl.NVMMASharedLayout(swizzle_byte_width={p['swizzlingByteWidth']}, "
                f"element_bitwidth={p['elementBitWidth']}, rank={rank}, "
                f"transposed={p['transposed'] in (True, 'true')})"
            )
        case "swizzled_shared":
            return (
                f"gl.SwizzledSharedLayout(vec={p['vec']}, per_phase={p['perPhase']}, "
                f"max_phase={p['maxPhase']}, order={p['order']})"
            )
    raise RefusedError(f"the layout {layout.name} has no template")

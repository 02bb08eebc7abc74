"""Layouts of tiles and of memory, as kernels name them, and the pairs that Triton combines.

A tile of unknown layout (None, or one that the compiler chooses) goes with any other.
"""

from __future__ import annotations

from typing import Any


class Layout:
    """How threads or memory hold a tile, as the kernel says it.

    Attributes are what it was made with, by the names of `fields`; nothing is checked.
    """

    fields: tuple[str, ...] = ()

    def __init__(self, *given: Any, **named: Any) -> None:
        self.__dict__.update(zip(self.fields, given, strict=False), **named)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment] # compared by what it holds, which may change

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in vars(self).items())
        return f"{type(self).__name__}({given})"


class SliceLayout(Layout):
    """A layout of registers without one dimension."""

    fields = ("dim", "parent")
    dim: int
    parent: Layout


class BlockedLayout(Layout):
    """A layout of registers by blocks of elements."""

    fields = ("size_per_thread", "threads_per_warp", "warps_per_cta", "order", "cga_layout")


class NVMMADistributedLayout(Layout):
    """The layout of registers in which a product's result lies."""

    fields = ("version", "warps_per_cta", "instr_shape", "cga_layout")


class DotOperandLayout(Layout):
    """The layout of registers in which a product finds a factor."""

    fields = ("operand_index", "parent", "k_width")


class DistributedLinearLayout(Layout):
    """A layout of registers by the bases of a linear function."""

    fields = ("reg_bases", "lane_bases", "warp_bases", "block_bases", "shape")


class SwizzledSharedLayout(Layout):
    """A layout of shared memory whose parts of rows are exchanged."""

    fields = ("vec", "per_phase", "max_phase", "order", "cga_layout")


class TensorMemoryLayout(Layout):
    """A layout of tensor memory."""

    fields = ("block", "col_stride")


class TensorMemoryScalesLayout(Layout):
    """A layout of tensor memory for the scales of a product's factor, a row for each of its."""

    fields = ("cta_split_num",)


class AutoLayout(Layout):
    """A layout that the compiler chooses."""


class CoalescedLayout(Layout):
    """A layout that the compiler chooses, of accesses to global memory."""


CHOSEN = (AutoLayout, CoalescedLayout)
REGISTERS: tuple[type[Layout], ...] = (
    *(SliceLayout, BlockedLayout, NVMMADistributedLayout, DotOperandLayout),
    DistributedLinearLayout,
)


def known(layout: object) -> Layout | None:
    """Return a layout of registers, None where the kernel has not chosen one."""
    return layout if isinstance(layout, REGISTERS) else None


def alike(first: object, second: object) -> bool:
    """Return whether tiles of two layouts can be operands of one operation."""
    a, b = known(first), known(second)
    return a is None or b is None or a == b


def reduced(layout: object, axis: int | None, rank: int) -> Layout | None:
    """Return the layout of a tile whose dimension `axis` is reduced."""
    parent = known(layout)
    if parent is None or axis is None or rank == 1:
        return None
    return SliceLayout(axis % rank, parent)


def expanded(layout: object, axis: int) -> Layout | None:
    """Return the layout of a tile that gets a dimension.

    Raises
    ------
    ValueError
        If the layout is no slice along that dimension.
    """
    given = known(layout)
    if given is None:
        return None
    if not isinstance(given, SliceLayout) or given.dim != axis:
        raise ValueError(f"a tile of layout {given!r} has no dimension to expand at {axis}")
    return known(given.parent)


def linear_layout(shape: list[int]) -> DistributedLinearLayout:
    """Return the layout in which every thread holds a row."""
    powers = [[0, 1 << n] for n in range((shape[-1] - 1).bit_length())]
    lanes = [[1 << n, 0] for n in range(7)]
    return DistributedLinearLayout(powers, lanes[:5], lanes[5:], [], list(shape[-2:]))

"""How layouts spread tiles over threads: Triton's, and the builder's beside them."""

from __future__ import annotations

import pytest

from tests.support.layouts import BLOCKED, LINEAR, MMA
from twill.frontends.builder.finish import accumulator, rows
from twill.frontends.types import Layout, elements_per_thread, parse_layout, sharing


@pytest.mark.parametrize(
    ("layout", "shape", "elements"),
    [
        (MMA, (64, 128), 64),
        (MMA, (128, 128), 128),
        (f"#ttg.slice<{{dim = 1, parent = {MMA}}}>", (64,), 2),
        (f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>", (64, 128), 64),
        (BLOCKED, (128, 128), 128),
        (LINEAR, (128, 128), 128),
        (f"#ttg.slice<{{dim = 1, parent = {LINEAR}}}>", (128,), 1),
    ],
)
def test_elements_per_thread(layout: str, shape: tuple[int, ...], elements: int) -> None:
    assert elements_per_thread(parse_layout(layout), shape) == elements


@pytest.mark.parametrize(
    ("layout", "axis", "shared"),
    [(MMA, 1, (4, 1)), (MMA, 0, (8, 4)), (BLOCKED, 1, (16, 1)), (LINEAR, 1, (1, 1))],
)
def test_lanes_that_share_a_row(layout: str, axis: int, shared: tuple[int, int]) -> None:
    assert sharing(parse_layout(layout), axis) == shared


@pytest.mark.parametrize(("ours", "theirs"), [(accumulator(4), MMA), (rows(4), LINEAR)])
def test_layouts_are_tritons(ours: Layout, theirs: str) -> None:
    layout = parse_layout(theirs)
    assert elements_per_thread(ours, (128, 128)) == elements_per_thread(layout, (128, 128)) == 128
    for axis in (0, 1):
        assert sharing(ours, axis) == sharing(layout, axis)
        reduced = parse_layout(f"#ttg.slice<{{dim = {axis}, parent = {theirs}}}>")
        of_ours = Layout("slice", {"dim": axis, "parent": ours})
        assert elements_per_thread(of_ours, (128,)) == elements_per_thread(reduced, (128,))

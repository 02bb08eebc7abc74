"""Shapes and types of calls, emulated against NumPy, and the table of all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.pages import ROOT
from tests.validation.shapes import shapes, tried
from tests.validation.tables import read

TRIED = ("attention_undivided", "bfloat16"), ("attention_forward", "float16")
"""Kernels and types; lengths that no tile divides with shared heads, and 64 elements a head."""


def test_the_table_has_every_shape_and_says_why_one_is_not_right() -> None:
    rows = read("shapes")
    wanted = [shape.row for shape in shapes()]
    assert [{key: row[key] for key in wanted[0]} for row in rows] == wanted
    for row in rows:
        assert row["right"] == "yes" or row["note"], row
        assert row["as written"] != "no" or row["note"], row


@pytest.mark.slow
@pytest.mark.triton
@pytest.mark.torch
@pytest.mark.parametrize(("name", "dtype"), TRIED)
def test_a_shape_is_right_in_emulation(name: str, dtype: str) -> None:
    shape = next(one for one in shapes() if (one.name, one.dtype) == (name, dtype))
    row = tried(shape)
    assert row["right"], row
    assert row["as written"], row


@pytest.mark.slow
@pytest.mark.triton
@pytest.mark.torch
def test_a_row_that_scores_are_added_to_is_spread_before_the_product(tmp_path: Path) -> None:
    """As the biases of ALiBi; the compiler takes no accumulator of one row."""
    shape = next(one for one in shapes() if one.name == "attention_undivided")
    text = (ROOT / "tests/data/kernels/shapes.py").read_text()
    mask = 's = tl.where(keys[None, :] < length, s, float("-inf"))'
    assert mask in text
    (tmp_path / "bias.py").write_text(text.replace(mask, "s = s + 0.0 * keys[None, :]"))
    kernel = f"{tmp_path / 'bias'}:attention_undivided"
    row = tried(replace(shape, kernel=kernel, lengths=(384,)))
    assert row["right"], row
    assert row["as written"], row

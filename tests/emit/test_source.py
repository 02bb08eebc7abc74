"""What a kernel says of its loops' iterations."""

from __future__ import annotations

import pytest

from tests.support.pages import ROOT
from twill.emit.expressions.gluon import Gluon
from twill.emit.expressions.texts import Text
from twill.emit.layouts import Layouts
from twill.emit.source import Source, loops
from twill.frontends import load_loop
from twill.frontends.ttgir.reader import name_of


@pytest.mark.parametrize(
    ("name", "trips", "varies"),
    [
        ("attention_forward_diagonal_hopper", 1, False),
        ("attention_forward_causal_hopper", None, True),
        ("attention_forward_hopper", None, False),
    ],
)
def test_iterations_are_known_where_the_bounds_say_so(
    name: str, trips: int | None, varies: bool
) -> None:
    source = Source(load_loop(name))
    assert (source.trips, source.varies) == (trips, varies)


def test_other_loops_come_before_or_after() -> None:
    causal, diagonal = (
        Source(load_loop(f"attention_forward_{which}_blackwell"))
        for which in ("causal", "diagonal")
    )
    assert [loops(causal.before()), len(loops(causal.after()))] == [[], 1]
    assert [len(loops(diagonal.before())), loops(diagonal.after())] == [1, []]


def test_what_the_loop_leaves_and_begins_with() -> None:
    source = Source(load_loop("attention_forward_causal_hopper"))
    maximum, total, output = source.loop.results
    assert source.hint(source.yielded(maximum)) == "n"
    assert [source.is_zero(source.start(r)) for r in (maximum, total, output)] == [
        False,
        True,
        True,
    ]


def test_a_column_beside_another_products_tile_has_its_layout() -> None:
    """TTGIR changes the layout on the way, since it is the same for a column; Gluon does not."""
    source = Source(load_loop(str(ROOT / "traces/gallery/paged_decode.sm90.mlir")))
    found = [
        Gluon(source, Layouts()).expression(statement, [Text("a")]).text
        for statement in source.graph.operations
        if name_of(statement) == "tt.broadcast"
    ]
    assert found == ["a", "gl.convert_layout(a, MMA)"]

"""Two loops of which the second goes on where the first ends, read as one."""

from __future__ import annotations

import re

import pytest

import twill
from tests.support.pages import ROOT
from twill.emit.source import Source
from twill.frontends.ttgir import extract
from twill.frontends.ttgir.reader import name_of

CAUSAL = (ROOT / "traces/ttgir/attention_forward_causal.sm90.mlir").read_text()
BY_STAGES = (ROOT / "tests/data/kernels/causal_by_stages.sm90.mlir").read_text()
SECOND = r'(%o_11:3 = "scf.for"\()%row_1, (%4, %0), (%o#0, %o#1), %o#2'


def test_what_few_iterations_do_costs_nothing() -> None:
    joined, first = extract(CAUSAL), extract(CAUSAL, loop="start")
    assert joined.source is not None
    assert joined.source.joined
    assert (joined.operations, joined.dependences) == (first.operations, first.dependences)
    assert joined.invariants == first.invariants  # the rows that a mask compares are none
    assert {f.kind for f in joined.folded} - {f.kind for f in first.folded} >= {"arith.select"}


def test_what_only_the_second_loop_reads_is_no_operand_of_the_first() -> None:
    """There the maximum is scaled before it is reduced, and rows are counted by both."""
    joined, first = extract(BY_STAGES), extract(BY_STAGES, loop="0")
    assert joined.operations == first.operations
    more = set(joined.dependences) - set(first.dependences)
    assert [(d.producer, d.consumer, d.operand) for d in more] == [
        ("larger.reduce", "larger", None)
    ]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (SECOND, r"\1%1, \2, \3, %o#2", "does not begin where the first ends"),
        (SECOND, r"\1%row_1, \2, %o#1, %o#0, %o#2", "differ in the operation that makes what"),
        (SECOND, r"\1%row_1, \2, %o#0, %l, %o#2", "carries what the first one does not"),
        (r'(%row_1 = "arith)\.muli', r"\1.addi", "not known to be a multiple of its step"),
        (r'(%row = )"tt.get_program_id"\(\) <.*?>', r'\1"tt.clock"()', "or may end before"),
        (r'("arith.divf"\()%o_11#2', r"\1%o#2", "is read by more than the second"),
        (
            r'(%k = "arith.addi"\(%head_0, )%diagonal',
            r"\1%row_1",
            "differ in what arith.addi",
        ),
    ],
)
def test_loops_are_joined_only_where_both_are_then_what_they_were(
    old: str, new: str, why: str
) -> None:
    text, count = re.subn(old, new, CAUSAL)
    assert count == 1
    with pytest.raises(twill.RefusedError, match=rf"there are 2 loops to choose from.*{why}"):
        extract(text)


@pytest.mark.parametrize(("end", "made"), [("addi", "arith.addi"), ("subi", "arith.maxsi")])
def test_both_end_where_the_first_ends_if_that_is_later(end: str, made: str) -> None:
    source = Source(extract(CAUSAL.replace('%4 = "arith.addi"', f'%4 = "arith.{end}"')))
    statement = source.statement(source.upper)
    assert statement is not None
    assert name_of(statement) == made

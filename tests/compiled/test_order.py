"""Which order a kernel file asks for, and what of SASS keeps it."""

from __future__ import annotations

import pytest

from tests.compiled.kernels import BLACKWELL, HOPPER
from twill.base.errors import InputError
from twill.compiled.loops import compiled_loops
from twill.compiled.order import read_roles
from twill.compiled.sass import read_listing

ROLE = """
@gluon.jit
def compute(x, full, empty, n):
    for i in range(n):
        mbarrier.wait(full, 0)
        x.step()
        mbarrier.arrive(empty)
{more}

gl.warp_specialize([(compute, (x,))], [], [])
"""
FILE = ROLE.format(more="")
TRY = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2"
ARRIVE = "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4], RZ"
LINES = {"W": (5, TRY), "A": (7, ARRIVE), "B": (9, ARRIVE), "F": (6, "FADD R1, R1, R2")}


def listing(text: str) -> str:
    """Return SASS of words: W, A and F are instructions of the file; L: is a label, >L a branch.

    ``?L`` is a branch that is not always taken.
    """
    lines = []
    for number, word in enumerate(text.split()):
        if word.endswith(":"):
            lines.append(f".L_{word}")
            continue
        line, operation = LINES.get(word, (1, f"BRA `(.L_{word[1:]})"))
        predicate = "@!P0 " if word.startswith("?") else ""
        lines.append(f'//## File "kernel.py", line {line}')
        lines.append(f"/*{number:04x}*/ {predicate}{operation} ;")
    return "\n".join([*lines, "/*ffff*/ EXIT ;"])


def orders(text: str, file: str = FILE) -> list[tuple[int, str | None, int]]:
    """Return copies, order and instructions of each steady loop that SASS has."""
    found = compiled_loops(read_listing(listing(text)), read_roles(file), "kernel.py", 168)
    return [(told.copies, told.order, sum(told.instructions.values())) for _, told in found]


@pytest.mark.parametrize(
    ("text", "copies", "instructions"),
    [
        ("1: W F A ?1", 1, 4),
        ("W F 1: A W F ?1 A", 1, 4),
        ("1: W F A W F A ?1", 2, 7),
        ("1: W F A ?2 W F A ?1 2:", 2, 8),
        ("1: W ?3 2: F A ?1 >4 3: W ?3 >2 4:", 1, 5),
        ("1: W ?1 F A >1", 1, 5),
        ("1: W F ?2 A 2: F ?1", 1, 6),
        ("1: W A A F ?1", 1, 5),
    ],
    ids=[
        "as written",
        "turned",
        "unrolled",
        "left early",
        "a wait aside",
        "a wait",
        "elected",
        "repeated",
    ],
)
def test_an_order_is_kept(text: str, copies: int, instructions: int) -> None:
    assert orders(text) == [(copies, None, instructions)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1: W W A F A ?1", None),
        ("1: W A W F F ?1", "wait (line 5) where the file has wait (line 8)"),
        ("1: W F A ?1", "no wait (line 8)"),
    ],
    ids=["a wait too many", "another order", "nothing of it"],
)
def test_an_order_is_changed(text: str, told: str | None) -> None:
    """The file waits twice, in lines 5 and 8, and then arrives again."""
    file = ROLE.format(more="        mbarrier.wait(full, 1)\n        mbarrier.arrive(empty)")
    ((_, order, _),) = orders(text, file)
    assert order is not None
    assert told is None or order in (told, "no wait (line 8)")


def test_copies_of_one_call_are_kept() -> None:
    more = "        for part in gl.static_range(2):\n            mbarrier.arrive(full)"
    assert orders("1: W F A B B ?1", ROLE.format(more=more)) == [(1, None, 6)]
    assert orders("1: W F B B A ?1", ROLE.format(more=more))[0][1] is not None


def test_two_loops_of_one() -> None:
    """A loop that is unrolled, and another one for what remains."""
    assert [c for c, order, _ in orders("1: W A W A ?1 2: W A ?2") if order is None] == [2, 1]


def test_the_roles_of_a_kernel_file() -> None:
    compute, load = read_roles(HOPPER)
    assert (compute.name, compute.warps, compute.registers) == ("compute", 4, None)
    assert (load.name, load.warps, load.registers) == ("load", 1, 24)
    (loop,) = compute.loops
    assert [str(mark) for mark in loop.marks] == [
        "wait (line 16)", "product (line 19)", "product wait (line 20)", "arrive (line 21)",
    ]  # fmt: skip
    (loop,) = load.loops
    assert [mark.kind for mark in loop.marks] == ["wait", "arrive", "load"]
    (loop,) = read_roles(BLACKWELL)[0].loops
    assert [mark.kind for mark in loop.marks] == ["wait", "tcgen05 product", "commit"]


def test_marks_of_what_a_role_calls() -> None:
    """Functions, methods, unrolled loops are followed; what is under a condition may be absent."""
    text = """
class Ring:
    def take(self):
        mbarrier.wait(self.full, 0)

def give(x):
    mbarrier.arrive(x)

def compute(ring, x, n):
    for outer in range(n):
        for i in gl.static_range(2):
            c = warpgroup_mma(a, b, c)
        for i in range(n):
            ring.take()
            if i > 0:
                give(x)
            for part in gl.static_range(1, 3):
                tma.async_store(x, [part], y)
            y.load(1)

gl.warp_specialize([(compute, ())], [], [])
"""
    ((loop,),) = [role.loops for role in read_roles(text)]
    assert loop.first == 13
    assert [(m.kind, m.lines, m.optional) for m in loop.marks] == [
        ("wait", (14, 4), False),
        ("arrive", (16, 7), True),
        ("store", (18,), False),
        ("store", (18,), False),
    ]


@pytest.mark.parametrize(("bounds", "written_out"), [
    ("n", False), ("2, n", False), ("0, n, 2", False), ("a, b + 128, 64", False),
    ("a, a + 128, n", False), ("4", True), ("1, 4", True), ("a, a + 128", True),
    ("a * 2, a * 2 + 128, 64", True), ("one", True), ("two", False),
])  # fmt: skip
def test_loops_whose_iterations_the_text_counts(bounds: str, written_out: bool) -> None:
    text = f"""
def compute(a, b, n):
    one = 1
    two = 1
    two += n
    for i in tl.range({bounds}):
        mbarrier.wait(a, 0)

gl.warp_specialize([(compute, ())], [], [])
"""
    assert read_roles(text)[0].loops[0].written_out == written_out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def f(:", "not Python"),
        ("x = 1", "one call of gl.warp_specialize (got 0)"),
        ("gl.warp_specialize(roles, [1], [24])", "lists its functions"),
        ("gl.warp_specialize([(f, ())], [1], [24])", "lists its functions"),
    ],
)
def test_what_is_no_kernel_file_is_refused(text: str, told: str) -> None:
    with pytest.raises(InputError, match=r"kernel\.py") as refused:
        read_roles(text, "kernel.py")
    assert told in str(refused.value)

"""The order of synchronization in a steady loop: in a kernel file and in its SASS.

*Marks* are products and waits for them, waits and arrivals at mbarriers, transfers and commits,
each with the line that asks for it. A compiler may rotate a loop, copy its body or move a spin loop
out of the way; the cyclic order of its marks stays.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from twill.base.errors import InputError
from twill.compiled.sass import Frames, Instruction, Listing, Loop

PRODUCT, PRODUCT_WAIT = "product", "product wait"
TENSOR_PRODUCT, COMMIT = "tcgen05 product", "commit"
WAIT, ARRIVE, LOAD, STORE, STORE_WAIT = "wait", "arrive", "load", "store", "store wait"
CALLS = {
    PRODUCT: r"warpgroup_mma",
    PRODUCT_WAIT: r"warpgroup_mma_wait",
    TENSOR_PRODUCT: r"tcgen05_(mma|mma_scaled|copy)",
    COMMIT: r"tcgen05_commit",
    WAIT: r"mbarrier\.wait",
    ARRIVE: r"mbarrier\.(arrive|expect)|async_copy\.mbarrier_arrive",
    LOAD: r"(tma|async_copy)\.(async_load\w*|async_copy_global_to_shared\w*|async_gather)",
    STORE: r"tma\.(async_store|async_copy_shared_to_global|async_scatter|async_atomic_\w+)",
    STORE_WAIT: r"tma\.store_wait",
}
"""Gluon's functions."""
OPERATIONS = {
    PRODUCT: r"[HIQ]GMMA",
    PRODUCT_WAIT: r"WARPGROUP\.DEPBAR",
    TENSOR_PRODUCT: r"UTC\w*MMA|UTCCP",
    COMMIT: r"UTCBAR",
    WAIT: r"SYNCS\.PHASECHK",
    ARRIVE: r"SYNCS\.ARRIVE",
    LOAD: r"UTMALDG|LDGSTS",
    STORE: r"UTMASTG|UTMAREDG",
    STORE_WAIT: r"DEPBAR",
}
_CALL = {kind: re.compile(rf"(?:.*\.)?(?:{names})") for kind, names in CALLS.items()}
_OPERATION = {kind: re.compile(rf"(?:{names})(?:\.|$)") for kind, names in OPERATIONS.items()}
ELECTED = frozenset({TENSOR_PRODUCT, COMMIT, ARRIVE, LOAD, STORE})
"""Marks that one elected thread of a partition executes; the other threads branch past them."""
MOST_COPIES = 1024  # of the body of a loop that Triton unrolls


@dataclass(frozen=True)
class Mark:
    """A synchronizing operation, and where it stands.

    `kind`: a key of `OPERATIONS`.
    `lines`: its line in the role's function; then, if that calls another one of the file, the line
    there.
    `optional`: whether it stands under a condition.
    """

    kind: str
    lines: tuple[int, ...]
    optional: bool = False

    @property
    def same(self) -> tuple[str, tuple[int, ...]]:
        """The kind and lines that a mark of the file shares with its instructions."""
        return self.kind, self.lines

    def __str__(self) -> str:
        return f"{self.kind} (line {', '.join(map(str, self.lines))})"


@dataclass(frozen=True)
class SteadyLoop:
    """A loop of a role over iterations that are counted at run time, and the marks of one."""

    first: int  # line
    last: int
    marks: tuple[Mark, ...]
    written_out: bool = False  # whether its iterations are so many that a compiler can see


@dataclass(frozen=True)
class Role:
    """The function of the kernel file that one partition executes.

    `name`: name of the function.
    `warps`: warps of its partition.
    `registers`: registers of a thread that the file asks for; None for the default partition, which
    has the rest.
    `first`, `last`: its lines.
    `loops`: its innermost loops over ``range``.
    """

    name: str
    warps: int
    registers: int | None
    first: int
    last: int
    loops: tuple[SteadyLoop, ...]


def read_roles(text: str, file: str = "") -> tuple[Role, ...]:
    """Return the roles of a kernel file as its call of ``gl.warp_specialize`` lists them.

    Without such a call the kernel, which the file names in ``KERNEL``, ends with the call of its
    only role.

    Raises
    ------
    InputError
        If it has neither, or a call that is not written out.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"not Python: {error}", file=file) from None
    functions = dict(_functions(tree))
    calls = [node for node in ast.walk(tree) if _called(node).endswith("warp_specialize")]
    alone = _only_role(tree, functions)
    if len(calls) > 1 or not (calls or alone in functions):
        raise InputError(f"one call of gl.warp_specialize (got {len(calls)})", file=file)
    try:
        names, asked = [alone], []
        if calls:
            partitions, *lists = calls[0].args  # type: ignore[attr-defined]  # it is a call
            names = [entry.elts[0].id for entry in partitions.elts]
            warps, registers = map(ast.literal_eval, lists)
            asked = list(zip(warps, registers, strict=True))
        found, every = [functions[name] for name in names], [(4, None), *asked]
        return tuple(
            Role(f.name, w, r, f.lineno, f.end_lineno or 0, tuple(_steady(f, functions)))
            for f, (w, r) in zip(found, every, strict=True)
        )
    except (AttributeError, KeyError, ValueError) as error:
        raise InputError(
            f"gl.warp_specialize lists its functions, warps and registers ({error})", file=file
        ) from None


def _only_role(tree: ast.Module, functions: Mapping[str, ast.FunctionDef]) -> str:
    """Return the function that the kernel calls last; empty if it calls none."""
    kernel = functions.get(kernel_name(tree))
    return _called(getattr(kernel.body[-1], "value", kernel)) if kernel is not None else ""


def kernel_name(tree: ast.Module) -> str:
    """Return the name of the kernel of a file, which is in ``KERNEL``; empty without it."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "KERNEL":
            return str(ast.literal_eval(node.value))
    return ""


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a file, and the methods of its classes with a dot before the name."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f".{f.name}", f) for f in node.body if isinstance(f, ast.FunctionDef))


def _steady(
    function: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]
) -> Iterator[SteadyLoop]:
    known = _numbers(function)
    for node in ast.walk(function):
        if _counts(node) and not any(_counts(n) for n in ast.walk(node) if n is not node):
            assert isinstance(node, ast.For)
            marks = tuple(_marks(node.body, functions))
            yield SteadyLoop(node.lineno, node.end_lineno or 0, marks, _is_written_out(node, known))


def _counts(node: ast.AST) -> bool:
    """Whether it is a loop whose iterations are counted at run time."""
    return isinstance(node, ast.For) and _called(node.iter).split(".")[-1] == "range"


def _numbers(function: ast.FunctionDef) -> set[str]:
    """Return the variables that are a number of the text and nothing else."""
    nodes = list(ast.walk(function))
    stored = Counter(
        n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    given = [n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant)]
    names = {n.targets[0].id for n in given if isinstance(n.targets[0], ast.Name)}
    return {name for name in names if stored[name] == 1}


def _is_written_out(loop: ast.For, known: set[str]) -> bool:
    """Whether a loop ends a number behind its beginning, or at a number, and steps by numbers."""
    bounds = getattr(loop.iter, "args", [])
    start, stop = bounds[:2] if len(bounds) > 1 else (ast.Constant(0), bounds[0])
    if isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add):
        behind = ast.unparse(stop.left) == ast.unparse(start)
        start, stop = (ast.Constant(0), stop.right) if behind else (start, stop)
    return all(
        isinstance(bound, ast.Constant) or (isinstance(bound, ast.Name) and bound.id in known)
        for bound in (start, stop, *bounds[2:])
    )


def _called(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _marks(nodes: Iterable[ast.AST], functions: Mapping[str, ast.FunctionDef]) -> Iterator[Mark]:
    """Yield the marks of statements in the order of execution."""
    for node in nodes:
        if isinstance(node, ast.If | ast.IfExp):
            parts = [node.body, node.orelse]
            inner = [p for part in parts for p in (part if isinstance(part, list) else [part])]
            yield from _marks([node.test], functions)
            yield from (replace(mark, optional=True) for mark in _marks(inner, functions))
        elif isinstance(node, ast.For) and (body := tuple(_marks(node.body, functions))):
            for _ in range(_copies(node)):
                yield from body
        else:
            yield from _marks(ast.iter_child_nodes(node), functions)
            if isinstance(node, ast.Call):
                yield from _marks_of_call(node, functions)


def _copies(loop: ast.For) -> int:
    """Return how often Triton copies the body of a loop that it unrolls."""
    numbers = [ast.literal_eval(a) for a in getattr(loop.iter, "args", ())]
    return min(MOST_COPIES, len(range(*numbers)))


def _marks_of_call(call: ast.Call, functions: Mapping[str, ast.FunctionDef]) -> Iterator[Mark]:
    name, given = _called(call), {k.arg: k.value for k in call.keywords}
    kind = next((kind for kind, known in _CALL.items() if known.fullmatch(name)), None)
    if kind is None:
        function = functions.get(f".{name.rsplit('.', 1)[1]}" if "." in name else name)
        for mark in _marks(function.body if function else (), functions):
            yield replace(mark, lines=(call.lineno, *mark.lines))
        return
    yield Mark(kind, (call.lineno,))
    if name.endswith("warpgroup_mma") and not getattr(given.get("is_async"), "value", False):
        yield Mark(PRODUCT_WAIT, (call.lineno,))
    if kind == TENSOR_PRODUCT and getattr(given.get("mbarriers"), "elts", None):
        yield Mark(COMMIT, (call.lineno,))


def lines_in(frames: Frames, file: str, role: Role) -> tuple[int, ...]:
    """Return the lines of an instruction as marks have them; none if it is not the role's."""
    lines = [line for name, line in frames if name == file]
    inside = [i for i, line in enumerate(lines) if role.first <= line <= role.last]
    return tuple(reversed(lines[: inside[-1] + 1])) if inside else ()


def mark_of(instruction: Instruction, file: str, role: Role) -> Mark | None:
    """Return the mark that an instruction is; None if it is none, or not the role's."""
    found = (k for k, operation in _OPERATION.items() if operation.match(instruction.operation))
    kind, lines = next(found, None), lines_in(instruction.lines, file, role)
    return Mark(kind, lines) if kind and lines else None


def disorder(
    listing: Listing, loop: Loop, marks: Sequence[Mark], found: Mapping[int, Sequence[Mark]]
) -> str | None:
    """Say where a loop of SASS leaves the cyclic order of a file's marks; None if it never does.

    Every path through the loop is followed. The header may lie anywhere in a round, if the marks
    before it are found outside the loop too. A mark may be repeated at once, as instructions of one
    product or attempts of one wait. A mark under a condition may be left out.

    `listing`, `loop`: the loop of SASS.
    `marks`: the file's marks of one iteration.
    `found`: marks of each block of the SASS.
    """
    seen = {mark.same for block in loop.blocks for mark in found[block]}
    missing = [m for m in marks if m.same not in seen and not m.optional]
    if missing or not marks:
        return f"no {missing[0]}" if missing else None
    once = [next(group) for _, group in itertools.groupby(marks, key=lambda mark: mark.same)]
    before = {mark.same for block in set(found) - loop.blocks for mark in found[block]}
    starts = [s for s in range(len(once)) if {mark.same for mark in once[:s]} <= before]
    trials = [_follow(listing, loop, once, found, start) for start in starts]
    return None if ("", 0) in trials else max(trials, key=lambda trial: trial[1])[0]


def _follow(
    listing: Listing,
    loop: Loop,
    marks: Sequence[Mark],
    found: Mapping[int, Sequence[Mark]],
    start: int,
) -> tuple[str, int]:
    """Follow all paths from the header, where `start` marks of a round are behind.

    Returns where a path leaves the order and how many marks kept it until then; an empty text and 0
    if no path does. Only behind a branch may there be a thread that is not the elected one.
    """
    first = loop.header, start, False
    waiting, known = [first], {first}
    kept = 0
    while waiting:
        block, at, branched = waiting.pop()
        for mark in found[block]:
            following = _after(marks, at, mark, ELECTED if branched else frozenset())
            if following is None:
                return f"{mark} where the file has {marks[at % len(marks)]}", kept
            if following != at:
                kept, at, branched = kept + 1, following, False
        successors = listing.blocks[block].successors
        for successor in successors:
            state = successor, at, branched or len(successors) > 1
            if successor in loop.blocks and state not in known:
                known.add(state)
                waiting.append(state)
    return "", 0


def _after(marks: Sequence[Mark], at: int, mark: Mark, others: frozenset[str]) -> int | None:
    """Return how many marks of a round are behind after one more, None if it is not its turn.

    `others`: kinds of marks that may be left out here.
    """
    size = len(marks)
    if at and marks[at - 1].same == mark.same:
        return at
    for step in range(size):
        following = marks[(at + step) % size]
        if following.same == mark.same:
            return (at + step) % size + 1
        if not (following.optional or following.kind in others):
            return None
    return None

"""Whether the emulator finds mistakes in emitted kernels: one line changed.

``python -m tests.emit.mutants KERNEL.py ... [--limit N] [--seed N]`` leaves out or weakens each
wait, arrive, expect, commit, fence and count, and executes what comes of it: at three trip counts,
then with each victim in turn until one run fails. With ``--arithmetic`` it changes operands, masks,
offsets, constants and comparisons instead, and executes all that the file's own tests would. It
prints what survived, with its line.
"""

from __future__ import annotations

import argparse
import ast
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.emit.arithmetic import changes
from twill.base.console import progress, say
from twill.base.errors import InputError
from twill.base.tables import Column, Table
from twill.sim.emulator import FaultError, Run, stand_ins
from twill.sim.emulator.emulation import executed, kernel_file, trip_counts

WAITS = ("warpgroup_mma_wait", "tma.store_wait")
LEFT_OUT = {
    "mbarrier.wait": "wait left out",
    "mbarrier.arrive": "arrive left out",
    "mbarrier.expect": "expect left out",
    "tcgen05_commit": "commit left out",
    "fence_async_shared": "fence left out",
    "tma.store_wait": "store wait left out",
    "warpgroup_mma_wait": "product wait left out",
}
WITH_SLOTS = ("mbarrier.wait", "mbarrier.arrive", "mbarrier.expect", "tcgen05_commit",
              "tcgen05_mma", "tma.async_load")  # fmt: skip
ACCESSES = ("warpgroup_mma", "tcgen05_mma", "tma.async_store", "tma.async_atomic_add")


@dataclass(frozen=True)
class Mutant:
    """A kernel file with one change."""

    kind: str
    line: int
    was: str  # the statement
    text: str  # of the file


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: the run that failed, None if none did."""

    mutant: Mutant
    run: Run | None

    @property
    def said(self) -> str:
        """What caught it: a kind of fault, or its numbers."""
        if self.run is None:
            return ""
        return self.run.fault.kind if self.run.fault else "numbers"


class _Source:
    """The text of a file, in which nodes are replaced."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)
        self.tree = ast.parse(text)

    def span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """Return where in the text a node begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begins = [sum(map(len, self.lines[: n - 1])) for n in (node.lineno, node.end_lineno)]
        return begins[0] + node.col_offset, begins[1] + node.end_col_offset

    def replaced(self, *changes: tuple[ast.stmt | ast.expr, str]) -> str:
        """Return the text with nodes replaced."""
        text = "".join(self.lines)
        for (begin, end), new in sorted(((self.span(n), new) for n, new in changes), reverse=True):
            text = text[:begin] + new + text[end:]
        return text


def mutants(text: str) -> Iterator[Mutant]:
    """Yield every mutant of an emitted kernel."""
    source = _Source(text)
    functions = [f for f in source.tree.body if isinstance(f, ast.FunctionDef) and _is_kernel(f)]
    rings = {
        str(ast.unparse(node.targets[0])): int(ast.literal_eval(node.value.keywords[0].value))
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and _called(node) == "mbarrier.allocate_mbarrier"
        and node.value.keywords
    }
    for block in (b for function in functions for b in _blocks(function)):
        for number, statement in enumerate(block):
            call = _call(statement)
            if call is None:
                continue
            changes = [
                *_left_out(source, statement),
                *_weakened(source, call),
                *_slots(source, call, rings),
                *_moved(source, block[:number], statement),
            ]
            for kind, changed in changes:
                assert ast.dump(ast.parse(changed)) != ast.dump(source.tree), kind
                yield Mutant(kind, statement.lineno, " ".join(ast.unparse(call).split()), changed)


def arithmetic_mutants(text: str) -> Iterator[Mutant]:
    """Yield every mutant of an emitted kernel's arithmetic."""
    source, known = _Source(text), set[str]()
    for function in source.tree.body:
        if isinstance(function, ast.FunctionDef) and _is_kernel(function):
            for kind, node, new in changes(function):
                changed = source.replaced((node, new))
                if changed not in known | {text}:
                    known.add(changed)
                    yield Mutant(kind, node.lineno, f"{ast.unparse(node)} -> {new}", changed)


def _is_kernel(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(one) == "gluon.jit" for one in function.decorator_list)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.For | ast.If | ast.While):
            yield part.body


def _call(statement: ast.stmt) -> ast.Call | None:
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "warpgroup_mma_init":
        value = value.args[0]
    return value if isinstance(value, ast.Call) else None


def _called(statement: ast.stmt) -> str:
    call = _call(statement)
    return ast.unparse(call.func) if call else ""


_Changes = Iterator[tuple[str, str]]


def _left_out(source: _Source, statement: ast.stmt) -> _Changes:
    if (kind := LEFT_OUT.get(_called(statement))) is not None:
        yield kind, source.replaced((statement, "pass"))


def _weakened(source: _Source, call: ast.Call) -> _Changes:
    name = ast.unparse(call.func)
    given = {str(one.arg): one.value for one in call.keywords}
    if name == "mbarrier.init":
        count = int(ast.literal_eval(given["count"]))
        yield "count one more", source.replaced((given["count"], str(count + 1)))
        if count > 1:
            yield "count one less", source.replaced((given["count"], str(count - 1)))
    elif name == "mbarrier.wait":
        parity = call.args[1]
        yield "parity flipped", source.replaced((parity, f"1 - ({ast.unparse(parity)})"))
    elif name == "mbarrier.expect":
        size = int(ast.literal_eval(call.args[1]))
        yield "half the bytes", source.replaced((call.args[1], str(size // 2)))
    elif name in WAITS:
        left = next(iter(given.values()))
        more = int(ast.literal_eval(left)) + 1
        kind = "store" if name == "tma.store_wait" else "product"
        yield f"one {kind} more in flight", source.replaced((left, str(more)))
    elif "mbarriers" in given:
        barriers = given["mbarriers"]
        assert isinstance(barriers, ast.List)
        for left_out in barriers.elts:
            kept = [ast.unparse(one) for one in barriers.elts if one is not left_out]
            changed = source.replaced((barriers, f"[{', '.join(kept)}]"))
            yield "product without a barrier", changed


def _slots(source: _Source, call: ast.Call, rings: dict[str, int]) -> _Changes:
    """Shift the slot of a barrier where there are several."""
    if ast.unparse(call.func) not in WITH_SLOTS:
        return
    for node in ast.walk(call):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            ring = rings.get(ast.unparse(node.func.value), 1)
            if node.func.attr == "index" and ring > 1:
                slot = f"({ast.unparse(node.args[0])} + 1) % {ring}"
                yield "slot shifted", source.replaced((node.args[0], slot))


def _moved(source: _Source, before: list[ast.stmt], statement: ast.stmt) -> _Changes:
    """Move an arrive before the wait or the access in front of it."""
    if _called(statement) != "mbarrier.arrive":
        return
    for earlier in reversed(before):
        name = _called(earlier)
        memory = name.rpartition(".")[2] in ("load", "store") and not name.startswith("gl.")
        if name in WAITS or name in ACCESSES or memory:
            arrive, indent = ast.unparse(statement), " " * statement.col_offset
            first = f"{arrive}\n{indent}{ast.get_source_segment(''.join(source.lines), earlier)}"
            kind = "wait" if name in WAITS else "access"
            yield f"arrive before {kind}", source.replaced((earlier, first), (statement, "pass"))
            return


class Judge:
    """Executes mutants of a kernel, written to a folder.

    In one block at three trip counts and with victims; of `arithmetic` in all blocks, at the trip
    counts of the file's own tests.
    """

    def __init__(
        self, file: Path, folder: Path, seed: int = 0, *, arithmetic: bool = False
    ) -> None:
        self._arithmetic = arithmetic
        self.text = file.read_text(encoding="utf-8")
        self.capability = (10, 0) if "language.nvidia.blackwell" in self.text else (9, 0)
        self._folder, self._seed, self._written = folder, seed, 0
        self.expected: dict[int, Any] = {}
        self.late: dict[int, list[str]] = {}
        path = self._path(self.text)
        for count in self._counts(path):
            with stand_ins(seed=self._seed, capability=self.capability) as session:
                module = self._module(path)
                arguments, grid = module.make_arguments(count, 0)
                exact, alike = (module.reference(arguments, grid, one) for one in (True, False))
                self.expected[count] = {name: (exact[name], alike[name]) for name in exact}
                run = executed(module, Run(count, None), 0, self.expected[count])
            if not run.passed:
                raise InputError(f"does not pass as it is: {run}", file=str(file))
            self.late[count] = list(session.candidates)

    def _path(self, text: str) -> Path:
        """Return a new file: of one that is written anew Python may execute what was there."""
        self._written += 1
        path = self._folder / f"kernel{self._written}.py"
        path.write_text(text, encoding="utf-8")
        return path

    def _counts(self, path: Path) -> list[int]:
        """Return the least trip count, the next, and one that uses each slot more than twice."""
        if self._arithmetic:
            least, after, then, many = trip_counts(
                path, {"capability": self.capability, "real": False}
            )
            return [after, then, least, many]
        rings = [
            int(ast.literal_eval(node.value))
            for node in ast.walk(ast.parse(self.text))
            if isinstance(node, ast.keyword) and node.arg == "batch"
        ]
        with stand_ins(capability=self.capability):
            least = int(self._module(path).CONFIG.least_iterations)
        return [least, least + 1, max(4, least + 2, 2 * max(rings) + 1)]

    def _module(self, path: Path) -> Any:
        module: Any = kernel_file(path)
        if self._arithmetic:
            return module
        every = module.make_arguments
        module.make_arguments = lambda *given: (every(*given)[0], (1, 1, 1))
        return module

    def judge(self, mutant: Mutant) -> Verdict:
        """Return what the emulator says of a mutant."""
        path = self._path(mutant.text)
        counts = list(self.late)
        late = [(count, one) for count in reversed(counts) for one in self.late[count]]
        late = [] if self._arithmetic else late
        for count, victim in [*((count, None) for count in counts), *late]:
            try:
                with stand_ins(victim=victim, seed=self._seed, capability=self.capability):
                    run = executed(self._module(path), Run(count, victim), 0, self.expected[count])
            except Exception as error:
                if not self._arithmetic:
                    raise
                broken = FaultError(type(error).__name__, str(error))
                return Verdict(mutant, Run(count, victim, fault=broken))
            if not run.passed:
                return Verdict(mutant, run)
        return Verdict(mutant, None)


def judged(
    files: list[Path], *, arithmetic: bool, limit: int | None, seed: int, folder: Path
) -> list[tuple[str, Verdict]]:
    """Return what becomes of mutants of kernels, of so many of all of them drawn at random."""
    made = arithmetic_mutants if arithmetic else mutants
    every = [(f, m) for f in files for m in made(f.read_text(encoding="utf-8"))]
    if limit is not None and limit < len(every):
        chosen = sorted(random.Random(seed).sample(range(len(every)), limit))
        every = [every[number] for number in chosen]
    judges: dict[Path, Judge] = {}
    verdicts = []
    # As on the device, what is too large is infinite.
    with progress("mutants") as report, np.errstate(all="ignore"):
        for number, (file, mutant) in enumerate(every):
            report(f"{number + 1} of {len(every)}, {file.stem}, {mutant.kind}, line {mutant.line}")
            if file not in judges:
                judges[file] = Judge(file, folder, seed, arithmetic=arithmetic)
            verdicts.append((file.stem, judges[file].judge(mutant)))
    return verdicts


def main() -> None:
    """Judge the mutants of files and print them by kind."""
    parser = argparse.ArgumentParser(prog="python -m tests.emit.mutants", description=__doc__)
    parser.add_argument("kernels", type=Path, nargs="+")
    parser.add_argument("--arithmetic", action="store_true", help="changes of the arithmetic")
    parser.add_argument("--limit", type=int, help="so many of them, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn, and of the order")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = judged(
            given.kernels,
            arithmetic=given.arithmetic,
            limit=given.limit,
            seed=given.seed,
            folder=Path(folder),
        )
    rows = []
    for kernel, kind in sorted({(name, one.mutant.kind) for name, one in found}):
        of = [one for name, one in found if (name, one.mutant.kind) == (kernel, kind)]
        rows.append(_row(kernel, kind, of))
    heads = ("mutants", "caught", "with a victim")
    columns = [Column("kernel"), Column("change"), *(Column(head, form=str) for head in heads)]
    total = _row("all", "all", [one for _, one in found])
    Table([*columns, Column("by")], rows, [total]).print()
    for name, one in found:
        if one.run is None:
            say(f"survived: {name}, line {one.mutant.line}, {one.mutant.kind}: {one.mutant.was}")


def _row(kernel: str, kind: str, verdicts: list[Verdict]) -> list[object]:
    caught = [one for one in verdicts if one.run is not None]
    late = sum(one.run is not None and one.run.victim is not None for one in caught)
    by = Counter(one.said for one in caught)
    told = ", ".join(f"{name} {number}" for name, number in by.most_common())
    return [kernel, kind, len(verdicts), len(caught), late, told]


if __name__ == "__main__":
    main()

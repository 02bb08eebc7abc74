"""The pure modulo schedule as an integer linear program, solved by CBC through PuLP.

Binary variables place each operation in a row of the modular reservation table, an integer counts
its stage (the formulation of Govindarajan, Altman and Gao that Stoutchinin's ILP builds on).
Variables are indexed by time, so they serve coarse grids: the paper's normalized costs, and
cross-checks.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

from twill.base.console import end_with_parent, interruptible
from twill.base.errors import MissingLibraryError, SolverError
from twill.bounds import delays, longest, longest_paths
from twill.engines import Status
from twill.problem import Problem

Rows = dict[tuple[int, int], Any]


@dataclass(frozen=True)
class ModuloSchedule:
    """A modulo schedule without warps."""

    start: tuple[int, ...]  # by operation, within an iteration
    length: int


def modulo_schedule(
    problem: Problem, interval: int, *, nodes: int | None = None, shortest: bool = False
) -> tuple[Status, ModuloSchedule | None]:
    """Find a modulo schedule at a fixed interval.

    CBC chooses the rows; the stages are then the least that these rows allow, which makes the
    schedule as short as they allow.

    `nodes`: most nodes of CBC's search tree; ``unknown`` if they do not suffice.
    `shortest`: whether the rows shall be those of a schedule of least length.

    Raises
    ------
    SolverError
        If CBC fails.
    """
    paths = longest_paths(problem, interval)
    if paths is None:
        return "unsat", None
    model, rows, start = _program(problem, interval)
    if shortest:
        least = max(int(paths[:, o.index].max()) + o.cycles for o in problem.operations)
        length = model.add_variable("length", least, cat="Integer")
        for operation in problem.operations:
            model += start[operation.index] + operation.cycles <= length
        model.setObjective(1 * length)
    else:
        busiest = max(problem.operations, key=lambda o: o.cycles).index
        model += rows[busiest, 0] == 1
    status = _solve(model, nodes)
    return status, _read(problem, interval, rows) if status == "sat" else None


def _read(problem: Problem, interval: int, rows: Rows) -> ModuloSchedule:
    """Return CBC's schedule in its rows, as short as they allow."""
    row = [
        next(t for t in range(interval) if round(rows[o.index, t].value() or 0))
        for o in problem.operations
    ]
    start = _least_stages(problem, interval, row)
    return ModuloSchedule(tuple(start), max(start[o.index] + o.cycles for o in problem.operations))


def _program(problem: Problem, interval: int) -> tuple[Any, Rows, list[Any]]:
    """Return the program, its row variables and the issue times."""
    import pulp

    model = pulp.LpProblem("modulo", pulp.LpMinimize)
    size = len(problem.operations)
    most_stages = size + sum(delay for _, _, delay in delays(problem, 0)) // interval + 1
    rows: Rows = {
        (v, t): model.add_variable(f"row_{v}_{t}", cat="Binary")
        for v in range(size)
        for t in range(interval)
    }
    stage = [model.add_variable(f"stage_{v}", 0, most_stages, cat="Integer") for v in range(size)]
    start = [
        pulp.lpSum(t * rows[v, t] for t in range(interval)) + interval * stage[v]
        for v in range(size)
    ]
    for v in range(size):
        model += pulp.lpSum(rows[v, t] for t in range(interval)) == 1
    for u, v, weight in delays(problem, interval):
        if u != v:
            model += start[v] - start[u] >= weight
    for unit, capacity in problem.capacities.items():
        users = [(o.index, r) for o in problem.operations for r in o.reservations if r.unit == unit]
        if sum(r.count * -(-r.length // interval) for _, r in users) <= capacity:
            continue
        for slot in range(interval):
            running = (
                r.count * rows[v, (slot - r.start - cycle) % interval]
                for v, r in users
                for cycle in range(r.length)
            )
            model += pulp.lpSum(running) <= capacity
    return model, rows, start


def _least_stages(problem: Problem, interval: int, row: list[int]) -> list[int]:
    """Return issue times in the given rows with the least stages (longest paths)."""
    behind = [(u, v, weight + row[u] - row[v]) for u, v, weight in delays(problem, interval)]
    stages = longest(len(row), ((u, v, -(-time // interval)) for u, v, time in behind))
    assert stages is not None
    return [r + interval * k for r, k in zip(row, stages.max(axis=0).tolist(), strict=True)]


def cbc() -> Any:
    """Return CBC as PuLP starts it.

    Raises
    ------
    MissingLibraryError
        If PuLP has none for this platform.
    """
    import pulp

    found = pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False)
    if not found.available():
        raise MissingLibraryError("this PuLP comes without CBC; install it with: pip install pulp")
    return found


def _solve(model: Any, nodes: int | None = None) -> Status:
    """Run CBC as a process of its own that does not outlive an interruption."""
    import pulp

    solver = cbc()
    # Files without a name are gone with the last process that has them open.
    with tempfile.TemporaryFile() as program, tempfile.TemporaryFile() as solution:
        handles = program.fileno(), solution.fileno()
        problem, answer = (f"/dev/fd/{handle}" for handle in handles)
        variables, names, constraints, _ = model.writeMPS(problem, rename=1)
        limit = [] if nodes is None else ["-maxNodes", str(nodes)]
        command = [solver.path, problem, *limit, "-solve", "-solution", answer]
        process = subprocess.Popen(  # noqa: S603 - the path is PuLP's own bundled solver
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=handles,
            preexec_fn=end_with_parent,  # noqa: PLW1509 - one system call
        )
        try:
            interruptible(process.wait, process.kill)
        finally:
            process.kill()
            process.wait()
        if process.returncode or not os.fstat(handles[1]).st_size:
            raise SolverError(f"CBC ended with exit status {process.returncode}")
        status, values, *_, found = solver.readsol_MPS(answer, model, variables, names, constraints)
    # PuLP calls a search that a limit stopped "optimal" too; only the second status tells.
    if found == pulp.LpSolutionOptimal:
        model.assignVarsVals(values)
        return "sat"
    if status == pulp.LpStatusInfeasible:
        return "unsat"
    if nodes is not None:
        return "unknown"
    raise SolverError(f"CBC ended with status {pulp.LpStatus[status]}")

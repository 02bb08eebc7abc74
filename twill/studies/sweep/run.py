"""Running a sweep: points to an executor, rows to the journal, tables at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import twill
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.results import SCHEDULES, Swept, SweptRun
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import Sweep
from twill.console import Report, silent
from twill.errors import InputError, WorkerError
from twill.files import make_folder, read_bytes, write_whole
from twill.names import file_name
from twill.studies.sweep.evaluate import Row, code_digest, evaluate
from twill.studies.sweep.journal import NAME as JOURNAL
from twill.studies.sweep.journal import Journal
from twill.studies.sweep.points import Runnable, Task, axes, check_points, runnables, tasks

if TYPE_CHECKING:
    import pandas as pd

NAME = "sweep.json"
IN_FLIGHT = 256
"""Points given to an executor at once: enough for many workers, few enough to keep in memory."""


@dataclass(frozen=True)
class Progress:
    """Who is told how far a sweep is.

    Attributes
    ----------
    report : Report
        Told in words what is being done before the points.
    total : callable, optional
        Called once with the number of points and how many of them were finished before.
    advance : callable, optional
        Called after each point.
    """

    report: Report = silent
    total: Callable[[int, int], None] | None = None
    advance: Callable[[], None] | None = None

    def begin(self, count: int, before: int) -> None:
        """Tell how many points there are, and how many were finished before."""
        if self.total is not None:
            self.total(count, before)

    def point(self) -> None:
        """Tell that a point more is finished."""
        if self.advance is not None:
            self.advance()


def run_sweep(
    sweep: Sweep,
    folder: Path | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Run every point of a sweep that is not finished yet.

    `folder`: where ``sweep.json``, the schedules and the journal of finished points are kept, so
    that the sweep can be gone on with; nothing is kept without it.
    Returns: A row for each point, in their order, whoever ran them.

    Raises
    ------
    InputError
        If the sweep is not valid, or the folder cannot be written or holds another sweep.
    WorkerError
        If a worker process died; run the sweep again to go on.
    """
    from twill.studies.sweep.table import frame

    progress = progress or Progress()
    axes(sweep)
    if folder is None:
        every = tasks(sweep, runnables(sweep, progress.report))
        progress.begin(len(every), 0)
        rows = {}
        for row in _rows(every, executor):
            rows[row["point"]] = row
            progress.point()
        return frame(sweep, rows.values())
    swept, found = _prepared(sweep, folder, progress.report)
    every = tasks(sweep, found)
    with Journal(folder, swept.hash) as journal:
        check_points(journal.rows, every, str(journal.file))
        left = [task for task in every if task.index not in journal.rows]
        progress.begin(len(every), len(every) - len(left))
        for row in _rows(left, executor):
            journal.add(row)
            progress.point()
        return frame(sweep, journal.rows.values())


def _rows(every: Sequence[Task], executor: Executor | None) -> Iterator[Row]:
    if executor is None:
        yield from map(evaluate, every)
        return
    waiting = iter(every)
    pending: dict[Future[Row], Task] = {}
    _submit(executor, waiting, pending)
    try:
        while pending:
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                del pending[future]
                yield future.result()
            _submit(executor, waiting, pending)
    except BrokenExecutor:
        raise WorkerError(
            "a worker process died, perhaps for want of memory; finished points are kept: run the "
            "same command again to go on, with fewer --jobs if need be"
        ) from None
    except (CancelledError, OSError) as error:
        raise WorkerError(
            f"nobody runs the points any more ({type(error).__name__}); finished points are kept: "
            "run the same command again to go on"
        ) from None
    finally:
        for future in pending:
            future.cancel()


def _submit(executor: Executor, waiting: Iterator[Task], pending: dict[Future[Row], Task]) -> None:
    while len(pending) < IN_FLIGHT:
        task = next(waiting, None)
        if task is None:
            return
        pending[executor.submit(evaluate, task)] = task


# -- what a folder holds ------------------------------------------------------------------------


def _prepared(sweep: Sweep, folder: Path, report: Report) -> tuple[Swept, list[Runnable]]:
    """Return what is to be run: as found before, if the folder holds this sweep already."""
    file = folder / NAME
    if file.exists():
        before, found = load(folder)
        if before.sweep != sweep or before.code_hash != code_digest():
            raise InputError(
                "holds another sweep, or one by other code: name another folder or remove this one",
                file=str(file),
            )
        return before, found
    if (folder / JOURNAL).exists():
        raise InputError(
            f"a journal without its {NAME}: name another folder", file=str(folder / JOURNAL)
        )
    found = runnables(sweep, report)
    make_folder(folder / SCHEDULES)
    for one in found:
        if one.schedule:
            write_whole(folder / _file(one), one.schedule)
    swept = _swept(sweep, found)
    swept.save(file)
    return swept, found


def _swept(sweep: Sweep, found: Iterable[Runnable]) -> Swept:
    runs = tuple(
        SweptRun(
            item=one.item,
            loop=one.loop,
            machine=one.machine,
            variant=one.variant,
            note=one.note,
            file=_file(one) if one.schedule else None,
            loop_document=Loop.from_json(one.document) if one.document else None,
            machine_document=(
                Machine.from_json(one.machine_document) if one.machine_document else None
            ),
            hash=one.digest,
        )
        for one in found
    )
    made = Swept(twill_version=twill.__version__, code_hash=code_digest(), sweep=sweep, runs=runs)
    return made.seal()


def _file(one: Runnable) -> str:
    return f"{SCHEDULES}/{file_name(one.name)}.json"


def load(folder: Path) -> tuple[Swept, list[Runnable]]:
    """Return the sweep that a folder holds, and what it runs.

    `folder`: where a sweep was run, whether it is finished or not.

    Raises
    ------
    InputError
        If there is none, or a file is missing, not valid, or not what ran.
    """
    swept = Swept.load(folder / NAME)
    return swept, [_runnable(folder, run) for run in swept.runs]


def _runnable(folder: Path, run: SweptRun) -> Runnable:
    loop, machine = run.loop_document, run.machine_document
    one = Runnable(
        run.item,
        run.loop,
        run.machine,
        run.variant,
        document="" if loop is None else loop.to_json(),
        machine_document="" if machine is None else machine.to_json(),
        note=run.note,
    )
    file = folder / _file(one)
    if run.file is not None:
        text = Schedule.from_json(read_bytes(file, ordinary=True), file=str(file)).to_json()
        one = replace(one, schedule=text)
    if one.digest != run.hash:
        raise InputError("is not what the sweep ran", file=str(file))
    return one

"""Points of a sweep go to an executor, and rows to the journal of its folder."""

from __future__ import annotations

from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

import twill
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import SCHEDULES, Sweep, Swept, SweptRun
from twill.base.console import Counter, Report
from twill.base.errors import InputError
from twill.base.executors import completed
from twill.base.files import inside, make_folder, read_bytes, write_whole
from twill.base.names import file_name
from twill.studies.sweep.journal import NAME as JOURNAL
from twill.studies.sweep.journal import Journal
from twill.studies.sweep.points import (
    Runnable,
    axes,
    check_points,
    code_digest,
    evaluate,
    runnables,
    tasks,
)

if TYPE_CHECKING:
    import pandas as pd

NAME = "sweep.json"
# Points given to an executor at once: enough for many workers, few enough to keep in memory.
IN_FLIGHT = 256


def run_sweep(
    sweep: Sweep,
    folder: Path | None = None,
    executor: Executor | None = None,
    counter: Counter | None = None,
) -> pd.DataFrame:
    """Run every point of a sweep that is not finished yet.

    `counter`: counts the points, and each that is finished.
    `folder`: where ``sweep.json``, the schedules and the journal of finished points are kept, so
    that the sweep can be gone on with; nothing is kept without it.
    Returns: A row for each point, in their order, with any executor.

    Raises
    ------
    InputError
        If the sweep is not valid, or the folder cannot be written or holds another sweep.
    WorkerError
        If worker processes died again and again; run the sweep again to go on.
    """
    from twill.studies.sweep.table import frame

    counter = counter or Counter()
    axes(sweep)
    if folder is None:
        every = tasks(sweep, runnables(sweep, counter.report))
        counter.begin(len(every))
        rows = []
        for row in completed(evaluate, every, executor, IN_FLIGHT):
            rows.append(row)
            counter.advance()
        return frame(sweep, rows)
    swept, found = _prepared(sweep, folder, counter.report)
    every = tasks(sweep, found)
    with Journal(folder, swept.hash) as journal:
        check_points(journal.rows, every, str(journal.file))
        left = [task for task in every if task.index not in journal.rows]
        counter.begin(len(every), len(every) - len(left))
        for row in completed(evaluate, left, executor, IN_FLIGHT):
            journal.add(row)
            counter.advance()
        return frame(sweep, journal.rows.values())


# -- what a folder holds ------------------------------------------------------------------------


def _prepared(sweep: Sweep, folder: Path, report: Report) -> tuple[Swept, list[Runnable]]:
    """Return what is to be run: as found before, if the folder holds this sweep already."""
    file = inside(folder, NAME)
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
        if one.run.file is not None:
            write_whole(inside(folder, *Path(one.run.file).parts), one.schedule)
    swept = Swept(
        twill_version=twill.__version__,
        code_hash=code_digest(),
        sweep=sweep,
        runs=tuple(one.run for one in found),
    ).seal()
    swept.save(file)
    return swept, found


def load(folder: Path) -> tuple[Swept, list[Runnable]]:
    """Return the sweep that a folder holds, and what it runs.

    `folder`: where a sweep was run, whether it is finished or not.

    Raises
    ------
    InputError
        If there is none, or a file is missing, not valid, or not what ran.
    """
    swept = Swept.load(inside(folder, NAME))
    return swept, [_runnable(folder, run) for run in swept.runs]


def _runnable(folder: Path, run: SweptRun) -> Runnable:
    one = Runnable(run)
    file = inside(folder, SCHEDULES, f"{file_name(one.name)}.json")
    if run.file is not None:
        text = Schedule.from_json(read_bytes(file, ordinary=True), file=str(file)).to_json()
        one = Runnable(run, text)
    if one.digest != run.hash:
        raise InputError("is not what the sweep ran", file=str(file))
    return one

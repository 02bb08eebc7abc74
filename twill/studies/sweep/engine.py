"""Running a sweep: points to an executor, rows to the journal, tables at the end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import twill
from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import Sweep
from twill.console import Report, silent
from twill.errors import InputError, WorkerError
from twill.files import make_folder, write_whole
from twill.names import file_name
from twill.studies.sweep.evaluate import Row, code_digest, evaluate
from twill.studies.sweep.journal import Journal
from twill.studies.sweep.points import Runnable, Task, axes, runnables, tasks

if TYPE_CHECKING:
    import pandas as pd

NAME = "sweep.json"
SCHEDULES = "schedules"
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
        """Tell how many points there are, and how many were finished before.

        Parameters
        ----------
        count, before : int
            Points.
        """
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

    Parameters
    ----------
    sweep : Sweep
        What to run.
    folder : path, optional
        Where ``sweep.json``, the schedules and the journal of finished points are kept, so that
        the sweep can be gone on with; nothing is kept without it.
    executor : concurrent.futures.Executor, optional
        Who runs the points; this process without it.
    progress : Progress, optional
        Told how far it is.

    Returns
    -------
    pandas.DataFrame
        A row for each point, in their order, whoever ran them.

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
    found = _prepared(sweep, folder, progress.report)
    every = tasks(sweep, found)
    with Journal(folder, _hash(_described(sweep, found))) as journal:
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


def _prepared(sweep: Sweep, folder: Path, report: Report) -> list[Runnable]:
    """Return what is to be run: as found before, if the folder holds this sweep already."""
    file = folder / NAME
    if file.exists():
        before, found = load(folder)
        if before != sweep or _document(file).get("code_hash") != code_digest():
            raise InputError(
                "holds another sweep, or one by other code: name another folder or remove this one",
                file=str(file),
            )
        return found
    found = runnables(sweep, report)
    make_folder(folder / SCHEDULES)
    for one in found:
        if one.schedule:
            write_whole(folder / _file(one), one.schedule)
    write_whole(file, json.dumps(_described(sweep, found), indent=1, ensure_ascii=False) + "\n")
    return found


def _described(sweep: Sweep, found: Iterable[Runnable]) -> dict[str, Any]:
    return {
        "schema": "twill.swept",
        "schema_version": 1,
        "twill_version": twill.__version__,
        "code_hash": code_digest(),
        "sweep": sweep.model_dump(mode="json", by_alias=True, exclude_none=True),
        "runs": [
            {
                **{key: getattr(one, key) for key in ("item", "loop", "machine", "variant")},
                "note": one.note,
                "file": _file(one) if one.schedule else None,
                "loop_document": json.loads(one.document) if one.document else None,
                "machine_document": (
                    json.loads(one.machine_document) if one.machine_document else None
                ),
                "hash": one.digest,
            }
            for one in found
        ],
    }


def _file(one: Runnable) -> str:
    return f"{SCHEDULES}/{file_name(one.name)}.json"


def _hash(described: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _document(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", file=str(file)) from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}", file=str(file)) from None
    if not isinstance(found, dict) or found.get("schema") != "twill.swept":
        raise InputError("not the description of a sweep that ran", file=str(file))
    return found


def load(folder: Path) -> tuple[Sweep, list[Runnable]]:
    """Return the sweep that a folder holds, and what it runs.

    Parameters
    ----------
    folder : path
        Where a sweep was run, whether it is finished or not.

    Raises
    ------
    InputError
        If there is none, or a schedule is missing or not the one that ran.
    """
    file = folder / NAME
    document = _document(file)
    try:
        sweep = Sweep.from_json(json.dumps(document["sweep"]), file=str(file))
        found = [_runnable(folder, entry) for entry in document["runs"]]
    except (KeyError, TypeError) as error:
        raise InputError(f"not the description of a sweep: {error}", file=str(file)) from None
    return sweep, found


def _runnable(folder: Path, entry: dict[str, Any]) -> Runnable:
    from twill.artifacts.loop import Loop
    from twill.artifacts.machine import Machine

    schedule = loop = machine = ""
    if entry["file"]:
        schedule = Schedule.load(folder / entry["file"]).to_json()
    if entry["loop_document"]:
        loop = Loop.from_json(json.dumps(entry["loop_document"])).to_json()
        machine = Machine.from_json(json.dumps(entry["machine_document"])).to_json()
    one = Runnable(
        entry["item"],
        entry["loop"],
        entry["machine"],
        entry["variant"],
        schedule=schedule,
        document=loop,
        machine_document=machine,
        note=entry["note"],
    )
    if one.digest != entry["hash"]:
        raise InputError("is not what the sweep ran", file=str(folder / str(entry["file"])))
    return one

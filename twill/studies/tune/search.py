"""Candidates are solved in the order of their bounds, until no bound is low enough, and ranked."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from twill.artifacts.schedule import Schedule
from twill.artifacts.sweep import SCHEDULES, KeptSchedule, Tuned, TunedLine, TunedRow, text_hash
from twill.base.console import Counter
from twill.base.errors import InputError
from twill.base.executors import completed
from twill.base.files import inside, make_folder, write_whole
from twill.base.formats import count, cycles, signed_percent, tenths, teraflops
from twill.base.tables import Column, Table
from twill.frontends import load_loop
from twill.sim.analysis import clock_of
from twill.studies.sweep.journal import Journal
from twill.studies.sweep.points import code_digest
from twill.studies.tune.candidates import Candidate, Choices, of_kernel, of_loop
from twill.studies.tune.evaluate import Question, Task, bounded, evaluated

NAME, TABLE = "tuned.json", "table.md"


def candidates(question: Question, choices: Choices, loop: str | None = None) -> list[Candidate]:
    """Return what the subject of a question can become.

    `loop`: which loop of a file or kernel that has several.

    Raises
    ------
    InputError, RefusedError, MissingLibraryError
        If there is no such loop or kernel, it cannot be read, a choice is none that it has, or no
        candidate has a loop.
    """
    found = _candidates(question, choices, loop)
    if all(one.loop is None for one in found):
        raise InputError(found[0].refusal)
    return found


def _candidates(question: Question, choices: Choices, loop: str | None) -> list[Candidate]:
    machine, subject = question.machine, question.subject
    if subject.endswith(".py"):
        raise InputError("the kernel must follow the file, as in file.py:kernel", file=subject)
    if not subject.rpartition(":")[0].endswith(".py"):
        return of_loop(load_loop(subject, loop=loop), machine, choices)
    from twill.frontends.triton_dump import dump_kernel, unset_constants
    from twill.frontends.ttgir import extract

    family, _, architecture = machine.architecture.partition("_")
    if family != "sm" or not architecture.isdecimal():
        raise InputError(f"no machine that Triton compiles for (got {machine.name})", path="-m")

    def dumped(settings: Mapping[str, str], warps: int) -> Any:
        text = dump_kernel(subject, settings, int(architecture), warps)
        return extract(text, file=subject, name=subject.rpartition(":")[2], loop=loop)

    unset = unset_constants(subject, choices.constants(), int(architecture))
    return of_kernel(dumped, unset, machine, choices)


def tune(
    question: Question,
    every: Sequence[Candidate],
    folder: Path | None = None,
    executor: Executor | None = None,
    counter: Counter | None = None,
    *,
    at_a_time: int = 1,
) -> tuple[Tuned, dict[int, Schedule]]:
    """Find the candidate whose whole kernel is fastest.

    Candidates are solved in the order of their bounds, as long as these are near the best time. The
    candidates solved, and every byte of the answer, are the same with any executor.

    `folder`: where schedules and finished candidates are kept, so that one can go on with it.
    `at_a_time`: candidates given to the executor at once.
    Returns: what was found, though nothing may have run, and the schedules by candidate.

    Raises
    ------
    InputError
        If the folder cannot be written or holds something else, or sizes are none that the loop
        has.
    WorkerError
        If worker processes died again and again; tune again to go on.
    """
    counter = counter or Counter()
    counter.report("bounding")
    found = _Found(question, every)
    with contextlib.ExitStack() as stack:
        if folder is not None:
            make_folder(folder / SCHEDULES)
            journal = stack.enter_context(Journal(folder, found.digest, TunedLine))
            found.keep(folder, journal)
        waiting = len(found.waiting)
        counter.begin(waiting + len(found.solved), len(found.solved))
        for row, text in completed(evaluated, found.tasks(), executor, at_a_time):
            found.add(row, text)
            counter.advance()
            counter.report(found.words)
    return found.tuned(), found.schedules


def _by_bound(row: TunedRow) -> tuple[float, int]:
    return row.bound_microseconds or 0.0, row.point


def _by_time(row: TunedRow) -> tuple[float, float, int]:
    return row.microseconds or 0.0, *_by_bound(row)


class _Found:
    """Rows as they come."""

    def __init__(self, question: Question, every: Sequence[Candidate]) -> None:
        self._question, self._every = question, every
        loops = [one.loop for one in every if one.loop is not None]
        problems = question.problems(loops[0]) if loops else ()
        self._problems = tuple(problem.sizes for problem in problems)
        self.rows = {one.point: bounded(question, one) for one in every}
        # Of candidates that were solved, or were tried in vain.
        self.solved: dict[int, TunedRow] = {}
        self.schedules: dict[int, Schedule] = {}
        self._folder: Path | None = None
        self._journal: Journal | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of all that rows follow from."""
        question = {**vars(self._question), "machine": self._question.machine.digest}
        loops = ["" if one.loop is None else one.loop.to_json() for one in self._every]
        told = [row.model_dump() for row in self.rows.values()]
        limits = [one.limits for one in self._every]
        return text_hash(json.dumps([code_digest(), question, loops, limits, told]))

    @property
    def waiting(self) -> list[int]:
        """Candidates that may be solved, those of the lowest bound first."""
        left = [row for row in self.rows.values() if row.status == "waiting"]
        return [row.point for row in sorted(left, key=_by_bound)]

    @property
    def words(self) -> str:
        """The best candidate by now."""
        ran = [row for row in self.solved.values() if row.status == "ran"]
        if not ran:
            return "none runs yet"
        best = min(ran, key=_by_time)
        return f"best so far {candidate_text(best)}: {tenths(best.microseconds or 0.0)} us"

    def keep(self, folder: Path, journal: Journal) -> None:
        """Go on with what a folder holds, and keep there what comes."""
        self._folder, self._journal = folder, journal
        for point, data in journal.rows.items():
            row = TunedRow.model_validate_json(json.dumps(data))
            before = self.rows.get(point)
            if before is None or (before.values, before.tile) != (row.values, row.tile):
                raise InputError(f"a row of another candidate {point}", file=str(journal.file))
            if row.file is not None and row.schedule_hash is not None:
                kept = KeptSchedule(file=row.file, hash=row.schedule_hash)
                self.schedules[point] = kept.read(folder)
            self.solved[point] = row
        self._write()

    def tasks(self) -> Iterator[Task]:
        """Yield what is to be solved, until no bound is low enough."""
        for point in self.waiting:
            row = self.rows[point]
            if not self._near(row):
                return
            if point not in self.solved:
                yield Task(self._question, self._every[point], row)

    def _near(self, row: TunedRow) -> bool:
        """Whether a candidate's bound is near the best time by now.

        No time of one that comes later in the order of bounds can be below it.
        """
        solved = self.solved.values()
        times = [one.microseconds for one in solved if one.microseconds is not None]
        assert row.bound_microseconds is not None
        return not times or row.bound_microseconds <= min(times) * (1 + self._question.within)

    def add(self, row: TunedRow, text: str) -> None:
        """Take what came of a candidate; a schedule is on the disk before its row is."""
        if text:
            self.schedules[row.point] = Schedule.from_json(text)
        if self._folder is not None and self._journal is not None:
            if text:
                row = row.model_copy(update={"file": f"{SCHEDULES}/{row.point:03}_{row.tile}.json"})
                write_whole(inside(self._folder, *Path(str(row.file)).parts), text)
            self._journal.add(row.model_dump(mode="json"))
        self.solved[row.point] = row
        self._write()

    def _write(self) -> None:
        if self._folder is not None:
            tuned = self.tuned()
            write_whole(inside(self._folder, NAME), tuned.to_json())
            write_whole(inside(self._folder, TABLE), tuned_table(tuned).markdown())

    def tuned(self) -> Tuned:
        """Return what is known, as if one candidate had been solved after the other.

        Candidates that several workers solved beyond that are left out.
        """
        rows = dict(self.rows)
        for point in self.waiting:
            if not self._near(rows[point]):
                rows[point] = rows[point].model_copy(update={"status": "bounded"})
            elif point in self.solved:
                rows[point] = self.solved[point]
        ranked = sorted((row for row in rows.values() if row.status == "ran"), key=_by_time)
        ordered = [row.model_copy(update={"rank": i}) for i, row in enumerate(ranked, start=1)]
        for status in ("waiting", "bounded"):
            ordered += sorted((r for r in rows.values() if r.status == status), key=_by_bound)
        ordered += [row for row in rows.values() if row.status == "refused"]
        question = self._question
        return Tuned(
            subject=question.subject,
            machine=question.machine.name,
            effort=question.effort,
            problems=self._problems,
            within=question.within,
            persistent=question.persistent,
            clock_mhz=clock_of(question.machine, question.clock)[0],
            rows=tuple(ordered),
        )


SUBTILES = "sub-tiles"
SHOWN = ("tile", SUBTILES)  # values in columns of their own


def candidate_text(row: TunedRow) -> str:
    """Return what a candidate is: ``128x176, sub-tiles 2``."""
    return ", ".join(filter(None, [row.tile, _values(row, ("tile",))]))


def _values(row: TunedRow, but: Collection[str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.values.items() if name not in but)


def tuned_table(tuned: Tuned) -> Table:
    """Return every candidate, the fastest first, each with its bound or why there is none."""
    best = tuned.rows[0].microseconds
    columns: dict[Column, Callable[[TunedRow], object]] = {
        Column("rank", form=count): lambda row: row.rank,
        Column("tile"): lambda row: row.tile,
        Column(SUBTILES, form=count): lambda row: row.values.get(SUBTILES),
        Column("with"): lambda row: _values(row, SHOWN),
        Column("interval", "cycles", cycles): lambda row: row.interval_cycles,
        Column("time", "us", tenths): lambda row: row.microseconds,
        Column("bound", "us", tenths): lambda row: row.bound_microseconds,
        Column("over best", form=signed_percent): lambda row: _over(row, best),
        Column("TFLOP/s", form=teraflops): lambda row: row.tflops,
        Column("why not"): _why,
    }
    if not any(_values(row, SHOWN) for row in tuned.rows):
        del columns[Column("with")]
    rows = [[cell(row) for cell in columns.values()] for row in tuned.rows]
    return Table([*columns], rows, notes=[_question(tuned)])


def _over(row: TunedRow, best: float | None) -> float | None:
    """Return by what part a candidate is above the best, at least if it was not simulated."""
    least = row.bound_microseconds if row.microseconds is None else row.microseconds
    return None if best is None or least is None else least / best - 1


def _why(row: TunedRow) -> str:
    bounded = f"bounded: {row.bound_reason}"
    said = {"ran": "", "waiting": "waiting", "bounded": bounded, "refused": row.reason}
    return said[row.status]


def _question(tuned: Tuned) -> str:
    sizes = "; ".join(
        ", ".join(f"{name} {size}" for name, size in problem.items()) for problem in tuned.problems
    )
    how = "persistent blocks" if tuned.persistent else "a block for each tile"
    return (
        f"whole kernels of {tuned.subject} on {tuned.machine} for {sizes}; {how}, at "
        f"{tuned.clock_mhz:g} MHz; effort {tuned.effort}; bounded, and not solved, is what cannot "
        f"come within {tuned.within:.0%} of the best: it is over that by its bound at least"
    )

"""Proved answers on disk, by a hash of everything that they follow from, and verified when used."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from twill.artifacts.proof import Level
from twill.artifacts.schedule import Schedule
from twill.base.console import warn
from twill.base.errors import InputError, TwillError
from twill.base.files import SIZE_LIMIT_BYTES, cache_folder, inside, write_whole
from twill.search.request import LEVELS, Request, versions
from twill.verification import verify

MOST_FILES = 256
MARK = "twill-answer-1"


def request_key(request: Request) -> str:
    """Return the hash of a request, and of the code and the solvers that answer it."""
    text = json.dumps([request.text, code_hash(), versions()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def proved(schedule: Schedule, until: Level = LEVELS[-1]) -> bool:
    """Return whether every level of a schedule was proved, down to one."""
    proof = schedule.proof
    asked = LEVELS[: LEVELS.index(until) + 1]
    return (
        proof is not None
        and proof.bound.reason != "not proved"
        and all(level.proved for level in proof.levels if level.level in asked)
    )


def doubt(request: Request, schedule: Schedule) -> str:
    """Return why a schedule is no proved answer to a request; empty if it is one.

    Which intervals were refuted is taken on trust; all that follows from the schedule is not.
    """
    proof = schedule.proof
    # With limited effort or work it is the same answer every time, whether proved or not.
    decided: Level = request.until if request.effort is None else "stages"
    if proof is None or (request.work is None and not proved(schedule, decided)):
        return "it is not proved"
    scale = request.scale()
    agrees = {
        "name": schedule.name == request.loop.name,
        "loop": schedule.loop == request.loop,
        "machine": schedule.machine == request.machine,
        "rules": schedule.rules == request.rules,
        "unit of time": schedule.time == scale,
        "limits": proof.limits == request.limits,
        "pins": proof.pins == request.pins,
        "orders": proof.orders == request.orders,
        "seed": schedule.seed == request.seed,
        "solver": schedule.solver == versions(request.engine, scale),
    }
    for what, same in agrees.items():
        if not same:
            return f"it has another {what} than was asked for"
    if not schedule.programs:
        return "it has no programs"
    return next((str(violation) for violation in verify(schedule).violations), "")


class Cache:
    """Schedules by key, a file each; the least recently used ones go first.

    Processes may share a folder: a file is replaced as a whole. A file that was changed, or that
    does not answer the question, is ignored with a warning on stderr. A schedule that cannot be
    written is not kept.
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, most: int = MOST_FILES
    ) -> None:
        self.folder = cache_folder() if folder is None else Path(folder)
        self.most = most

    def get(self, key: str, doubts: Callable[[Schedule], str] = lambda _: "") -> Schedule | None:
        """Return the schedule kept under a key, None if there is none that can be relied on.

        `doubts`: says why a schedule does not answer the question; empty if it does.
        """
        file = self.folder / _name(key)
        try:
            if inside(self.folder, file.name).stat().st_size > SIZE_LIMIT_BYTES:
                return None
            schedule = _read(key, file.read_bytes())
            os.utime(file)
            why = doubts(schedule)
        except OSError:
            return None
        except TwillError as error:
            why = str(error)
        if why:
            warn(f"{file}: the kept answer is not used: {why}")
            return None
        return schedule

    def put(self, key: str, schedule: Schedule) -> None:
        """Keep a schedule."""
        text = schedule.to_json()
        with contextlib.suppress(OSError, TwillError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(inside(self.folder, _name(key)), f"{_head(key, text)}\n{text}")
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        files = sorted(self.folder.glob("*.answer"), key=_used)
        for file in files[: max(0, len(files) - self.most)]:
            file.unlink(missing_ok=True)


def _name(key: str) -> str:
    return f"{key}.answer"


def _used(file: Path) -> float:
    """Return when a file was used last; one that another process has just removed is oldest."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _read(key: str, data: bytes) -> Schedule:
    """Return the schedule of a file; refuse a file that was changed since."""
    head, _, text = data.decode("utf-8", "replace").partition("\n")
    if head != _head(key, text):
        raise InputError("it was changed")
    schedule = Schedule.from_json(text)
    if schedule.to_json() != text:
        raise InputError("it was changed")
    return schedule


def _head(key: str, text: str) -> str:
    return f"{MARK} {key} {hashlib.sha256(text.encode()).hexdigest()}"


@functools.cache
def code_hash(room: str = "") -> str:
    """Return a hash of the package's own code: an answer of other code is none.

    `room`: A folder of the package that is linked into it, ``sim``; all others without it.
    """
    digest = hashlib.sha256()
    root = Path(__file__).parents[1] / room
    for file in sorted(root.rglob("*.py")):
        digest.update(f"{file.relative_to(root)}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()

"""Errors that users meet.

Every error is one line and names the file, the path inside it and the offending value where there
are such. The command line turns `TwillError` into exit status 2; a proper "no" (infeasible,
refused, not achieved) ends in 1, and a defect of the package itself in 3.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from typing import Any, Self

from twill.base.names import MOST_LABEL, elided, one_line


class TwillError(Exception):
    """Anything that stops a command, with the exit status it ends in."""

    exit_status = 2


@dataclass(frozen=True)
class Refusal:
    """The subject of a refusal, as far as data can state it."""

    families: tuple[str, ...] = ()  # of constraints that are in the way
    # At this interval, in the problem's units of time, and within so many stages.
    interval: int | None = None
    stages: int | None = None
    # The operation or value that asks for too much, what it needs and what there is, in `unit`.
    value: str | None = None
    needed: float | None = None
    limit: float | None = None
    unit: str | None = None
    # Where time was over: no schedule has a smaller interval; the limit that was reached.
    least_interval: int | None = None
    seconds: float | None = None


class RefusedError(TwillError):
    """A proper no: the request was understood and cannot be met.

    Parameters
    ----------
    message : str
        Why.
    about : Refusal, optional
        The same as data.
    """

    exit_status = 1

    def __init__(self, message: str, about: Refusal | None = None) -> None:
        super().__init__(message)
        self.about = about or Refusal()

    @property
    def data(self) -> dict[str, Any]:
        """The message and what is known of its cause, as plain data."""
        known = {key: value for key, value in asdict(self.about).items() if value is not None}
        return {"message": str(self), **known, "families": list(self.about.families)}


class InputError(TwillError):
    """Input that cannot be used.

    Parameters
    ----------
    message : str
        The fault, with the offending value.
    path : str, optional
        Where inside the input, for example ``operations[3].kind``.
    file : str, optional
        The file or packaged name that was read.
    """

    def __init__(self, message: str, *, path: str = "", file: str = "") -> None:
        self.message = one_line(message)
        self.path = elided(one_line(path), MOST_LABEL)
        self.file = elided(one_line(file), MOST_LABEL)
        super().__init__(": ".join(part for part in (self.file, self.path, self.message) if part))

    def within(self, file: str) -> InputError:
        """Return the same error with the file named, unless it already names one."""
        return InputError(self.message, path=self.path, file=self.file or file)


EXTRA = "pip install '.[{}]' in a clone of Twill"  # which no package index has


class MissingLibraryError(TwillError):
    """A solver or an optional package that is not installed, with what to install."""

    @classmethod
    def of_extra(cls, library: str, extra: str) -> Self:
        """Return the error that a library of an extra is not installed."""
        return cls(f"{library} is not installed; install it with: {EXTRA.format(extra)}")


class SolverError(TwillError):
    """A solver stopped without an answer for a reason that is not a limit of time."""


class DefectError(TwillError):
    """The package contradicts itself; nothing is wrong with the input.

    `report`: a file with what reproduces it, empty if none could be written.
    """

    exit_status = 3

    def __init__(self, message: str, report: str = "") -> None:
        super().__init__(message, report)
        self.report = report

    def __str__(self) -> str:
        where = f"; {self.report} says how to reproduce it" if self.report else ""
        return f"{one_line(self.args[0])}{where}"


class WorkerError(TwillError):
    """A process that worked for this one died."""


def short(value: object, limit: int = 60) -> str:
    """Return `value` as it would be typed, cut to `limit` characters."""
    if isinstance(value, str | bytes | list | tuple):
        value = value[: 4 * limit]
    elif isinstance(value, dict):
        value = dict(itertools.islice(value.items(), limit))
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        text = f"a {type(value).__name__} too long to write"
    return text if len(text) <= limit else text[: limit - 3] + "..."

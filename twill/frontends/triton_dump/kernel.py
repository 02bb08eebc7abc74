"""Dump a kernel of a user's own file, from settings as a command line gives them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from twill.errors import InputError, TwillError
from twill.files import keep_input
from twill.frontends.triton_dump.lower import DEFAULT_WARPS, check_target, dump, import_triton
from twill.frontends.triton_dump.settings import arguments_of

LONGEST_REASON = 300


def dump_kernel(
    where: str, settings: Mapping[str, str], architecture: int, num_warps: int = DEFAULT_WARPS
) -> str:
    """Compile a kernel of a Python file to TTGIR and return it in generic form.

    `where`: ``FILE.py:KERNEL``. The file is imported, so that what it does when imported happens.
    `settings`: for a ``tl.constexpr`` parameter its value as a Python literal (or a type such as
    ``tl.float16``), for another one its Triton type: ``tensordesc<fp16[128,64]>``, ``*fp16`` (taken
    to be aligned to 16 bytes), ``i32``, ``i32:16`` (16 divides it), ``fp32``. A ``tl.constexpr``
    with a default may be left out.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If there is no such kernel, a setting is missing, unknown or wrong, or Triton refuses it.
    """
    check_target(architecture, num_warps)
    triton = import_triton()
    if triton.knobs.runtime.interpret:
        raise InputError("TRITON_INTERPRET is set, so that kernels are interpreted, not compiled")
    file, _, name = where.rpartition(":")
    if not file.endswith(".py") or not name:
        raise InputError("not a kernel; name one as FILE.py:KERNEL", file=where)
    kernel = _kernel(_imported(file), name, file)
    signature, constants = arguments_of(
        kernel, settings, example=f"twill loop dump {where} --sm {architecture}", file=where
    )
    try:
        return dump(
            kernel,
            signature=signature,
            constants=constants,
            architecture=architecture,
            num_warps=num_warps,
        )
    except TwillError:
        raise
    except Exception as error:
        line, reason = _refusal(error, kernel)
        raise InputError(f"Triton refuses it: {reason}", file=f"{file}:{line}") from None


def _imported(file: str) -> ModuleType:
    path = Path(file).resolve()
    if not path.is_file():
        raise InputError("no such file", file=file)
    keep_input(path.stat())
    specification = importlib.util.spec_from_file_location(f"{path.stem}_to_dump", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    search_path = list(sys.path)
    sys.path.insert(0, str(path.parent))
    sys.modules[module.__name__] = module
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(f"cannot be imported: {_one_line(error)}", file=file) from None
    finally:
        sys.path[:] = search_path
        del sys.modules[module.__name__]
    return module


def _kernel(module: ModuleType, name: str, file: str) -> Any:
    found = getattr(module, name, None)
    kernel = _decorated(found)
    if kernel is None:
        own = [
            other
            for other, value in vars(module).items()
            if (candidate := _decorated(value)) and candidate.fn.__module__ == module.__name__
        ]
        problem = "not decorated with triton.jit" if callable(found) else "there is no such kernel"
        kernels = f"kernels are {', '.join(own)}" if own else "no function of the file is"
        raise InputError(f"{problem}; {kernels}", path=name, file=file)
    if kernel.is_gluon():
        raise InputError("a Gluon kernel, which fixes its own pipeline", path=name, file=file)
    return kernel


def _decorated(value: Any) -> Any:
    """Return the kernel behind ``triton.jit``, below autotuning and heuristics, or None."""
    runtime = importlib.import_module("triton.runtime")
    wrappers = (runtime.Autotuner, runtime.Heuristics)
    while isinstance(value, wrappers):
        value = value.fn
    return value if isinstance(value, runtime.JITFunction) else None


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
        return line, _shortened(cause.error_message or type(cause).__name__)
    return line, _one_line(cause)


def _one_line(error: BaseException) -> str:
    name = type(error).__name__
    return _shortened(f"{name}: {error}" if str(error) else name)


def _shortened(text: str) -> str:
    return textwrap.shorten(text, LONGEST_REASON, placeholder="...")

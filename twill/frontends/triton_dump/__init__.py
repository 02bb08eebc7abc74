"""Dump a Triton kernel's TTGIR where a scheduler wants it: tiled, placed, not yet pipelined.

Needs Triton (the extra ``[triton]``), neither a GPU nor torch. The dump is MLIR's generic form,
with what only Triton can tell as attributes of the operations: ``sched.name`` (the variable that an
operation computes, of a loop its induction variable), ``sched.location`` (file:line:column in the
kernel), ``sched.trivial`` on layout conversions (a mere renaming of registers), and
``sched.stage`` and ``sched.cluster`` on the operations of loops that Triton's own pipeliner would
pipeline, with ``sched.slots`` of the rings of their loads, and ``sched.wait_stage`` and
``sched.wait_before`` (the number of a statement of the loop) where a load or product is awaited.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from twill.errors import InputError, short
from twill.files import keep_input
from twill.frontends.triton_dump.lower import (
    DEFAULT_WARPS,
    check_target,
    dump,
    dump_compiled,
    import_triton,
)
from twill.names import elided

__all__ = ["dump_compiled", "dump_kernel", "unset_constants"]

LONGEST_REASON = 300
NUMBERS = (
    *("fp8e4nv", "fp8e5", "fp8e4b15", "fp16", "bf16", "fp32", "fp64"),
    *("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64"),
)
_NUMBER = f"(?:{'|'.join(NUMBERS)})"
_TYPE = re.compile(
    rf"\*k?{_NUMBER}|{_NUMBER}|[iu](?:8|16|32|64):16|tensordesc<{_NUMBER}\[\d+(?:,\d+)*\]>"
)
_LANGUAGE = "tl."
CONSTANT = "constexpr"


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
    kernel, file = _found(where)
    example = f"twill loop dump {where} --sm {architecture}"
    signature, constants = arguments_of(kernel, settings, example=example, file=where)
    try:
        return dump(kernel, signature, constants, architecture, num_warps)
    except Exception as error:
        line, reason = _refusal(error, kernel)
        raise InputError(f"Triton refuses it: {reason}", file=f"{file}:{line}") from None


def unset_constants(where: str, settings: Mapping[str, str]) -> list[str]:
    """Return the ``tl.constexpr`` parameters of a kernel that have no value, in their order.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If there is no such kernel.
    """
    kernel, _ = _found(where)
    unset = [p for p in kernel.params if p.name not in settings and not _may_be_left_out(p)]
    return [parameter.name for parameter in unset if parameter.is_constexpr]


def _found(where: str) -> tuple[Any, str]:
    """Return a kernel and its file."""
    triton = import_triton()
    if triton.knobs.runtime.interpret:
        raise InputError("TRITON_INTERPRET is set, so that kernels are interpreted, not compiled")
    file, _, name = where.rpartition(":")
    if not file.endswith(".py") or not name:
        raise InputError("not a kernel; name one as FILE.py:KERNEL", file=where)
    return _kernel(_imported(file), name, file), file


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
    named = getattr(module, name, None)
    kernel = _decorated(named)
    if kernel is None:
        decorated = ((n, _decorated(value)) for n, value in vars(module).items())
        own = [n for n, found in decorated if found and found.fn.__module__ == module.__name__]
        problem = "not decorated with triton.jit" if callable(named) else "there is no such kernel"
        kernels = f"kernels are {', '.join(own)}" if own else "no function of the file is"
        raise InputError(f"{problem}; {kernels}", path=name, file=file)
    if kernel.is_gluon():
        raise InputError("a Gluon kernel, which fixes its own pipeline", path=name, file=file)
    return kernel


def _decorated(value: Any) -> Any:
    """Return the kernel behind ``triton.jit``, below autotuning and heuristics, or None."""
    runtime = importlib.import_module("triton.runtime")
    while isinstance(value, runtime.Autotuner | runtime.Heuristics):
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


def arguments_of(
    kernel: Any, settings: Mapping[str, str], *, example: str, file: str
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the signature and the constants that `settings` give a kernel.

    Raises
    ------
    InputError
        If a parameter is not set, a setting has no parameter, or one cannot be read.
    """
    parameters = {parameter.name: parameter for parameter in kernel.params}
    missing = [
        f"{name} ({'a value' if parameter.is_constexpr else 'a type'})"
        for name, parameter in parameters.items()
        if name not in settings and not _may_be_left_out(parameter)
    ]
    unknown = [elided(name) for name in settings if name not in parameters]
    if missing or unknown:
        parts = [f"not set: {', '.join(missing)}"] * bool(missing)
        parts += [f"not a parameter: {', '.join(unknown)}"] * bool(unknown)
        sets = "".join(f" --set {shlex.quote(word)}" for word in _shown(kernel, settings))
        raise InputError(f"{'; '.join(parts)}; for example: {example}{sets}", file=file)
    signature, constants = {}, {}
    for name, parameter in parameters.items():
        text = settings.get(name)
        if parameter.is_constexpr or text is None:
            signature[name] = CONSTANT
            constants[name] = parameter.default if text is None else _value(text, name, file)
        else:
            signature[name] = _type(text, name, file)
    return signature, constants


def _may_be_left_out(parameter: Any) -> bool:
    """A default is a constant; of a parameter that is none, only the absence of a value is."""
    return bool(parameter.has_default and (parameter.is_constexpr or parameter.default is None))


def _value(text: str, name: str, file: str) -> Any:
    if text.startswith(_LANGUAGE):
        language = importlib.import_module("triton.language")
        found = getattr(language, text.removeprefix(_LANGUAGE), None)
        if isinstance(found, language.dtype):
            return found
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        literal = f"{short(text)} is not a Python literal such as 128, True or 'e4m3'"
        wrong = f"{literal}, which a tl.constexpr parameter needs"
        raise InputError(wrong, path=name, file=file) from None


def _type(text: str, name: str, file: str) -> str:
    kind = "".join(text.split())
    if not _TYPE.fullmatch(kind):
        wanted = "a Triton type such as tensordesc<fp16[128,64]>, *fp16, i32, i32:16 or fp32"
        wrong = f"{short(text)} is not {wanted} (numbers are {', '.join(NUMBERS)})"
        raise InputError(wrong, path=name, file=file)
    return kind


def _shown(kernel: Any, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield a setting for every parameter that needs one: the given one or a plausible one."""
    for parameter in kernel.params:
        name = parameter.name
        plausible = "*fp16" if "ptr" in name.lower() else "i32"
        if "desc" in name.lower():
            plausible = "tensordesc<fp16[128,128]>"
        if name in settings:
            yield f"{name}={elided(settings[name])}"
        elif not _may_be_left_out(parameter):
            yield f"{name}={128 if parameter.is_constexpr else plausible}"

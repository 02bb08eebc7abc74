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

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from twill.base.errors import InputError
from twill.frontends.triton_dump.call import Configured, example, with_strides
from twill.frontends.triton_dump.files import found, gpu_of, one_line, shortened, undecorated
from twill.frontends.triton_dump.lower import DEFAULT_WARPS, check_target, dump, dump_compiled
from twill.frontends.triton_dump.settings import (
    NUMBERS,
    check_complete,
    may_be_left_out,
    read_settings,
)

__all__ = ["dump_compiled", "dump_kernel", "unset_constants"]


def dump_kernel(
    where: str,
    settings: Mapping[str, str],
    architecture: int,
    num_warps: int | None = None,
    like: Iterable[str] = (),
) -> str:
    """Compile a kernel of a Python file to TTGIR and return it in generic form.

    `where`: ``FILE.py:KERNEL``. The file is imported, so that what it does when imported happens,
    but nothing is launched.
    `settings`: for a ``tl.constexpr`` parameter its value as a Python literal (or a type such as
    ``tl.float16``), for another one its Triton type: ``tensordesc<fp16[128,64]>``, ``*fp16`` (taken
    to be aligned to 16 bytes), ``i32``, ``i32:16`` (16 divides it), ``fp32``; or a number, of which
    Triton makes what it makes in a call (of 1 a constant); or ``constexpr:VALUE``. A
    ``tl.constexpr`` with a default may be left out.
    `num_warps`: of the autotuner's configuration without it, or else four.
    `like`: arguments of an example call, see `twill.frontends.triton_dump.call.example`.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If there is no such kernel, a setting is missing, unknown or wrong, or Triton refuses it.
    """
    check_target(architecture, num_warps or DEFAULT_WARPS)
    decorated, file = found(where, architecture)
    kernel = undecorated(decorated)
    name = where.rpartition(":")[2]
    shown = f"twill loop dump {where} --sm {architecture}"
    with gpu_of(architecture, ""):
        given = example(like, NUMBERS)
        names = [parameter.name for parameter in kernel.params]
        given |= read_settings(kernel, settings, where)
        given |= with_strides(names, given)
        call = Configured(given, {} if num_warps is None else {"num_warps": num_warps})
        call.decorate(decorated, name, file)
        check_complete(kernel, call.arguments, settings, example=shown, file=where)
        options = {"num_warps": DEFAULT_WARPS, **call.options}
        try:
            return dump(kernel, call.arguments, architecture, options)
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

"""Dump a Triton kernel's TTGIR where a scheduler wants it: tiled, placed, not yet pipelined.

Needs Triton (the extra ``[triton]``), neither a GPU nor torch. The dump is MLIR's generic form,
with three facts per operation that only Triton can tell, as attributes: ``sched.name`` (the
variable it computes), ``sched.location`` (file:line:column in the kernel) and, on layout
conversions, ``sched.trivial`` (a mere renaming of registers).
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from twill.errors import InputError, MissingLibraryError

# The first pass that specializes or pipelines, by compute capability; it and all later ones are
# left out. Stopping earlier than this crashes the end of Triton's pass pipeline.
STOP_BEFORE = {90: "add_hopper_warpspec", 100: "add_assign_latencies"}
WARPS = 4


def dump(
    kernel: Any, *, signature: Mapping[str, str], constants: Mapping[str, Any], architecture: int
) -> str:
    """Compile `kernel` to TTGIR and return it in generic form.

    Parameters
    ----------
    kernel : triton.runtime.JITFunction
        A function decorated with ``triton.jit``, from a source file.
    signature : mapping
        Triton type of each argument, for example ``tensordesc<fp16[64,128]>``, ``*fp32``, ``i32``,
        ``constexpr``.
    constants : mapping
        Values of the ``constexpr`` arguments.
    architecture : int
        Compute capability times ten: 90 or 100.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    InputError
        If the architecture is not supported.
    """
    if architecture not in STOP_BEFORE:
        raise InputError(
            f"no extraction point for sm_{architecture} (there are "
            f"{', '.join(f'sm_{a}' for a in STOP_BEFORE)})",
            path="architecture",
        )
    triton = _import_triton()
    libtriton = importlib.import_module("triton._C.libtriton")
    compiler = importlib.import_module("triton.compiler")
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", architecture, 32)

    source = compiler.ASTSource(kernel, dict(signature), dict(constants), {})
    backend = compiler.make_backend(target)
    options = backend.parse_options({"num_warps": WARPS})
    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(
        target,
        options,
        backend.get_codegen_implementation(options),
        backend.get_module_map(),
        context,
    )
    module = backend.make_ttir(module, {}, options, architecture)
    with _stopped_before(libtriton, STOP_BEFORE[architecture]):
        module = backend.make_ttgir(module, {}, options, architecture)
    passes = libtriton.ir.pass_manager(module.context)
    libtriton.passes.common.add_canonicalizer(passes)
    passes.run(module, "canonicalize")
    _annotate(libtriton, module)
    return f"// triton {triton.__version__}, sm_{architecture}\n{_generic_form(libtriton, module)}"


def _import_triton() -> ModuleType:
    try:
        return importlib.import_module("triton")
    except ImportError:
        raise MissingLibraryError(
            "Triton is not installed; install it with: pip install 'twill-gpu[triton]'"
        ) from None


@contextlib.contextmanager
def _stopped_before(libtriton: ModuleType, name: str) -> Iterator[None]:
    """Make every pass from `name` on do nothing, wherever Triton adds passes from."""
    homes = [
        libtriton.passes.ttir,
        libtriton.passes.ttgpuir,
        libtriton.passes.common,
        libtriton.nvidia.passes.ttnvgpuir,
        libtriton.nvidia.passes.hopper,
    ]
    originals = [
        (home, add, getattr(home, add))
        for home in homes
        for add in dir(home)
        if add.startswith("add_")
    ]
    stopped = False

    def gated(add: str, original: Any) -> Any:
        def wrapper(*arguments: Any, **keywords: Any) -> Any:
            nonlocal stopped
            stopped = stopped or add == name
            return None if stopped else original(*arguments, **keywords)

        return wrapper

    for home, add, original in originals:
        setattr(home, add, gated(add, original))
    try:
        yield
    finally:
        for home, add, original in originals:
            setattr(home, add, original)


def _annotate(libtriton: ModuleType, module: Any) -> None:
    gluon = importlib.import_module("triton._C.libtriton.gluon_ir")
    builder = libtriton.ir.builder(module.context)
    layouts = gluon.GluonOpBuilder(module.context)

    def visit(operation: Any) -> None:
        if not operation.get_num_results():
            return
        result = operation.get_result(0)
        name, location = _source_of(str(result.get_loc()))
        if name:
            result.set_attr("sched.name", builder.get_string_attr(name))
        if location:
            result.set_attr("sched.location", builder.get_string_attr(location))
        if operation.get_name() == "ttg.convert_layout":
            trivial = layouts.is_convert_layout_trivial(result.get_type(), operation.get_operand(0))
            result.set_attr("sched.trivial", builder.get_bool_attr(trivial))

    module.walk(visit)


def _source_of(location: str) -> tuple[str, str]:
    """Return variable and place from MLIR's text of a location; of a call, the outermost caller."""
    caller = location.rsplit(" at ", 1)[-1]
    name = re.search(r'"([A-Za-z_]\w*)"\(', caller)
    place = re.search(r'"([^"]+\.py)":(\d+):(\d+)', caller)
    where = f"{Path(place[1]).name}:{place[2]}:{place[3]}" if place else ""
    return (name[1] if name else ""), where


def _generic_form(libtriton: ModuleType, module: Any) -> str:
    """Print in generic form: MLIR does so for a module that does not verify."""
    builder = libtriton.ir.builder(module.context)
    module.set_attr("llvm.data_layout", builder.get_int32_attr(1))
    text: str = module.str_nodebug()
    return text.replace("llvm.data_layout = 1 : i32, ", "").rstrip() + "\n"

"""Lower a kernel to TTGIR, stop before it is pipelined, and write down what Triton knows."""

from __future__ import annotations

import contextlib
import importlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from twill.base.errors import InputError, MissingLibraryError
from twill.base.files import write_whole
from twill.frontends.triton_dump.call import specialized
from twill.frontends.triton_dump.listing import Listing, annotated, with_pipeline
from twill.frontends.triton_dump.split import Split, possible_splits, with_parts

# The first pass that specializes or pipelines, by compute capability; it and all later ones are
# left out. Stopping earlier than this crashes the end of Triton's pass pipeline.
STOP_BEFORE = {90: "add_hopper_warpspec", 100: "add_assign_latencies"}
# The first pass after Triton has scheduled the loop that carries the schedule out.
SCHEDULED_BEFORE = {90: "add_pipeline", 100: "add_warp_specialize"}
# The first pass after that.
PIPELINED_BEFORE = {90: "add_coalesce_async_copy", 100: "add_optimize_partition_warps"}
# Passes of Triton's pipelining that are left out: a schedule needs loops as written.
LEFT_OUT = ("add_fuse_nested_loops", "add_hopper_warpspec", "add_warp_specialize")
DEFAULT_WARPS = 4
WARPS = (1, 2, 4, 8, 16, 32)
# Triton 3.9 warns where a program does not choose.
OPTIONS = {"enable_fp_fusion": True}
_pass_adders = threading.RLock()  # Triton has one set of them for all threads


def dump(
    kernel: Any,
    arguments: Mapping[str, Any],
    architecture: int,
    options: Mapping[str, Any],
    split: Split | None = None,
) -> str:
    """Compile `kernel` to TTGIR and return it in generic form.

    `arguments`: as in `twill.frontends.triton_dump.call`. Pointers are taken to be aligned to 16
    bytes. `options`: of Triton's backend, such as ``num_warps``. `split`: parts of its tiles.

    Raises
    ------
    RefusedError
        If the tiles cannot be split.
    """
    lowering = _lowering(kernel, arguments, architecture, options)
    return dumped(lowering if split is None else _with_parts(lowering, split))


def splits(
    kernel: Any,
    arguments: Mapping[str, Any],
    architecture: int,
    options: Mapping[str, Any],
    *,
    factor: int,
    least: int,
) -> list[Split]:
    """Return the ways to split the tiles of a kernel into so many parts.

    The first arguments are those of `dump`. `least`: rows that a product has to keep.
    """
    module = _lowering(kernel, arguments, architecture, options).make_ttir()
    return possible_splits(_generic_form(_libtriton(), module), factor, least)


def _lowering(
    kernel: Any, arguments: Mapping[str, Any], architecture: int, options: Mapping[str, Any]
) -> Lowering:
    libtriton = _libtriton()
    compiler = importlib.import_module("triton.compiler")
    target = target_of(architecture)
    backend = compiler.make_backend(target)
    call = specialized(kernel, arguments, backend, {**OPTIONS, **options})
    source = compiler.ASTSource(kernel, call.signature, call.constants, call.attributes)
    context = libtriton.ir.context()
    libtriton.ir.load_dialects(context)
    backend.load_dialects(context)

    def make_ttir() -> Any:
        implementation = backend.get_codegen_implementation(call.options)
        module = source.make_ir(
            target, call.options, implementation, backend.get_module_map(), context
        )
        return backend.make_ttir(module, {}, call.options, architecture)

    return Lowering(make_ttir, backend, call.options, architecture)


def _with_parts(lowering: Lowering, how: Split) -> Lowering:
    """Return the lowering of a kernel whose tiles are split before they have layouts."""
    libtriton = _libtriton()
    text = with_parts(_generic_form(libtriton, lowering.make_ttir()), how)

    def make_ttir() -> Any:
        context = libtriton.ir.context()
        libtriton.ir.load_dialects(context)
        lowering.backend.load_dialects(context)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "kernel.ttir"
            write_whole(file, text)
            module = libtriton.ir.parse_mlir_module(str(file), context)
        module.context = context
        return lowering.backend.make_ttir(module, {}, lowering.options, lowering.architecture)

    return replace(lowering, make_ttir=make_ttir)


def target_of(architecture: int) -> Any:
    """Return what Triton compiles for."""
    return importlib.import_module("triton.backends.compiler").GPUTarget("cuda", architecture, 32)


def check_target(architecture: int, num_warps: int) -> None:
    """Check that there is an extraction point for a target.

    Raises
    ------
    InputError
        If not.
    """
    if architecture not in STOP_BEFORE:
        known = ", ".join(f"sm_{a}" for a in STOP_BEFORE)
        wrong = f"no extraction point for sm_{architecture} (there are {known})"
        raise InputError(wrong, path="architecture")
    if num_warps not in WARPS:
        known = ", ".join(map(str, WARPS))
        raise InputError(f"{num_warps} is not one of {known}", path="num_warps")


@dataclass(frozen=True)
class Lowering:
    """Everything needed to lower a kernel for compute capability `architecture` / 10.

    `make_ttir` returns a new module in Triton's IR, before layouts, at every call; `backend` and
    its `options` are Triton's.
    """

    make_ttir: Callable[[], Any]
    backend: Any
    options: Any
    architecture: int


def dumped(lowering: Lowering) -> str:
    """Return the dump of what `lowering` lowers."""
    version = import_triton().__version__
    rolled, scheduled = (_listing_before(s, lowering) for s in (STOP_BEFORE, SCHEDULED_BEFORE))
    # Not made canonical: of a loop of few iterations, its rounds would be gone.
    pipelined = _listing_before(PIPELINED_BEFORE, lowering, canonical=False)
    text, remark = annotated(rolled, scheduled)
    text = with_pipeline(text, annotated(pipelined, pipelined)[0])
    more = f", {remark}" if remark else ""
    return f"// triton {version}, sm_{lowering.architecture}{more}\n{text}"


def import_triton() -> ModuleType:
    """Return the module ``triton``.

    Raises
    ------
    MissingLibraryError
        If it is not installed.
    """
    try:
        return importlib.import_module("triton")
    except ImportError:
        raise MissingLibraryError.of_extra("Triton", "triton") from None


def _libtriton() -> ModuleType:
    return importlib.import_module("triton._C.libtriton")


def _listing_before(
    stops: Mapping[int, str], lowering: Lowering, *, canonical: bool = True
) -> Listing:
    libtriton = _libtriton()
    module = lowering.make_ttir()
    with _pass_adders, _stopped_before(libtriton, stops[lowering.architecture]):
        module = lowering.backend.make_ttgir(module, {}, lowering.options, lowering.architecture)
    if canonical:
        passes = libtriton.ir.pass_manager(module.context)
        libtriton.passes.common.add_canonicalizer(passes)
        passes.run(module, "canonicalize")
    _mark_trivial_conversions(libtriton, module)
    return Listing(_generic_form(libtriton, module))


@contextlib.contextmanager
def _stopped_before(libtriton: ModuleType, name: str) -> Iterator[None]:
    """Make every pass from `name` on do nothing, wherever this thread adds passes from."""
    passes, nvidia = libtriton.passes, libtriton.nvidia.passes
    homes = (passes.ttir, passes.ttgpuir, passes.common, nvidia.ttnvgpuir, nvidia.hopper)
    originals = [
        (home, add, getattr(home, add)) for home in homes for add in dir(home) if add[:4] == "add_"
    ]
    thread, stopped = threading.get_ident(), False

    def gated(add: str, original: Any) -> Any:
        def wrapper(*arguments: Any, **keywords: Any) -> Any:
            nonlocal stopped
            if threading.get_ident() != thread:
                return original(*arguments, **keywords)
            stopped = stopped or add == name
            return None if stopped or add in LEFT_OUT else original(*arguments, **keywords)

        return wrapper

    for home, add, original in originals:
        setattr(home, add, gated(add, original))
    try:
        yield
    finally:
        for home, add, original in originals:
            setattr(home, add, original)


def _mark_trivial_conversions(libtriton: ModuleType, module: Any) -> None:
    gluon = importlib.import_module("triton._C.libtriton.gluon_ir")
    builder = libtriton.ir.builder(module.context)
    layouts = gluon.GluonOpBuilder(module.context)

    def visit(operation: Any) -> None:
        if operation.get_name() == "ttg.convert_layout":
            result = operation.get_result(0)
            trivial = layouts.is_convert_layout_trivial(result.get_type(), operation.get_operand(0))
            result.set_attr("sched.trivial", builder.get_bool_attr(trivial))

    module.walk(visit)


def _generic_form(libtriton: ModuleType, module: Any) -> str:
    """Print in generic form: MLIR does so for a module that does not verify."""
    builder = libtriton.ir.builder(module.context)
    module.set_attr("llvm.data_layout", builder.get_int32_attr(1))
    text: str = module.str()
    return text.replace("llvm.data_layout = 1 : i32, ", "")

"""Dump the kernels that an ordinary program compiles, while it compiles them."""

from __future__ import annotations

import importlib
import itertools
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twill.frontends.triton_dump.lower import STOP_BEFORE, Lowering, dumped, import_triton


def dump_compiled(folder: str | Path) -> Callable[[], None]:
    """Dump every Triton kernel that this process compiles from now on.

    Each is written to ``<kernel>.sm<architecture>.mlir``; versions with other types, constants or
    options become ``<kernel>.2.sm<architecture>.mlir`` and so on. What Triton compiles does not
    change. Kernels are compiled once more even if they are in Triton's cache. A kernel that cannot
    be dumped causes a warning.

    Raises
    ------
    MissingLibraryError
        If Triton is not installed.
    """
    runtime = import_triton().knobs.runtime
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    before = runtime.add_stages_inspection_hook
    hook = runtime.add_stages_inspection_hook = _hook(target, before)

    def stop() -> None:
        if runtime.add_stages_inspection_hook is hook:
            runtime.add_stages_inspection_hook = before

    return stop


def _hook(folder: Path, before: Any) -> Callable[..., Any]:
    """Triton calls it without arguments for a part of its cache key, and once a compilation."""
    token = f"twill-{uuid.uuid4().hex}"
    writing = threading.Lock()

    def hook(*arguments: Any) -> tuple[str, str] | None:
        inner = before(*arguments) if before else None
        if not arguments:
            key, digest = inner or ("", "")
            return f"{key}{token}", f"{digest}{token}"
        backend, stages, options, _, architecture = arguments
        if "ttir" not in stages:
            return None
        lower = stages["ttgir"]

        def lower_and_dump(module: Any, metadata: Any) -> Any:
            try:
                name, text = _dump_of(module, backend, options, architecture)
                with writing:
                    _write(folder, name, architecture, text)
            except Exception as error:
                warnings.warn(f"no dump of a kernel: {error}", RuntimeWarning, stacklevel=2)
            return lower(module, metadata)

        stages["ttgir"] = lower_and_dump
        return None

    return hook


def _dump_of(module: Any, backend: Any, options: Any, architecture: int) -> tuple[str, str]:
    """Return the kernel's name and dump, made from copies of its module."""
    name = module.get_entry_func_name()
    if architecture not in STOP_BEFORE:
        raise ValueError(f"{name} is for sm_{architecture}")
    libtriton = importlib.import_module("triton._C.libtriton")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kernel.ttir"
        copy.write_text(module.str())

        def make_ttir() -> Any:
            parsed = libtriton.ir.parse_mlir_module(str(copy), module.context)
            parsed.context = module.context
            return parsed

        return name, dumped(Lowering(make_ttir, backend, options, architecture))


def _write(folder: Path, name: str, architecture: int, text: str) -> None:
    for number in itertools.count(1):
        version = f".{number}" if number > 1 else ""
        file = folder / f"{name}{version}.sm{architecture}.mlir"
        if not file.exists():
            file.write_text(text)
            return
        if file.read_text() == text:
            return

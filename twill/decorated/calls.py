"""Calls of a Triton kernel: what its decorators add, and what Triton specializes it for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from twill.base.errors import InputError
from twill.decorated.tensors import taken
from twill.frontends.triton_dump.kernel import undecorated
from twill.frontends.triton_dump.lower import target_of

MOST_CONFIGURATIONS = 4  # of an autotuner that are tried, in its order
REPLACED = ("num_stages", "maxnreg")  # options that a schedule chooses itself


@dataclass(frozen=True)
class Call:
    """A call of a kernel.

    `key`: types, alignment, constants and options: calls with the same one have the same kernel.
    `arguments`: values by parameter, those of constants too.
    `options`: of Triton's compilation, such as ``num_warps``.
    `chosen`: whether a configuration of the autotuner was looked for.
    """

    key: str
    arguments: dict[str, Any]
    options: dict[str, Any]
    chosen: bool = False


@dataclass
class _Tuned:
    """Configurations that an autotuner would try for a call, and the number of the one used."""

    configurations: list[Any]
    used: int = 0
    chosen: bool = False


class Calls:
    """Binds calls of a kernel by Triton's own code.

    `decorated`: a kernel, perhaps under ``triton.autotune`` and ``triton.heuristics``.
    """

    def __init__(self, decorated: Any, architecture: int) -> None:
        self._jit = importlib.import_module("triton.runtime.jit")
        self._runtime = importlib.import_module("triton.runtime")
        self.decorated, self.kernel = decorated, undecorated(decorated)
        backend = importlib.import_module("triton.compiler").make_backend(target_of(architecture))
        self._binder = self._jit.create_function_from_signature(
            self.kernel.signature, self.kernel.params, backend
        )
        self._keys: dict[Any, str] = {}
        self._tuned: dict[Any, _Tuned] = {}

    def bound(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Call:
        """Return a call with what the decorators add."""
        return self._bound(args, named)[0]

    def first(
        self, args: tuple[Any, ...], named: Mapping[str, Any], works: Callable[[Call], bool]
    ) -> Call:
        """Return the call with the first configuration that works, or else the first of all.

        Later calls that an autotuner would not tune again have the same configuration.
        """
        tried: dict[str, Call] = {}
        tuned = self._bound(args, named)[1]
        tuned.chosen = True
        for number in range(len(tuned.configurations)):
            tuned.used = number
            call = self.bound(args, named)
            if call.key not in tried and works(call):
                return call
            tried.setdefault(call.key, call)
            if len(tried) == MOST_CONFIGURATIONS:
                break
        tuned.used = 0
        return next(iter(tried.values()))

    def _bound(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Call, _Tuned]:
        args = tuple([taken(one) for one in args])
        added = {name: taken(value) for name, value in named.items()}
        decorated, tuned = self.decorated, _Tuned([None], chosen=True)
        while not isinstance(decorated, self._runtime.JITFunction):
            given = {**dict(zip(self.kernel.arg_names, args, strict=False)), **added}
            if isinstance(decorated, self._runtime.Autotuner):
                tuned = self._tuning(decorated, given)
                config = tuned.configurations[tuned.used]
                added |= config.all_kwargs()
                if config.pre_hook is not None:
                    config.pre_hook({**given, **added})
            else:
                added |= {name: rule({**given, **added}) for name, rule in decorated.values.items()}
            decorated = decorated.fn
        for (name, _), (seen, module) in self.kernel.used_global_vals.items():
            if module.get(name) != seen:
                raise InputError(f"{name} has changed since the kernel was first called")
        values, specialization, options = self._binder(*args, **added)
        options = {n: v for n, v in options.items() if n not in REPLACED and v is not None}
        key = self._jit.compute_cache_key(self._keys, specialization, options)
        return Call(key, values, options, tuned.chosen), tuned

    def _tuning(self, autotuner: Any, given: dict[str, Any]) -> _Tuned:
        """Return the configurations for a call, which are pruned once for all that are like it."""
        kinds = (str(value.dtype) for value in given.values() if hasattr(value, "dtype"))
        key = (*(given[name] for name in autotuner.keys if name in given), *kinds)
        if key not in self._tuned:
            kept = autotuner.configs
            if autotuner.early_config_prune is not None:
                kept = autotuner.early_config_prune(kept, given, **given)
            if not kept:
                raise InputError("no configuration of the autotuner is left")
            self._tuned[key] = _Tuned(list(kept))
        return self._tuned[key]

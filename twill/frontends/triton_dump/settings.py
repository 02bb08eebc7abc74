"""Argument types and constants of a kernel, from text such as a command line gives."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from twill.errors import InputError, short
from twill.names import elided

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


def arguments_of(
    kernel: Any, settings: Mapping[str, str], *, example: str, file: str
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the signature and the constants that `settings` give a kernel.

    Raises
    ------
    InputError
        If a parameter is not set, a setting has no parameter, or one cannot be read.
    """
    missing = [p for p in kernel.params if p.name not in settings and not _may_be_left_out(p)]
    unknown = [name for name in settings if name not in {p.name for p in kernel.params}]
    if missing or unknown:
        raise InputError(_complaint(kernel, settings, missing, unknown, example), file=file)
    signature, constants = {}, {}
    for parameter in kernel.params:
        name, text = parameter.name, settings.get(parameter.name)
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
        raise InputError(
            f"{short(text)} is not a Python literal such as 128, True or 'e4m3', which a "
            "tl.constexpr parameter needs",
            path=name,
            file=file,
        ) from None


def _type(text: str, name: str, file: str) -> str:
    kind = "".join(text.split())
    if not _TYPE.fullmatch(kind):
        raise InputError(
            f"{short(text)} is not a Triton type such as tensordesc<fp16[128,64]>, *fp16, i32, "
            f"i32:16 or fp32 (numbers are {', '.join(NUMBERS)})",
            path=name,
            file=file,
        )
    return kind


def _complaint(
    kernel: Any, settings: Mapping[str, str], missing: list[Any], unknown: list[str], example: str
) -> str:
    parts = []
    if missing:
        wanted = [f"{p.name} ({'a value' if p.is_constexpr else 'a type'})" for p in missing]
        parts.append(f"not set: {', '.join(wanted)}")
    if unknown:
        parts.append(f"not a parameter: {', '.join(map(elided, unknown))}")
    words = [shlex.quote(word) for word in _shown_settings(kernel, settings)]
    sets = "".join(f" --set {word}" for word in words)
    return f"{'; '.join(parts)}; for example: {example}{sets}"


def _shown_settings(kernel: Any, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield a setting for every parameter that needs one: the given one or a plausible one."""
    for parameter in kernel.params:
        name = parameter.name
        if name in settings:
            yield f"{name}={elided(settings[name])}"
        elif not _may_be_left_out(parameter):
            yield f"{name}={_plausible(parameter)}"


def _plausible(parameter: Any) -> str:
    if parameter.is_constexpr:
        return "128"
    if "desc" in parameter.name.lower():
        return "tensordesc<fp16[128,128]>"
    return "*fp16" if "ptr" in parameter.name.lower() else "i32"

"""What is said of a kernel's parameters: values of constants, types or values of the others."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from twill.base.errors import InputError, short
from twill.base.names import elided
from twill.frontends.triton_dump.call import Constant, Type, without_block

NUMBERS = (
    *("fp8e4nv", "fp8e5", "fp8e4b15", "fp16", "bf16", "fp32", "fp64"),
    *("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64"),
)
_NUMBER = f"(?:{'|'.join(NUMBERS)})"
_TYPE = re.compile(
    rf"\*k?{_NUMBER}|{_NUMBER}|[iu](?:8|16|32|64):16|tensordesc<{_NUMBER}\[\d+(?:,\d+)*\]>"
)
_LANGUAGE = "tl."
_CONSTANT = "constexpr:"


def read_settings(kernel: Any, settings: Mapping[str, str], file: str) -> dict[str, Any]:
    """Return what `settings` give a kernel: values, or types in their place.

    Raises
    ------
    InputError
        If one cannot be read.
    """
    constant = {parameter.name: parameter.is_constexpr for parameter in kernel.params}
    read = {True: _value, False: _type_or_value}
    return {n: read[constant[n]](text, n, file) for n, text in settings.items() if n in constant}


def check_complete(
    kernel: Any, given: Mapping[str, Any], settings: Mapping[str, str], *, example: str, file: str
) -> None:
    """Refuse a kernel whose parameters are not all given, and what is none of them.

    Raises
    ------
    InputError
        If one is not given, has no parameter, or is a descriptor without its block.
    """
    parameters = {parameter.name: parameter for parameter in kernel.params}
    missing = [
        f"{name} ({'a value' if parameter.is_constexpr else 'a type'})"
        for name, parameter in parameters.items()
        if name not in given and not may_be_left_out(parameter)
    ]
    unknown = [elided(n) for n in dict.fromkeys((*settings, *given)) if n not in parameters]
    if missing or unknown:
        parts = [f"not set: {', '.join(missing)}"] * bool(missing)
        parts += [f"not a parameter: {', '.join(unknown)}"] * bool(unknown)
        sets = "".join(f" --set {shlex.quote(word)}" for word in _shown(kernel, given, settings))
        raise InputError(f"{'; '.join(parts)}; for example: {example}{sets}", file=file)
    for name in without_block(given):
        wanted = "a block: tensordesc(fp16[8192,128], [128,64])"
        raise InputError(wanted, path=name, file=file)


def may_be_left_out(parameter: Any) -> bool:
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


def _type_or_value(text: str, name: str, file: str) -> Any:
    if text.startswith(_CONSTANT):
        return Constant(_value(text.removeprefix(_CONSTANT), name, file))
    kind = "".join(text.split())
    if _TYPE.fullmatch(kind):
        return Type(kind)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = text
    if value is None or isinstance(value, bool | int | float):
        return value
    wanted = "a Triton type such as tensordesc<fp16[128,64]>, *fp16, i32, i32:16 or fp32"
    wrong = f"{short(text)} is not {wanted}, a number, or constexpr:VALUE"
    raise InputError(f"{wrong} (types of numbers are {', '.join(NUMBERS)})", path=name, file=file)


def _shown(kernel: Any, given: Mapping[str, Any], settings: Mapping[str, str]) -> Iterator[str]:
    """Yield a setting for every parameter that needs one: the given one or a plausible one."""
    for parameter in kernel.params:
        name = parameter.name
        plausible = "*fp16" if "ptr" in name.lower() else "i32"
        if "desc" in name.lower():
            plausible = "tensordesc<fp16[128,128]>"
        if name in settings:
            yield f"{name}={elided(settings[name])}"
        elif name not in given and not may_be_left_out(parameter):
            yield f"{name}={128 if parameter.is_constexpr else plausible}"

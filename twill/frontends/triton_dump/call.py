"""Arguments of a kernel: an example call, and settings of single parameters.

Triton's own code decides which arguments are constants, which are divisible by 16, and their types,
as when a kernel is launched. Heuristics above ``triton.jit`` compute constants, and of an autotuner
one configuration is taken.
"""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twill.base.console import note
from twill.base.errors import InputError, short
from twill.base.names import elided
from twill.frontends.triton_dump.guesses import may_be_left_out, plausible

CONSTANT = "constexpr"
DIVISIBLE = "D"  # what Triton's backend reads as divisible by 16
ALIGNED = ":16"
UNSHAPED = 16  # columns of a descriptor whose block a configuration is to say
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
NOT_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
# Types with another name in PyTorch.
TORCH = {
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "bool": "i1",
}  # fmt: skip


@dataclass(frozen=True)
class Type:
    """A Triton type in place of an argument, ``i32:16`` for an integer that 16 divides."""

    text: str

    @property
    def entry(self) -> tuple[str, str]:
        """Triton's specialization of an argument of this type."""
        aligned = self.text.startswith("*") or self.text.endswith(ALIGNED)
        return self.text.removesuffix(ALIGNED), DIVISIBLE if aligned else ""


@dataclass(frozen=True)
class Constant:
    """A value that an argument has in every call, whether the kernel says so or not."""

    value: Any


@dataclass(frozen=True)
class Tensor:
    """A tensor of an example call: aligned, and without elements."""

    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @staticmethod
    def data_ptr() -> int:
        """Return an address that 16 divides."""
        return 0

    def stride(self, dimension: int | None = None) -> Any:
        """Return the elements from one index to the next, along one dimension or along each."""
        return self.strides if dimension is None else self.strides[dimension]

    def size(self, dimension: int | None = None) -> Any:
        """Return how many indices there are."""
        return self.shape if dimension is None else self.shape[dimension]

    @property
    def T(self) -> Tensor:  # noqa: N802  # as PyTorch calls it
        """The same with its dimensions in reverse order."""
        return Tensor(self.dtype, self.shape[::-1], self.strides[::-1])


@dataclass(frozen=True)
class Element:
    """A type of numbers, of which `[rows, columns]` makes a contiguous tensor."""

    name: str

    def __getitem__(self, shape: int | Sequence[int]) -> Tensor:
        """Return a tensor; a number is the length of a vector."""
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        if not all(type(size) is int and size > 0 for size in sizes):
            raise ValueError(f"not a shape: {short(sizes)}")
        strides = [1]
        for size in sizes[:0:-1]:
            strides.append(strides[-1] * size)
        return Tensor(self.dtype, sizes, tuple(reversed(strides)))

    @property
    def dtype(self) -> Any:
        """The type that a kernel's own functions see: PyTorch's where the file imports it."""
        torch = sys.modules.get("torch")
        theirs = next((name for name, ours in TORCH.items() if ours == self.name), "")
        found = getattr(torch, theirs, None) if theirs else None
        return found or importlib.import_module("triton.language").dtype(self.name)


def example(texts: Iterable[str]) -> dict[str, Any]:
    """Return the arguments of an example call, as in Python: ``a=fp16[64, 32], n=a.size(0)``.

    Raises
    ------
    InputError
        If a text is no list of named arguments, or a name comes twice.
    """
    import simpleeval

    names = {**{n: Element(n) for n in NUMBERS}, **{t: Element(n) for t, n in TORCH.items()}}
    found: dict[str, Any] = {}
    for text in texts:
        try:
            tree = ast.parse(f"call({text})", mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
        if not isinstance(tree, ast.Call) or tree.args or any(k.arg is None for k in tree.keywords):
            wanted = "named arguments such as a=fp16[8192,4096], n=4096"
            raise InputError(f"{wanted} (got {short(text)})", path="--like")
        for keyword in tree.keywords:
            name = str(keyword.arg)
            if name in found:
                raise InputError(f"{name} is given twice", path="--like")
            evaluator = simpleeval.EvalWithCompoundTypes(
                functions={"tensordesc": described}, names={**names, **found}
            )
            try:
                value = evaluator._eval(keyword.value)  # noqa: SLF001  # of a tree, not of a text
            except simpleeval.NameNotDefined as error:
                problem = f"nothing named {short(error.name)}"
                raise InputError(problem, path=f"--like {name}") from None
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
                raise InputError(problem, path=f"--like {name}") from None
            found[name] = value.dtype if isinstance(value, Element) else value
    return found


def described(tensor: Tensor, block: Sequence[int] | None = None) -> Any:
    """Return a descriptor of a tensor; without a block a configuration has to say it."""
    made = importlib.import_module("triton.tools.tensor_descriptor").TensorDescriptor
    shape = list(block) if block is not None else [1] * (len(tensor.shape) - 1) + [UNSHAPED]
    return made(tensor, list(tensor.shape), list(tensor.strides), shape)


def with_strides(parameters: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the strides of tensors that parameters are named after: ``stride_am`` of ``a_ptr``."""
    names, found = list(parameters), dict[str, Any]()
    for tensor, value in given.items():
        stem = re.escape(re.sub(r"_?ptr$", "", tensor.lower()))
        pattern = re.compile(rf"stride_?{stem}_?[a-z0-9]{{1,2}}")
        wanted = [name for name in names if pattern.fullmatch(name.lower())]
        if not isinstance(value, Tensor) or len(wanted) != len(value.shape):
            continue
        new = {n: s for n, s in zip(wanted, value.strides, strict=True) if n not in given}
        if new:
            told = ", ".join(f"{name}={stride}" for name, stride in new.items())
            note(f"twill: strides of {tensor}: {told}")
        found |= new
    return found


@dataclass
class Configured:
    """The arguments of a kernel with what its decorators add, and the options of compilation."""

    arguments: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    # Whether there is a value for all that the kernel's own functions may ask for.
    _is_call: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """The arguments as the kernel's own functions see them."""
        return {
            name: value.value if isinstance(value, Constant) else value
            for name, value in self.arguments.items()
        }

    def decorate(self, decorated: Any, name: str, file: str) -> None:
        """Add what heuristics and an autotuner above a kernel add.

        Raises
        ------
        InputError
            If one of their functions fails.
        """
        runtime = importlib.import_module("triton.runtime")
        self._is_call = self._says_all(decorated)
        while not isinstance(decorated, runtime.JITFunction):
            try:
                if isinstance(decorated, runtime.Autotuner):
                    self._choose(decorated, name)
                elif self._is_call:
                    self._decide(decorated)
            except Exception as error:
                what = type(decorated).__name__.lower()
                wrong = f"its {what} fails ({type(error).__name__}: {error}); say values by --set"
                raise InputError(wrong, path=name, file=file) from None
            decorated = decorated.fn

    def _decide(self, heuristics: Any) -> None:
        for name, rule in heuristics.values.items():
            if name not in self.arguments:
                self.arguments[name] = rule(self.values)

    def _choose(self, autotuner: Any, name: str) -> None:
        """Take the first configuration that Triton would try and that has what is given."""
        kept = autotuner.configs
        if autotuner.early_config_prune is not None and self._is_call:
            kept = autotuner.early_config_prune(kept, self.values, **self.values) or kept
        given = self.values
        fitting = (c for c in kept if all(given.get(k, v) == v for k, v in c.kwargs.items()))
        config = next(fitting, kept[0])
        self.arguments = {**config.kwargs, **self.arguments}
        options = {k: v for k, v in config.all_kwargs().items() if k not in config.kwargs}
        self.options = {**options, **self.options}
        if config.pre_hook is not None and self._is_call:
            config.pre_hook({**self.values, **self.options})
        taken = {**{k: self.values[k] for k in config.kwargs}, **self.options}
        told = ", ".join(f"{key}={value}" for key, value in taken.items() if value is not None)
        note(f"twill: {name}: configured by {told} (the autotuner has {len(kept)}; --set chooses)")

    def _says_all(self, decorated: Any) -> bool:
        """Return whether arguments are those of a call: none left out, and no types alone."""
        runtime, kernel = importlib.import_module("triton.runtime"), decorated
        while not isinstance(kernel, runtime.JITFunction):
            kernel = kernel.fn
        needed = {parameter.name for parameter in kernel.params if not parameter.has_default}
        types = any(isinstance(value, Type) for value in self.arguments.values())
        return not types and needed <= added_by(decorated) | self.arguments.keys()


def added_by(decorated: Any) -> set[str]:
    """Return the parameters that an autotuner and heuristics above a kernel give values."""
    runtime, added = importlib.import_module("triton.runtime"), set[str]()
    while not isinstance(decorated, runtime.JITFunction):
        for config in getattr(decorated, "configs", ()):
            added |= config.kwargs.keys()
        added |= getattr(decorated, "values", {}).keys()
        decorated = decorated.fn
    return added


@dataclass(frozen=True)
class Specialized:
    """A call as Triton compiles it: options, types, constants, and attributes of arguments."""

    options: Any
    signature: dict[str, str]
    constants: dict[Any, Any]
    attributes: dict[Any, Any]


def specialized(
    kernel: Any, arguments: Mapping[str, Any], backend: Any, options: Mapping[str, Any]
) -> Specialized:
    """Return what Triton makes of a call, by its own code; a given type stands as it is."""
    jit = importlib.import_module("triton.runtime.jit")
    binder = jit.create_function_from_signature(kernel.signature, kernel.params, backend)
    plain = {n: None if isinstance(v, Type) else v for n, v in arguments.items()}
    plain |= {n: v.value for n, v in arguments.items() if isinstance(v, Constant)}
    bound, entries, _ = binder(**plain)
    for index, parameter in enumerate(kernel.params):
        given = arguments.get(parameter.name)
        if isinstance(given, Type):
            entries[index] = given.entry
        elif isinstance(given, Constant):
            entries[index] = (CONSTANT, given.value)
    return Specialized(*kernel._pack_args(backend, dict(options), bound, entries, {}))  # noqa: SLF001


def without_block(arguments: Mapping[str, Any]) -> list[str]:
    """Return the descriptors without a block."""
    return [
        name
        for name, value in arguments.items()
        if hasattr(value, "block_shape")
        and list(value.block_shape) == [1] * (len(value.shape) - 1) + [UNSHAPED]
    ]


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


def _value(text: str, name: str, file: str) -> Any:
    if text.startswith(_LANGUAGE):
        language = importlib.import_module("triton.language")
        found = getattr(language, text.removeprefix(_LANGUAGE), None)
        if isinstance(found, language.dtype):
            return found
    try:
        return ast.literal_eval(text)
    except NOT_LITERAL:
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
    except NOT_LITERAL:
        value = text
    if value is None or isinstance(value, bool | int | float):
        return value
    wanted = "a Triton type such as tensordesc<fp16[128,64]>, *fp16, i32, i32:16 or fp32"
    wrong = f"{short(text)} is not {wanted}, a number, or constexpr:VALUE"
    raise InputError(f"{wrong} (types of numbers are {', '.join(NUMBERS)})", path=name, file=file)


def _shown(kernel: Any, given: Mapping[str, Any], settings: Mapping[str, str]) -> Iterator[str]:
    """Yield a setting for every parameter that needs one: the given one or a plausible one."""
    guessed = plausible(kernel, {*given, *settings})
    for parameter in kernel.params:
        name = parameter.name
        if name in settings or name in guessed:
            yield f"{name}={elided(settings.get(name) or guessed[name])}"

"""Tensors of the host: as much of PyTorch as kernel files need for arguments and references.

The module stands in where PyTorch is not installed, and refuses what PyTorch refuses. `FUNCTIONS`
has the functions of `torch` on tensors; all of them are methods of tensors too. Products of 16-bit
tensors are summed in float32 and rounded once. `torch.empty` is full of NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from twill.sim.emulator import operators
from twill.sim.emulator.operators import numbers_only, operands, tensors_only
from twill.sim.emulator.values import (
    BOOL,
    DTYPES,
    FLOAT32,
    INT64,
    Array,
    DType,
    Numbers,
    indices,
)

OFFERED: dict[str, Any] = dict(DTYPES)
FUNCTIONS: dict[str, Callable[..., Any]] = {}


class Tensor(Array):
    """A tensor of the host."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = FUNCTIONS
    device, is_cuda = "cuda", True

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[indices(key)] = self.dtype.rounded(np.asarray(tensor(value).data))

    def __matmul__(self, other: Any) -> Tensor:
        tensors_only("matmul", other)
        if self.dtype != other.dtype:
            raise RuntimeError(f"a product of {self.dtype} and {other.dtype}")
        dtype = self.dtype
        numbers_only("matmul", dtype)
        if not dtype.is_floating_point:
            return made(self.data @ other.data, dtype)
        wide = np.promote_types(dtype.computed, np.float32)
        return made(self.data.astype(wide) @ other.data.astype(wide), dtype)

    @property
    def T(self) -> Tensor:
        """The tensor with its dimensions reversed."""
        return Tensor(self.data.T, self.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.data.ndim


operators.install(Tensor)


def made(numbers: Any, dtype: DType) -> Tensor:
    """Return numbers as a tensor, rounded to a type."""
    return Tensor(dtype.rounded(np.asarray(numbers)), dtype)


def tensor(value: Any, dtype: DType | None = None, **_: Any) -> Tensor:
    """Return numbers, nested lists or another array as a tensor."""
    if isinstance(value, Array):
        return made(value.data, dtype or value.dtype)
    numbers = np.asarray(value)
    kinds = {"b": BOOL, "i": INT64, "f": FLOAT32}
    return made(numbers, dtype or kinds[numbers.dtype.kind])


def _sizes(given: Any) -> list[int]:
    flat = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given
    return [int(n) for n in flat]


def _filled(value: float) -> Callable[..., Tensor]:
    def function(*size: Any, dtype: DType = FLOAT32, **_: Any) -> Tensor:
        missing = value if dtype.is_floating_point or not math.isnan(value) else 0
        return Tensor(np.full(_sizes(size), missing, dtype.computed), dtype)

    return function


def _full(size: Any, fill_value: Any, *, dtype: DType | None = None, **_: Any) -> Tensor:
    return made(np.full(_sizes((size,)), fill_value), dtype or tensor(fill_value).dtype)


def _arange(*bounds: Any, dtype: DType = INT64, **_: Any) -> Tensor:
    return made(np.arange(*(float(b) if isinstance(b, float) else int(b) for b in bounds)), dtype)


class Generator:
    """A source of random numbers."""

    def __init__(self, device: object = None) -> None:
        self.device = device
        self.manual_seed(0)

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed."""
        self.draw = np.random.default_rng(int(seed))
        return self


_COMMON = Generator()


def _random(
    distribution: Callable[[np.random.Generator, list[int]], Numbers],
) -> Callable[..., Tensor]:
    def function(
        *size: Any, generator: Generator | None = None, dtype: DType = FLOAT32, **_: Any
    ) -> Tensor:
        return made(distribution((generator or _COMMON).draw, _sizes(size)), dtype)

    return function


def _randint(low: int, high: int, size: Any, *, generator: Any = None, **named: Any) -> Tensor:
    numbers = (generator or _COMMON).draw.integers(low, high, _sizes((size,)))
    return made(numbers, named.get("dtype") or INT64)


def _like(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, dtype=None, **_: make(*x.shape, dtype=dtype or x.dtype)


# -- functions of tensors, which are their methods too -----------------------------------------


def _elementwise(operation: Callable[[Numbers], Numbers]) -> Callable[..., Tensor]:
    def function(x: Tensor) -> Tensor:
        dtype = x.dtype if x.dtype.is_floating_point else FLOAT32
        return made(operation(x.data.astype(dtype.computed)), dtype)

    return function


def _pairwise(operation: Callable[..., Any]) -> Callable[..., Tensor]:
    def function(x: Any, y: Any) -> Tensor:
        tensors_only(operation.__name__, x, y)
        both, dtype = operands(x, y)
        return made(operation(*both), dtype)

    return function


def _summed(x: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    kind = dtype or (x.dtype if x.dtype.is_floating_point else INT64)
    wide = np.promote_types(kind.computed, np.float32 if kind.is_floating_point else np.int64)
    return made(np.sum(x.data.astype(wide), axis=_axes(dim), keepdims=keepdim), kind)


def _mean(x: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    kind = dtype or x.dtype
    if not kind.is_floating_point:
        raise RuntimeError(f"mean(): could not infer output dtype of {kind}")
    wide = np.promote_types(kind.computed, np.float32)
    return made(np.mean(x.data.astype(wide), axis=_axes(dim), keepdims=keepdim), kind)


def _axes(dim: Any) -> Any:
    return tuple(dim) if isinstance(dim, list) else dim


def _extremes(operation: Callable[..., Any]) -> Callable[..., Tensor]:
    def function(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        return made(operation(x.data, axis=_axes(dim), keepdims=keepdim), x.dtype)

    return function


class Found(NamedTuple):
    """The result of `max` and `min` along a dimension."""

    values: Tensor
    indices: Tensor


def _extreme(
    operation: Callable[..., Any], place: Callable[..., Any], pairwise: Callable[..., Tensor]
) -> Callable[..., Any]:
    def function(x: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        if isinstance(dim, Tensor):
            return pairwise(x, dim)
        if dim is None:
            return made(operation(x.data), x.dtype)
        where = np.asarray(place(x.data, axis=dim, keepdims=keepdim))
        return Found(
            made(operation(x.data, axis=dim, keepdims=keepdim), x.dtype), made(where, INT64)
        )

    return function


def _truths(operation: Callable[..., Any]) -> Callable[..., Tensor]:
    return lambda x, dim=None, keepdim=False: made(
        operation(x.data, axis=_axes(dim), keepdims=keepdim), BOOL
    )


def _same_kind(operation: Callable[[Numbers], Any]) -> Callable[..., Tensor]:
    """Return a function that leaves the type of integers."""

    def function(x: Tensor) -> Tensor:
        numbers_only(operation.__name__, x.dtype)
        return made(operation(x.data), x.dtype)

    return function


REDUCES: dict[str, Any] = {"sum": np.add, "amax": np.maximum, "amin": np.minimum}


def _scatter_reduce(x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
    if index.dtype != INT64 or src.dtype != x.dtype or x.data.ndim != 1 or dim:
        raise RuntimeError("scatter_reduce_(): int64 indices, of one dimension, and equal types")
    REDUCES[reduce].at(x.data, index.data, src.data)
    x.data[...] = x.dtype.rounded(x.data)
    return x


def _to(x: Tensor, *given: Any, dtype: DType | None = None, **_: Any) -> Tensor:
    types = [one for one in given if isinstance(one, DType)]
    wanted = dtype or (types[0] if types else x.dtype)
    return x if wanted == x.dtype else made(x.data, wanted)


def _viewed(change: Callable[..., Numbers]) -> Callable[..., Tensor]:
    return lambda x, *given: Tensor(change(x.data, *given), x.dtype)


def _expanded(data: Numbers, *size: Any) -> Numbers:
    sizes = _sizes(size)
    had = [1] * (len(sizes) - data.ndim) + list(data.shape)
    return np.broadcast_to(data, [h if n == -1 else n for n, h in zip(sizes, had, strict=True)])


def _inserted(x: Tensor, value: Any) -> Tensor:
    x.data[...] = x.dtype.rounded(np.asarray(tensor(value).data))
    return x


def _normal(x: Tensor, mean: float = 0.0, std: float = 1.0, **_: Any) -> Tensor:
    return _inserted(x, Tensor(_COMMON.draw.normal(mean, std, x.shape), DTYPES["float64"]))


def _where(condition: Tensor, x: Any, y: Any) -> Tensor:
    tensors_only("where", condition)
    if condition.dtype != BOOL:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor (got {condition.dtype})"
        )
    both, dtype = operands(x, y)
    return made(np.where(condition.data, *both), dtype)


def _softmax(x: Tensor, dim: int = -1) -> Tensor:
    wide = x.data.astype(np.promote_types(x.data.dtype, np.float32))
    powers = np.exp(wide - wide.max(axis=dim, keepdims=True))
    return made(powers / powers.sum(axis=dim, keepdims=True), x.dtype)


def _stride(x: Tensor, dim: int | None = None) -> Any:
    steps = tuple(step // x.data.itemsize for step in x.data.strides)
    return steps if dim is None else steps[dim]


def _sized(data: Numbers, *size: Any) -> Numbers:
    made = data.reshape(_sizes(size))
    if not np.shares_memory(made, data) and data.size:
        raise RuntimeError("view size is not compatible with the tensor's strides: use reshape")
    return made


ELEMENTWISE = ("cos", "exp", "exp2", "log", "log2", "sin", "sqrt", "tanh")
FUNCTIONS |= {name: _elementwise(getattr(np, name)) for name in ELEMENTWISE}
FUNCTIONS |= {
    "rsqrt": _elementwise(lambda x: 1 / np.sqrt(x)),
    "sigmoid": _elementwise(lambda x: 1 / (1 + np.exp(-x))),
    "erf": _elementwise(np.vectorize(math.erf)),
    "maximum": _pairwise(np.maximum),
    "minimum": _pairwise(np.minimum),
    "matmul": Tensor.__matmul__,
    "mm": Tensor.__matmul__,
    **{name: _same_kind(getattr(np, name)) for name in ("abs", "ceil", "floor")},
    "amax": _extremes(np.max),
    "amin": _extremes(np.min),
    "sum": _summed,
    "mean": _mean,
    "max": _extreme(np.max, np.argmax, _pairwise(np.maximum)),
    "min": _extreme(np.min, np.argmin, _pairwise(np.minimum)),
    "all": _truths(np.all),
    "any": _truths(np.any),
    "clamp": operators.clamp,
    "div": operators.div,
    "fmod": operators.fmod,
    "scatter_reduce_": _scatter_reduce,
    "is_floating_point": lambda x: x.dtype.is_floating_point,
    "select": lambda x, dim, index: Tensor(np.moveaxis(x.data, dim, 0)[int(index)], x.dtype),
    "broadcast_tensors": lambda *xs: tuple(
        Tensor(data, x.dtype)
        for data, x in zip(np.broadcast_arrays(*(x.data for x in xs)), xs, strict=True)
    ),
    "where": _where,
    "softmax": _softmax,
    "to": _to,
    "reshape": _viewed(lambda data, *size: data.reshape(_sizes(size))),
    "view": _viewed(_sized),
    "permute": _viewed(lambda data, *order: data.transpose(_sizes(order))),
    "transpose": _viewed(np.swapaxes),
    "t": _viewed(np.transpose),
    "unsqueeze": _viewed(np.expand_dims),
    "squeeze": _viewed(np.squeeze),
    "expand": _viewed(_expanded),
    "repeat_interleave": _viewed(np.repeat),
    "contiguous": _viewed(np.ascontiguousarray),
    "clone": _viewed(np.array),
    "tril": _viewed(np.tril),
    "triu": _viewed(np.triu),
    "fill_": _inserted,
    "copy_": _inserted,
    "zero_": lambda x: _inserted(x, 0),
    "normal_": _normal,
    "isfinite": lambda x: made(np.isfinite(x.data), BOOL),
    "isnan": lambda x: made(np.isnan(x.data), BOOL),
    "item": lambda x: x.data.item(),
    "numel": lambda x: x.data.size,
    "element_size": lambda x: x.dtype.itemsize,
    "is_contiguous": lambda x: x.data.flags.c_contiguous,
    "data_ptr": lambda _: 0,
    "size": lambda x, dim=None: x.shape if dim is None else x.shape[dim],
    "stride": _stride,
    "cat": lambda xs, dim=0: made(np.concatenate([x.data for x in xs], axis=dim), xs[0].dtype),
    "stack": lambda xs, dim=0: made(np.stack([x.data for x in xs], axis=dim), xs[0].dtype),
}
TYPES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "long": "int64",
}
FUNCTIONS |= {
    method: lambda x, dtype=DTYPES[name]: _to(x, dtype)
    for method, name in (TYPES | {"bfloat16": "bfloat16", "bool": "bool"}).items()
}
FUNCTIONS |= dict.fromkeys(("cpu", "cuda", "detach", "requires_grad_"), lambda x, *_, **__: x)
OFFERED = FUNCTIONS | {
    **DTYPES,
    **{name: DTYPES[called] for name, called in TYPES.items()},
    "Generator": Generator,
    "Tensor": Tensor,
    "arange": _arange,
    "dtype": DType,
    "empty": _filled(np.nan),
    "empty_like": _like(_filled(np.nan)),
    "full": _full,
    "full_like": lambda x, value, **_: made(np.full(x.shape, value), x.dtype),
    "manual_seed": _COMMON.manual_seed,
    "ones": _filled(1),
    "ones_like": _like(_filled(1)),
    "rand": _random(lambda draw, size: draw.random(size)),
    "randint": _randint,
    "randn": _random(lambda draw, size: draw.standard_normal(size)),
    "randn_like": _like(_random(lambda draw, size: draw.standard_normal(size))),
    "tensor": tensor,
    "zeros": _filled(0),
    "zeros_like": _like(_filled(0)),
}

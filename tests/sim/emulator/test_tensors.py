"""The stand-in for PyTorch has its types, and refuses what it refuses."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from twill.sim.emulator import tensors
from twill.sim.emulator.tensors import Tensor

NAMES: tuple[str, ...] = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
)
NAMES += ("bfloat16",)
NUMBERS = (True, 3, 2.5)
BINARY: tuple[str, ...] = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "and",
    "or",
    "xor",
    "lshift",
)
BINARY += ("rshift", "lt", "eq", "ge", "iadd", "imul", "radd", "rsub", "matmul")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "maximum": lambda torch, x, y: torch.maximum(x, y),
    "minimum": lambda torch, x, y: torch.minimum(x, y),
    "where": lambda torch, x, y: torch.where(x > 1, x, y),
    "where by a number": lambda torch, x, y: torch.where(x, x, y),
    "clamp": lambda _, x, y: x.clamp(min=y),
    "truncated": lambda torch, x, y: torch.div(x, y, rounding_mode="trunc"),
    "fmod": lambda torch, x, y: torch.fmod(x, y),
    "sum": lambda _, x, __: x.sum(0),
    "mean": lambda _, x, __: x.mean(),
    "amax": lambda _, x, __: x.amax(1),
    "max": lambda _, x, __: x.max(1).values,
    "exp": lambda torch, x, _: torch.exp(x),
    "abs": lambda torch, x, _: torch.abs(x),
    "floor": lambda torch, x, _: torch.floor(x),
    "negative": lambda _, x, __: -x,
    "inverted": lambda _, x, __: ~x,
}
OF_ONE = [*FUNCTIONS][[*FUNCTIONS].index("sum") :]


def made(torch: Any, dtype: str, size: int) -> Any:
    """Return a tensor of small numbers, none of them zero; without dimensions of size 0."""
    kind = getattr(torch, dtype)
    if not size:
        return torch.tensor(2).to(kind)
    return torch.arange(1, 1 + size * size).reshape(size, size).to(kind)


def cases() -> Iterator[tuple[str, str, object, int]]:
    """Yield what is computed, of a tensor of a type, with another or a number, of what size."""
    for name, dtype in itertools.product((*BINARY, *FUNCTIONS), NAMES):
        if (name, dtype) == ("where by a number", "uint8"):
            continue  # which PyTorch still takes, and warns
        others: tuple[str | complex, ...] = NAMES[:1] if name in OF_ONE else (*NAMES, *NUMBERS)
        for other in others:
            yield name, dtype, other, 2
        for other in ("int64", "float64", "float16"):
            yield name, dtype, other, 0


def result(torch: Any, name: str, dtype: str, other: Any, size: int) -> Any:
    x = made(torch, dtype, 2)
    y = made(torch, other, size) if isinstance(other, str) else other
    if name in BINARY:
        return getattr(x, f"__{name}__")(y)
    return FUNCTIONS[name](torch, x, y)


def told(torch: Any, *case: Any) -> str | tuple[str, list[Any]]:
    """Return type and numbers of a result, or that there is none."""
    try:
        found = result(torch, *case)
    except (RuntimeError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        return "refused"
    if found is NotImplemented:
        return "refused"
    wide = torch.float64
    return str(found.dtype), np.asarray(found.to(wide).data).round(5).tolist()


class _StandIn:
    def __getattr__(self, name: str) -> Any:
        return tensors.OFFERED[name]


STAND_IN: Any = _StandIn()


@pytest.mark.torch
def test_the_stand_in_does_what_pytorch_does() -> None:
    torch = importlib.import_module("torch")
    wrong = []
    for case in cases():
        ours, theirs = told(STAND_IN, *case), told(torch, *case)
        if ours != theirs:
            wrong.append((case, ours, theirs))
    assert wrong == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda x: STAND_IN.maximum(x, 0.0), "must be a Tensor, not float"),
        (lambda x: STAND_IN.where(x, x, 0.0), "boolean tensor"),
        (lambda x: x & 1, "not implemented for torch.float32"),
        (lambda x: x.to(STAND_IN.int32) // 0, "ZeroDivisionError"),
        (lambda x: x @ x.to(STAND_IN.float64), "a product of torch.float32 and torch.float64"),
        (lambda x: x.T.view(4), "use reshape"),
    ],
)
def test_what_pytorch_refuses_is_refused(wrong: Callable[[Tensor], Any], said: str) -> None:
    with pytest.raises((TypeError, RuntimeError), match=said):
        wrong(STAND_IN.ones(2, 2))


def test_a_sum_in_place_changes_the_tensor() -> None:
    x = STAND_IN.zeros(3)
    rows = x[1:]
    rows += 2
    assert x.data.tolist() == [0, 2, 2]
    whole = STAND_IN.zeros(3, dtype=STAND_IN.int32)
    with pytest.raises(RuntimeError, match="can't be cast"):
        whole += 0.5

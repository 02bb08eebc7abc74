"""Cost rules: what an operation costs by its kind, its shapes and its types, as expressions.

Expressions are arithmetic with numbers, names and `FUNCTIONS`; simpleeval evaluates them.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import AfterValidator, Field

from twill.artifacts.base import Part, by_identity, refuse
from twill.artifacts.hardware import MOST_UNITS, Memories, Quantity, Text, Unit
from twill.artifacts.loop import MOST_CYCLES, Cost, Name, Operation, Step
from twill.base.errors import InputError, short

MOST_RULES = 1_000
MOST_CHARACTERS = 500
MOST_NESTED = 40  # operations within each other
# Magnitude of a number; up to it whole numbers are exact as floating-point ones too.
LARGEST = 1 << 53
LARGEST_EXPONENT = 64
_TOLERANCE = 1e-9


def _number(value: object) -> float:
    if isinstance(value, int | float) and -LARGEST <= value <= LARGEST:
        return value
    number = isinstance(value, int | float)
    raise ValueError("a number beyond 2**53" if number else f"not a number: {short(value)}")


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` of numbers only, with a number as its result."""

    @functools.wraps(function)
    def bounded(*arguments: object) -> float:
        return _number(function(*map(_number, arguments)))

    return bounded


def _power(base: float, exponent: float) -> Any:
    if abs(exponent) > LARGEST_EXPONENT:
        raise ValueError(f"an exponent beyond {LARGEST_EXPONENT}")
    return base**exponent


FUNCTIONS = {
    function.__name__: _bounded(function)
    for function in (math.ceil, math.floor, max, min, math.log2)
}
_OPERATORS = {
    ast.Add: _bounded(operator.add),
    ast.Sub: _bounded(operator.sub),
    ast.Mult: _bounded(operator.mul),
    ast.Div: _bounded(operator.truediv),
    ast.FloorDiv: _bounded(operator.floordiv),
    ast.Mod: _bounded(operator.mod),
    ast.Pow: _bounded(_power),
    ast.USub: _bounded(operator.neg),
    ast.UAdd: _bounded(operator.pos),
    ast.Lt: _bounded(operator.lt),
    ast.LtE: _bounded(operator.le),
    ast.Gt: _bounded(operator.gt),
    ast.GtE: _bounded(operator.ge),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Not: operator.not_,
}
_NODES = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call),
    *(ast.Name, ast.Constant, ast.Load, ast.And, ast.Or, *_OPERATORS),
)


@functools.lru_cache(maxsize=4096)
def parsed(expression: str) -> ast.Expression:
    """Return the tree of an expression of numbers; a ValueError says what it may not have."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("not an expression") from None
    _check_depth(tree)
    _check_nodes(tree)
    return tree


def names_in(expression: str) -> frozenset[str]:
    """Return the names in an expression, functions left out."""
    nodes = ast.walk(parsed(expression))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name)) - set(FUNCTIONS)


def _check_depth(tree: ast.AST) -> None:
    level = [tree]
    for _ in range(MOST_NESTED):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise ValueError(f"an expression of more than {MOST_NESTED} operations within each other")


def _check_nodes(tree: ast.AST) -> None:
    """Refuse what an expression of numbers may not have."""
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    words = set(_words(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
                pass
            case ast.Call():
                raise ValueError(f"not a call of one of {' '.join(FUNCTIONS)}")
            case ast.Name(id=name) if name in FUNCTIONS and node not in called:
                raise ValueError(f"a function that is not called: {name}")
            case ast.Constant(value=str()) if node not in words:
                raise ValueError("text that is not compared with == or !=")
            case ast.Constant(value=value) if node not in words:
                _number(value)
            case _ if not isinstance(node, _NODES):
                raise ValueError(f"not arithmetic: {type(node).__name__}")


def _words(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the texts that are only asked to be equal, as in ``a_memory == 'smem'``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and all(
            isinstance(by, ast.Eq | ast.NotEq) for by in node.ops
        ):
            for side in (node.left, *node.comparators):
                if isinstance(side, ast.Constant) and isinstance(side.value, str):
                    yield side


def _checked(expression: str) -> str:
    """Return an expression, or refuse it inside a validator."""
    try:
        parsed(expression)
    except ValueError as error:
        raise refuse("", f"{error} (got {short(expression)})") from None
    return expression


Expression = Annotated[
    str, Field(min_length=1, max_length=MOST_CHARACTERS), AfterValidator(_checked)
]


class StepRule(Part):
    """A step of a rule, as expressions."""

    unit: Name
    cycles: Expression
    instructions: Expression = "1"
    count: Expression = "1"


class Rule(Part):
    """How operations of some kinds are costed; the first rule that applies counts.

    Expressions use ``+ - * / // % **``, comparisons, ``and or not``, ``if else``,
    ``ceil floor max min log2``, the machine's constants, the names in `let`, the operation's
    attributes and the variables listed in `variables`.
    """

    kind: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MOST_RULES)]
    when: Expression = "True"
    let: dict[str, Expression] = {}
    steps: Annotated[tuple[StepRule, ...], Field(min_length=1, max_length=MOST_UNITS)]
    asynchronous: bool = False
    issue: Expression = "0"
    latency: Expression
    working_set: Expression = "0"
    variable_latency: bool = False
    source: Text


class Transfer(Part):
    """Cycles for a register value to pass from one warp group to another through SMEM."""

    cycles: Expression
    source: Text


class _Machine(Protocol):
    """The parts of `twill.artifacts.machine.Machine` that costs depend on."""

    @property
    def file(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def memories(self) -> Memories: ...
    @property
    def units(self) -> Mapping[str, Unit]: ...
    @property
    def constants(self) -> Mapping[str, Quantity]: ...
    @property
    def transfer(self) -> Transfer: ...
    @property
    def rules(self) -> Sequence[Rule]: ...
    def threads(self, warps: int) -> int: ...


def variables(machine: _Machine, operation: Operation) -> dict[str, Any]:
    """Return the names that rules may use for an operation.

    ``elements bits bytes rows row_bytes per_thread columns`` describe the result, or operand 0 if
    there is none; ``columns`` only where there is TMEM. The same with ``input_`` describe operand
    0. ``access_bytes`` is a thread's access at once: all of its share unless attributes say less.
    ``contiguous_bytes`` lie side by side in global memory: all of the tile unless attributes say
    less. ``m n k a_memory b_memory`` describe a matrix product. Further names are
    ``result_memory``, ``warps``, ``integer`` (whether operand 0 is), the operation's attributes and
    the machine's constants.
    """
    first = operation.operands[0] if operation.operands else operation.result
    result = operation.result or first
    names: dict[str, Any] = {"warps": operation.warps}
    for prefix, tile in (("", result), ("input_", first)):
        if tile is not None:
            names |= {
                f"{prefix}elements": tile.elements,
                f"{prefix}bits": tile.bits,
                f"{prefix}bytes": tile.bytes,
                f"{prefix}rows": tile.rows,
                f"{prefix}row_bytes": tile.row_bytes,
                f"{prefix}per_thread": tile.elements_each(machine.threads(operation.warps)),
            }
            if machine.memories.tmem is not None:
                names[f"{prefix}columns"] = machine.memories.tmem.slot_size(tile)
    names["result_memory"] = operation.result.memory if operation.result else "none"
    names["integer"] = first is not None and first.dtype.startswith("i")
    if operation.kind.startswith("mma") and len(operation.operands) > 1 and operation.result:
        a, b = operation.operands[:2]
        names |= {"a_memory": a.memory, "b_memory": b.memory}
        if len(operation.result.shape) > 1 and a.shape:
            m, n = operation.result.shape[-2:]
            names |= {"m": m, "n": n, "k": a.shape[-1]}
    side_by_side: dict[str, Any] = {}
    if result is not None:
        access = names["per_thread"] * result.bits / 8
        side_by_side = {"access_bytes": access, "contiguous_bytes": result.bytes}
    constants = {name: quantity.value for name, quantity in machine.constants.items()}
    return {**constants, **side_by_side, **operation.attributes, **names}


@dataclass(frozen=True)
class Terms:
    """Values of the names in the expressions of a file, for one operation or for none."""

    names: dict[str, Any]
    file: str
    operation: str = ""

    @classmethod
    def of(cls, machine: _Machine, operation: Operation) -> Terms:
        """Return what stands in a machine's expressions for an operation."""
        return cls(variables(machine, operation), machine.file or machine.name, operation.name)

    def value(self, expression: str, path: str) -> Any:
        """Return the value of an expression.

        Raises
        ------
        InputError
            If a name is missing, or a number is none or beyond `LARGEST`.
        """
        import simpleeval

        try:
            return self._evaluator.eval(expression, previously_parsed=parsed(expression).body)
        except simpleeval.NameNotDefined as error:
            message = f"nothing named {short(error.name)}{self._whose}"
        except (simpleeval.InvalidExpression, ArithmeticError, TypeError, ValueError) as error:
            message = str(error)
        raise self.error(f"{message} in {short(expression)}", path)

    @functools.cached_property
    def _evaluator(self) -> Any:
        import simpleeval

        evaluator = simpleeval.SimpleEval(_OPERATORS, FUNCTIONS)
        evaluator.names = self.names
        return evaluator

    def cycles(self, expression: str, path: str) -> int:
        """Return the value of an expression in whole cycles, rounded up, or of what is counted."""
        value = self.value(expression, path)
        if isinstance(value, int | float) and 0 <= value <= MOST_CYCLES:
            return math.ceil(value - _TOLERANCE)
        message = f"a cost is a number from 0 to {MOST_CYCLES}{self._whose} (got {short(value)})"
        raise self.error(message, path)

    def error(self, message: str, path: str) -> InputError:
        """Return an error that names the file."""
        return InputError(message, path=path, file=self.file)

    @property
    def _whose(self) -> str:
        return f" for operation {short(self.operation)}" if self.operation else ""


def rule_for(machine: _Machine, operation: Operation) -> tuple[str, Rule]:
    """Return the first rule that applies to an operation, with its path.

    Raises
    ------
    InputError
        If none applies; names the operation, its location and the file to add a rule to.
    """
    terms = Terms.of(machine, operation)
    for index, rule in enumerate(machine.rules):
        path = f"rules[{index}]"
        if operation.kind in rule.kind and terms.value(rule.when, f"{path}.when"):
            return path, rule
    place = f" at {operation.location}" if operation.location else ""
    raise terms.error(
        f"no cost rule for kind {short(operation.kind)} (operation {short(operation.name)}"
        f"{place}): add a [[rules]] entry to this file",
        "rules",
    )


@by_identity(4096)
def cost_by_rule(machine: _Machine, operation: Operation) -> Cost:
    """Return what a machine's rules say that an operation costs, in clock cycles.

    Raises
    ------
    InputError
        If no rule applies, or a rule needs a fact that the operation lacks.
    """
    path, rule = rule_for(machine, operation)
    terms = Terms.of(machine, operation)
    for name, expression in rule.let.items():
        terms.names[name] = terms.value(expression, f"{path}.let.{name}")
    every = [_step(machine, terms, step, f"{path}.steps[{i}]") for i, step in enumerate(rule.steps)]
    steps = tuple(step for step in every if step is not None)
    if not steps:
        message = f"operation {short(operation.name)} would take no cycles"
        raise terms.error(message, f"{path}.steps")
    terms.names["occupancy"] = (max if rule.asynchronous else sum)(step.cycles for step in steps)
    issue, latency, working_set = (
        terms.cycles(getattr(rule, key), f"{path}.{key}")
        for key in ("issue", "latency", "working_set")
    )
    terms.names["bytes"] = operation.result.bytes if operation.result else 0
    return Cost(
        steps=steps,
        asynchronous=rule.asynchronous,
        issue=issue,
        latency=latency,
        working_set=working_set,
        transfer=terms.cycles(machine.transfer.cycles, "transfer.cycles"),
        variable_latency=rule.variable_latency,
    )


def _step(machine: _Machine, terms: Terms, rule: StepRule, path: str) -> Step | None:
    """Return the work on one unit, None if there is none to do."""
    cycles, instructions, count = (
        terms.cycles(getattr(rule, key), f"{path}.{key}")
        for key in ("cycles", "instructions", "count")
    )
    capacity = machine.units[rule.unit].capacity
    if count > capacity:
        message = f"operation {short(terms.operation)} needs {count} of unit {rule.unit}"
        raise terms.error(f"{message}, which has {capacity}", f"{path}.count")
    if not (cycles and count):
        return None
    return Step(unit=rule.unit, cycles=cycles, count=count, instructions=max(1, instructions))

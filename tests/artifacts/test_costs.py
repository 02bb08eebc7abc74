"""Expressions of cost rules compute with numbers of bounded size, and nothing else."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import twill
from twill.artifacts.costs import LARGEST, Terms, parsed, variables
from twill.artifacts.loop import ElementType, Operation, Tile

MACHINE = (Path(__file__).parents[2] / "machines" / "paper_example.toml").read_text()
CYCLES = 'unit = "TC", cycles = "1"'


def machine_with(expression: str) -> twill.Machine:
    assert CYCLES in MACHINE
    written = f'unit = "TC", cycles = {json.dumps(expression)}'
    return twill.Machine.from_toml(MACHINE.replace(CYCLES, written, 1).encode(), file="m.toml")


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ('f"{1:>2999999999}"', "not arithmetic: JoinedStr"),
        ('"x".ljust(3 * 10**9)', "not a call of one of ceil floor max min log2"),
        ('(1).to_bytes(10**9, "big")', "not a call of one of ceil floor max min log2"),
        ("warps.real", "not arithmetic: Attribute"),
        ("'ab' * 3", "text that is not compared with == or !="),
        ("'a' < 'b'", "text that is not compared with == or !="),
        ("max('ab')", "text that is not compared with == or !="),
        ("'ab'[0]", "not arithmetic: Subscript"),
        ("[1] == [1]", "not arithmetic: List"),
        ("max(*warps)", "not arithmetic: Starred"),
        ("max(1, key=2)", "not a call of one of"),
        ("randint(9)", "not a call of one of"),
        ("(lambda: 1)()", "not a call of one of"),
        ("max + 1", "a function that is not called: max"),
        ("1 << 9999", "not arithmetic: LShift"),
        ("1 in 2", "not arithmetic: In"),
        ("(x := 1)", "not arithmetic: NamedExpr"),
        ("1j", "not a number: 1j"),
        ("None", "not a number: None"),
        ("1e999", "a number beyond 2**53"),
        ("9" * 400, "a number beyond 2**53"),
        ("-" * 400 + "1", "an expression of more than 40 operations within each other"),
        ("+".join("1" * 60), "an expression of more than 40 operations within each other"),
        ("(" * 220 + "1" + ")" * 220, "not an expression"),
        ("1or 2", "not an expression"),
        ("1 +", "not an expression"),
    ],
)
def test_what_is_not_arithmetic_is_refused_with_the_file(expression: str, problem: str) -> None:
    with pytest.raises(twill.InputError) as caught:
        machine_with(expression)
    assert str(caught.value).startswith(f"m.toml: rules[0].steps[0].cycles: {problem}")


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("3999999**3999999", "an exponent beyond 64"),
        ("2 ** -65", "an exponent beyond 64"),
        ("2 ** 60", "a number beyond 2**53"),
        ("(2 ** 50) ** 60 // 2 ** 50", "a number beyond 2**53"),
        ("1e10 ** 60.5", "(34, 'Numerical result out of range')"),
        ("(0 - 8) ** 0.5", "not a number: "),
        ("word + 1", "not a number: 'smem'"),
        ("word * 3", "not a number: 'smem'"),
        ("min(word, word)", "not a number: 'smem'"),
        ("huge - huge", "a number beyond 2**53"),
        ("1 / 0", "division by zero"),
        ("log2(0)", ""),
    ],
)
def test_what_gets_too_large_or_is_no_number_ends_where_it_arises(
    expression: str, problem: str
) -> None:
    with pytest.raises(twill.InputError) as caught:
        Terms({"word": "smem", "huge": 1e300}, "m.toml").value(expression, "p")
    assert problem in str(caught.value)


def test_the_arithmetic_of_the_machine_files() -> None:
    terms = Terms({"m": 128, "memory": "smem", "flag": True}, "f")
    for expression, value in {
        "ceil(m / 3) + m // 3 - m % 3": 83,
        "2 ** 3 ** 2": 512,
        "max(1, m / 4) if memory == 'smem' else 0": 32,
        "memory != 'smem' or not flag": False,
        "'smem' == memory and 0 < m <= 128": True,
        "log2(m) * -1": -7,
        "m * 2 ** 46": LARGEST,
    }.items():
        assert terms.value(expression, "p") == value


VALID_LEAVES = ("0", "1", "3", "7.5", "9007199254740992", "x", "True")
OTHER_LEAVES = ("1e308", "9" * 30, "None", "''", "word", "max", "'smem'")
VALID_FORMS = (
    *(f"{{}} {sign} {{}}" for sign in ("+", "-", "*", "/", "//", "%", "**", "<", "==", "and")),
    *(f"{name}({{}}, {{}})" for name in ("max", "min")),
    *("ceil({})", "log2({})", "-({})", "not {}", "({})", "({} if {} else {})"),
)
OTHER_FORMS = (
    *(f"{{}} {sign} {{}}" for sign in ("<<", "|", "in", "is", "@", ":=")),
    *("{}.real", "{}[{}]", "({}, {})", "f'{}'", "str({})", "__import__({})", "{}.ljust({})"),
)


def random_expression(generator: random.Random, depth: int) -> str:
    """Write down something that has the form of an expression; about half of it is refused."""
    odd = generator.random() < 0.05
    if depth == 0:
        return generator.choice(OTHER_LEAVES if odd else VALID_LEAVES)
    parts = [random_expression(generator, depth - generator.randint(1, depth)) for _ in range(3)]
    return generator.choice(OTHER_FORMS if odd else VALID_FORMS).format(*parts)


def outcome(expression: str) -> str:
    try:
        parsed(expression)
    except ValueError:
        return "refused"
    try:
        value = Terms({"x": 3, "word": "smem"}, "f").value(expression, "p")
    except twill.InputError:
        return "failed"
    assert isinstance(value, int | float | str), expression
    assert isinstance(value, str) or abs(value) <= LARGEST, expression
    return "number"


def random_outcomes(seed: int, count: int) -> dict[str, int]:
    generator = random.Random(seed)
    ends = [outcome(random_expression(generator, 4)) for _ in range(count)]
    return {end: ends.count(end) for end in ("refused", "failed", "number")}


def test_random_expressions_are_bounded_or_refused() -> None:
    ends = random_outcomes(0, 2000)
    assert min(ends.values()) > 50, ends


LIMITED = """
import resource
from tests.artifacts.test_costs import random_outcomes
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
print(random_outcomes(1, 50_000))
"""


@pytest.mark.slow
@pytest.mark.nightly
def test_many_random_expressions_within_a_gigabyte() -> None:
    command = [sys.executable, "-c", LIMITED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("shape", "dtype", "rows", "row_bytes"),
    [
        ((128, 64), "bf16", 128, 128),
        ((1, 64, 16), "f32", 64, 64),
        ((64, 33), "f4e2m1", 64, 17),
        ((256,), "f16", 1, 512),
        ((), "f32", 1, 4),
    ],
)
def test_rules_know_the_rows_of_a_tile(
    shape: tuple[int, ...], dtype: ElementType, rows: int, row_bytes: int
) -> None:
    tile = Tile(shape=shape, dtype=dtype)
    operation = Operation(name="x", kind="load", result=tile, warps=1)
    names = variables(twill.Machine.named("hopper_h100"), operation)
    assert (names["rows"], names["row_bytes"]) == (rows, row_bytes)
    assert (names["input_rows"], names["input_row_bytes"]) == (rows, row_bytes)

"""Dumps that are broken, or merely changed, in every way that files get broken, from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from tests.support.fuzzing import TEXT_CHANGES, Mutant, TextChange, mutant

PACKAGED = sorted((Path(__file__).parents[2] / "traces" / "ttgir").glob("*.mlir"))
NUMBERS = ("0", "-1", "1", "3", "7", "1000000007", "9" * 40, "9" * 5000)
OPERATION = re.compile(r'"((?:tt|ttg|ttng|arith|math|scf)\.[\w.]+)"')
SHAPE = re.compile(r"(?<=[<x])\d+(?=x)")
NAMES = (
    "tt.load", "tt.store", "tt.dot", "tt.reduce", "tt.descriptor_gather", "tt.descriptor_scatter",
    "tt.atomic_rmw", "tt.trans", "tt.broadcast", "tt.expand_dims", "ttg.local_alloc",
    "ttg.local_load", "ttg.convert_layout", "ttng.tmem_alloc", "ttng.tmem_load", "ttng.tmem_store",
    "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "ttng.warp_group_dot", "arith.addf",
    "arith.constant", "scf.for", "scf.if", "scf.yield", "no.such", "x",
)  # fmt: skip


def renamed(text: str, generator: random.Random) -> str:
    return _one(OPERATION, text, generator, lambda _: f'"{generator.choice(NAMES)}"')


def all_renamed(text: str, generator: random.Random) -> str:
    old = generator.choice(OPERATION.findall(text))
    return text.replace(f'"{old}"', f'"{generator.choice(NAMES)}"')


def type_broken(text: str, generator: random.Random) -> str:
    kind = re.compile(r"tensor<[^>]*>|!tt\w*\.[\w.]+(?:<[^>]*>)?|\bf32\b|\bi32\b|\bi1\b")
    memory = ("#smem", "#ttng.tensor_memory")
    others = (
        "tensor<", "tensor<*xf32>", "tensor<4xf32>", "tensor<2x2xcomplex<f32>>", "f32", "i32",
        "i1", "!tt.ptr<f32>", "!ttg.async.token", "!ttg.memdesc<4xf32>", "index", "none", "f99",
        "vector<4xf32>", *(f"!ttg.memdesc<8x8xf32, {m}, mutable>" for m in memory),
    )  # fmt: skip
    return _one(kind, text, generator, lambda _: generator.choice(others))


def alias_cut(text: str, generator: random.Random) -> str:
    return _one(re.compile(r"^#\w+ = .*\n", re.MULTILINE), text, generator, lambda _: "")


def alias_renamed(text: str, generator: random.Random) -> str:
    use = re.compile(r"#(?:blocked|linear|mma|shared|tmem|smem)\d*")
    others = ("#gone", "#blocked", "#smem", "#ttg.x", "#")
    return _one(use, text, generator, lambda _: generator.choice(others))


def alias_of_itself(text: str, generator: random.Random) -> str:
    return _one(re.compile(r"^(#\w+) = .*$", re.MULTILINE), text, generator,
                lambda m: f"{m[1]} = #ttg.slice<{{dim = 0, parent = {m[1]}}}>")  # fmt: skip


def aliases_that_double(text: str, generator: random.Random) -> str:
    names = [f"#bomb{i}" for i in range(generator.randrange(2, 40))]
    lines = [f"{a} = #ttg.x<{{a = {b}, b = {b}}}>\n" for a, b in pairwise(names)]
    text = re.sub(r"#(blocked|linear|mma)\b(?! =)", names[0], text, count=3)
    return "".join(lines) + f"{names[-1]} = #ttg.y\n" + text


def operands_swapped(text: str, generator: random.Random) -> str:
    return _operands(text, generator, lambda found: generator.sample(found, len(found)))


def operand_removed(text: str, generator: random.Random) -> str:
    return _operands(text, generator, lambda found: found[: generator.randrange(len(found))])


def operand_twice(text: str, generator: random.Random) -> str:
    return _operands(text, generator, lambda found: found + found[:1])


def operand_of_itself(text: str, generator: random.Random) -> str:
    own = re.compile(r"(%\w+)((?::\d+)? = \"[\w.]+\"\()%\w+")
    return _one(own, text, generator, lambda m: f"{m[1]}{m[2]}{m[1]}")


def operand_from_elsewhere(text: str, generator: random.Random) -> str:
    values = re.findall(r"%\w+(?= = )", text)
    return _one(re.compile(r"%\w+(?=[,)])"), text, generator, lambda _: generator.choice(values))


def attribute_removed(text: str, generator: random.Random) -> str:
    return _one(re.compile(r"[\w.]+ = [^,{}<>]+(?:, )?(?=[\w}])"), text, generator, lambda _: "")


def attributes_removed(text: str, generator: random.Random) -> str:
    name = generator.choice(re.findall(r"([\w.]+) = (?=[\d\"t])", text))
    return re.sub(rf"\b{re.escape(name)} = [^,{{}}<>]+(?:, )?", "", text)


def layout_changed(text: str, generator: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    aliases = [i for i, line in enumerate(lines) if line.startswith("#")]
    place = generator.choice(aliases)
    lines[place] = _one(re.compile(r"\d+(?=[\],}])"), lines[place], generator,
                        lambda _: generator.choice(NUMBERS))  # fmt: skip
    return "".join(lines)


def shape_changed(text: str, generator: random.Random) -> str:
    return _one(SHAPE, text, generator, lambda _: generator.choice((*NUMBERS, "64x2", "?")))


def all_shapes_changed(text: str, generator: random.Random) -> str:
    old = generator.choice(SHAPE.findall(text))
    return re.sub(rf"(?<=[<x]){old}(?=x)", generator.choice(NUMBERS), text)


def yields_changed(text: str, generator: random.Random) -> str:
    return _operands(text, generator, lambda found: found[1:] or found * 2, name=r"scf\.yield")


def arguments_changed(text: str, generator: random.Random) -> str:
    argument = re.compile(r"(?<=, )%\w+: [^%]*?(?:, (?=%)|(?=\):\n))")
    return _one(argument, text, generator, lambda m: generator.choice(("", m[0] + m[0])))


def loop_operands_changed(text: str, generator: random.Random) -> str:
    return _operands(text, generator, lambda found: found[: generator.randrange(len(found))],
                     name=r"scf\.for")  # fmt: skip


def region_removed(text: str, generator: random.Random) -> str:
    region = re.compile(r" \(\{\n(?:(?!\(\{)[\s\S])*?\n *\}\)")
    return _one(region, text, generator, lambda _: generator.choice(("", " ({})", " ({\n})")))


def nested_types(text: str, generator: random.Random) -> str:
    depth = generator.choice((10, 1000, 20_000))
    opened, closed = generator.choice((("tensor<4x", ">"), ("!tt.ptr<", ">"), ("tuple<", ">")))
    kind = opened * depth + "f32" + closed * depth
    return _one(re.compile(r"\bf32\b"), text, generator, lambda _: kind)


def nested_layouts(text: str, generator: random.Random) -> str:
    depth = generator.choice((10, 300, 20_000))
    layout = "#ttg.slice<{dim = 0, parent = " * depth + "#ttg.x" + "}>" * depth
    return _one(re.compile(r"^(#\w+) = .*$", re.MULTILINE), text, generator,
                lambda m: f"{m[1]} = {layout}")  # fmt: skip


def nested_regions(text: str, generator: random.Random) -> str:
    depth = generator.choice((10, 400, 5_000))
    nest = '"scf.if"(%x) ({\n' * depth + "}) : (i1) -> ()\n" * depth
    return _one(re.compile(r"^ *%", re.MULTILINE), text, generator, lambda m: nest + m[0])


CHANGES: tuple[TextChange, ...] = (
    renamed, all_renamed, type_broken, alias_cut, alias_renamed, alias_of_itself,
    aliases_that_double, operands_swapped, operand_removed, operand_twice, operand_of_itself,
    operand_from_elsewhere, attribute_removed, attributes_removed, layout_changed, shape_changed,
    all_shapes_changed, yields_changed, arguments_changed, loop_operands_changed, region_removed,
    nested_types, nested_layouts, nested_regions, *TEXT_CHANGES,
)  # fmt: skip


def mutations(seed: int, count: int) -> Iterator[Mutant]:
    """Yield broken dumps; every kind of change comes in turn, some of them twice over."""
    generator = random.Random(seed)
    texts = [file.read_text() for file in PACKAGED]
    for number in range(count):
        changes = [CHANGES[number % len(CHANGES)]]
        while generator.random() < 0.2:
            changes.append(generator.choice(CHANGES))
        text = generator.choice(texts)
        for change in changes:
            text = change(text, generator) or text
        yield mutant([getattr(change, "__name__", "token") for change in changes], text, generator)


def _one(
    pattern: re.Pattern[str],
    text: str,
    generator: random.Random,
    change: Callable[[re.Match[str]], str],
) -> str:
    """Change one of the places that a pattern matches; none if it matches nowhere."""
    places = list(pattern.finditer(text))
    if not places:
        return text
    match = generator.choice(places)
    return text[: match.start()] + change(match) + text[match.end() :]


def _operands(
    text: str,
    generator: random.Random,
    change: Callable[[list[str]], list[str]],
    name: str = r"[\w.]+",
) -> str:
    operands = re.compile(rf'(?<=")({name})"\((%[^()]*)\)')
    return _one(operands, text, generator,
                lambda m: f'{m[1]}"({", ".join(change(m[2].split(", ")))})')  # fmt: skip

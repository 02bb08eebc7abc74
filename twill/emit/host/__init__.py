"""The host side of an emitted file: launch, arguments, reference, tests, benchmark."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from twill.emit.expressions import helpers
from twill.emit.expressions.texts import Text, joined
from twill.emit.expressions.torch import Torch
from twill.emit.layouts import TORCH, dtype
from twill.emit.names import INDENT, LINE
from twill.emit.source import SSAValue
from twill.frontends.ttgir.reader import name_of

if TYPE_CHECKING:
    from twill.emit.kernel import _Kernel

NUMBER = {"f32": "fp32", "f16": "fp16", "bf16": "bf16", "f64": "fp64", "ui8": "u8"}
NUMBER |= {"f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5"}
SCALE = "ui8"  # elements that are exponents of scales
MEMORY = '''\
WHOLE = (torch.int32, torch.int64)


class Memory:
    """A tensor in global memory as the reference reads and writes it.

    Without a tensor it only notes how far accesses reach; of a table it knows what is where.
    """

    def __init__(self, tensor=None, kind=None, table=None):
        self.tensor, self.table, self.reach = tensor, table, None
        self.kind = kind if tensor is None else tensor.dtype
        self.is_real = self.kind.is_floating_point

    def _note(self, at, shape):
        ends = [int(begin) + extent for begin, extent in zip(at, shape)]
        self.reach = ends if self.reach is None else [max(p) for p in zip(self.reach, ends)]

    def _part(self, at, shape):
        return tuple(slice(int(begin), int(begin) + extent) for begin, extent in zip(at, shape))

    def load(self, at, shape, exact):
        if self.tensor is None:
            self._note(at, shape)
            return torch.zeros(shape, dtype=wide(exact) if self.is_real else self.kind)
        tile = self.tensor[self._part(at, shape)]
        return tile.to(wide(exact)) if exact and self.is_real else tile.clone()

    def store(self, at, value):
        if self.tensor is None:
            return self._note(at, value.shape)
        self.tensor[self._part(at, value.shape)] = value.to(self.tensor.dtype)

    def add(self, at, value):
        if self.tensor is None:
            return self._note(at, value.shape)
        self.tensor[self._part(at, value.shape)] += value.to(self.tensor.dtype)

    def load_at(self, offsets, mask=True, other=0.0, exact=True):
        offsets = torch.tensor(offsets) if isinstance(offsets, int) else offsets
        if self.tensor is None:
            self._note([int(offsets.max())], [1])
            if self.table is not None:
                return self.table(offsets)
            return torch.zeros(offsets.shape, dtype=wide(exact) if self.is_real else self.kind)
        if mask is not True:
            offsets = torch.where(mask, offsets, 0)
        tile = self.tensor[offsets.to(torch.int64)]
        tile = tile if mask is True else torch.where(mask, tile, other)
        return tile.to(wide(exact)) if exact and self.is_real else tile.clone()

    def store_at(self, offsets, value, mask=True):
        if self.tensor is None:
            return self._note([int(offsets.max())], [1])
        if mask is not True:
            offsets, value = offsets[mask], value[mask]
        self.tensor[offsets.to(torch.int64)] = value.to(self.tensor.dtype)

    def update_at(self, offsets, value, how, mask=True):
        if self.tensor is None:
            return self._note([int(offsets.max())], [1])
        mask = torch.tensor(True) if mask is True else mask
        offsets, value, mask = torch.broadcast_tensors(offsets, value, mask)
        at = offsets[mask].to(torch.int64)
        self.tensor.scatter_reduce_(0, at, value[mask].to(self.tensor.dtype), how)


def wide(exact):
    return torch.float64 if exact else torch.float32


def rounded(value, kind, exact):
    return value.to(wide(True)) if exact else value.to(kind)


def product(a, b, exact):
    if exact is None:  # only shapes count
        return torch.zeros((a.shape[0], b.shape[1]))
    if not a.dtype.is_floating_point:  # integers are exact in float64
        return (a.to(wide(True)) @ b.to(wide(True))).to(torch.int32)
    return a.to(wide(exact)) @ b.to(wide(exact))
'''


SCALES = '''\

def scaled(tile, scales, exact):
    """Multiply each row by block by a power of two, whose exponent is a byte less 127."""
    powers = torch.exp2(scales.to(wide(exact)) - 127)
    return tile.to(wide(exact)) * powers.repeat_interleave(tile.shape[1] // powers.shape[1], 1)
'''


def entry_point(kernel: _Kernel, warps: int) -> list[str]:
    """Return the constants that describe the kernel and the function that launches it.

    `warps`: of the default partition.
    """
    parameters = kernel.memories.parameters
    kinds = {}
    for p in parameters:
        element = NUMBER.get(p.dtype, p.dtype)
        if p.shape:
            block = block_of(kernel, p.name)
            kinds[p.name] = f"tensordesc<{element}[{','.join(map(str, block))}]>"
        else:
            size = kernel.choice.arguments.numbers.get(p.name)
            aligned = ":16" if p.pointer or (size is not None and size.aligned) else ""
            kinds[p.name] = f"{'*' if p.pointer else ''}{element}{aligned}"
    signature = [f'{INDENT}"{name}": "{kind}",' for name, kind in kinds.items()]
    descriptors = [p for p in parameters if p.shape]
    promise = kernel.schedule.promise
    loops = [s for s in kernel.source.function.walk() if name_of(s) == "scf.for"]
    # Of a kernel with other loops an iteration of the arguments is more than one of this.
    simulated = None
    if promise is not None and len(loops) == 1:
        simulated = f"{promise.interval_cycles:g}"
    lines = [
        f'KERNEL = "{kernel.kernel_name}"',
        "SIGNATURE = {",
        *signature,
        "}",
        f"OUTPUTS = {tuple(kernel.reference.outputs)!r}",
        "",
        "",
        "@dataclass(frozen=True)",
        "class KernelConfig:",
        f'{INDENT}"""What the kernel was made for; other values need another schedule."""',
        "",
        f"{INDENT}num_warps: int = {warps}  # of the default partition",
        f"{INDENT}least_iterations: int = {least_iterations(kernel)}",
        f"{INDENT}simulated_cycles: float | None = {simulated}  # of an iteration of the loop",
        "",
        "",
        "CONFIG = KernelConfig()",
        "",
        "",
        "def launch(arguments, grid):",
        f'{INDENT}"""Run the kernel on tensors and numbers by the names of its arguments."""',
        *guard(kernel),
        f"{INDENT}given = dict(arguments)",
    ]
    for p in descriptors:
        tile = list(block_of(kernel, p.name))
        made = f"gl.NVMMASharedLayout.get_default_for({tile}, gl.{dtype(p.dtype)})"
        lines.append(f"{INDENT}layout = {made}")
        lines.append(
            f'{INDENT}given["{p.name}"] = '
            f'TensorDescriptor.from_tensor(arguments["{p.name}"], {tile}, layout)'
        )
    names = ", ".join(f'given["{p.name}"]' for p in parameters)
    call = f"{kernel.kernel_name}[grid]({names}, num_warps=CONFIG.num_warps)"
    lines.append(INDENT + call)
    return lines


def guard(kernel: _Kernel) -> list[str]:
    """Return the check that the loop has enough iterations, where the host knows their number."""
    counted = trips(kernel)
    least = least_iterations(kernel)
    if counted is None or least == 1:
        return []
    wrong = f"the loop has at least {least} iterations (got {{trips}})"
    return [
        f"{INDENT}trips = {counted}",
        f"{INDENT}if trips < CONFIG.least_iterations:",
        f'{INDENT * 2}raise ValueError(f"{wrong}")',
    ]


def least_iterations(kernel: _Kernel) -> int:
    """Return the fewest iterations of the loop that the kernel may run."""
    if kernel.source.varies or kernel.source.trips is not None:
        return 1
    return max(1, *(p.last_stage for p in kernel.schedule.programs))


def reference(kernel: _Kernel, body: list[str]) -> list[str]:
    """Return the reference, and the arguments that tests use."""
    parameters = kernel.memories.parameters
    memory = [p for p in parameters if p.is_memory]
    names = ", ".join(p.name for p in parameters)
    given = ", ".join(f'memory.get("{p.name}", arguments.get("{p.name}"))' for p in parameters)
    outputs = ", ".join(f'"{name}"' for name in kernel.reference.outputs)
    return [
        *MEMORY.split("\n"),
        *(SCALES.split("\n") if any(p.dtype == SCALE for p in memory) else []),
        *helpers.needed("\n".join(body)),
        "",
        f"def one_program({names}, program, grid, exact, device):",
        f'{INDENT}"""The kernel as it was written, one program: return how often its loop runs."""',
        f"{INDENT}trips = 0",
        *(INDENT + line for line in body),
        f"{INDENT}return trips",
        "",
        "",
        "def every_program(memory, arguments, grid, exact, device):",
        f"{INDENT}trips = 0",
        f"{INDENT}for number in range(grid[0] * grid[1] * grid[2]):",
        f"{INDENT * 2}program = (",
        f"{INDENT * 3}number % grid[0], number // grid[0] % grid[1], number // grid[0] // grid[1]",
        f"{INDENT * 2})",
        f"{INDENT * 2}trips += one_program(",
        *(f"{INDENT * 3}{g}," for g in given.split(", memory")[:1]),
        *(f"{INDENT * 3}memory{g}," for g in given.split(", memory")[1:]),
        f"{INDENT * 3}program, grid, exact, device,",
        f"{INDENT * 2})",
        f"{INDENT}if trips == 0:",
        f'{INDENT * 2}raise ValueError("the loop runs in no program: this proves nothing")',
        "",
        "",
        "def reference(arguments, grid, exact=True):",
        f'{INDENT}"""Return what the kernel shall write, in float64 or in its own types."""',
        f"{INDENT}memory = {{}}",
        f"{INDENT}for name in {tuple(p.name for p in memory)!r}:",
        f"{INDENT * 2}tensor = arguments[name]",
        f"{INDENT * 2}if name in OUTPUTS:",
        f"{INDENT * 3}real = exact and tensor.is_floating_point()",
        f"{INDENT * 3}tensor = tensor.to(torch.float64) if real else tensor.clone()",
        f"{INDENT * 2}memory[name] = Memory(tensor)",
        f"{INDENT}device = arguments[{(list(kernel.reference.outputs) or ['?'])[0]!r}].device",
        f"{INDENT}every_program(memory, arguments, grid, exact, device)",
        f"{INDENT}return {{name: memory[name].tensor for name in ({outputs},)}}",
        "",
        "",
        *make_arguments(kernel),
    ]


def make_arguments(kernel: _Kernel) -> list[str]:
    """Return the function that makes arguments for a number of iterations."""
    choice, numbers = kernel.choice.arguments, []
    floats = 0
    for p in kernel.memories.parameters:
        if p.is_memory:
            continue
        if p.dtype.startswith("i"):
            text = choice.numbers[p.name].text
        else:  # in all types the same, and so are products with it
            text, floats = str(2.0 ** (floats - 3)), floats + 1
        numbers.append(f'"{p.name}": {text}')
    numbers.append(f'"grid": ({", ".join(size.text for size in choice.grid)})')
    memory = [p for p in kernel.memories.parameters if p.is_memory]
    kinds = ", ".join(f'"{p.name}": torch.{TORCH.get(p.dtype, dtype(p.dtype))}' for p in memory)
    tables = ", ".join(
        f'"{name}": lambda place: {entries.text}' for name, entries in choice.tables.items()
    )
    bytes_too = any(p.dtype == SCALE for p in memory)
    exponents = [
        f"{INDENT * 2}elif kind is torch.uint8:",
        f"{INDENT * 3}tensor = torch.randint(124, 131, shape, generator=generator)",
    ]
    filled = [
        f"{INDENT * 2}elif name in tables:",
        f"{INDENT * 3}tensor = tables[name](torch.arange(shape[0]))",
    ]
    noted = f"Memory(kind=kind{', table=tables.get(name)' if tables else ''})"
    return [
        'def make_arguments(iterations, seed=0, device="cuda", **given):',
        f'{INDENT}"""Return random arguments for so many iterations, and a grid.',
        "",
        f"{INDENT}Numbers and the grid can be given instead.{_kept_from(kernel)}",
        f'{INDENT}"""',
        f"{INDENT}arguments = {{{', '.join(numbers)}}}",
        f"{INDENT}if unknown := given.keys() - arguments.keys():",
        f'{INDENT * 2}raise ValueError(f"the kernel has no number {{min(unknown)}}")',
        f"{INDENT}arguments |= given",
        f'{INDENT}grid = arguments.pop("grid")',
        f"{INDENT}kinds = {{{kinds}}}",
        *([f"{INDENT}tables = {{{tables}}}"] if tables else []),
        f"{INDENT}memory = {{name: {noted} for name, kind in kinds.items()}}",
        f'{INDENT}every_program(memory, arguments, grid, None, "cpu")',
        f"{INDENT}generator = torch.Generator().manual_seed(seed)",
        f"{INDENT}for name, kind in kinds.items():",
        f"{INDENT * 2}shape = memory[name].reach",
        f"{INDENT * 2}if name in OUTPUTS:",
        f"{INDENT * 3}tensor = torch.zeros(shape)",
        *(exponents if bytes_too else []),
        *(filled if tables else []),
        f"{INDENT * 2}else:",
        f"{INDENT * 3}tensor = torch.randn(shape, generator=generator)",
        f"{INDENT * 2}arguments[name] = tensor.to(kind).to(device)",
        f"{INDENT}return arguments, grid",
    ]


def _kept_from(kernel: _Kernel) -> str:
    """Return what arguments do not do: numbers of iterations, and sides of masks."""
    choice, found = kernel.choice, kernel.choice.found
    others = {n: trips for n, trips in zip(choice.counts, found.trips, strict=True) if trips != n}
    told = []
    if others and kernel.source.trips is None:
        runs = ", ".join(f"{trips} for {n}" for n, trips in others.items())
        told.append(f"Not every number can be had: the loop runs {runs}.")
    never = [
        f"{kernel.source.hint(s.results[0]) or name_of(s)} ({words})"
        for s, words in choice.missing(found)
    ]
    if never:
        told.append(f"What never happens: {', '.join(never)}.")
    lines = [part for one in told for part in textwrap.wrap(one, LINE - len(INDENT))]
    return "".join(f"\n{INDENT}{line}" for line in lines)


def tests(kernel: _Kernel) -> list[str]:
    """Return the tests of an emitted file."""
    least = least_iterations(kernel)
    trips = sorted({least, least + 1, least + 2, 8})
    return [
        "def check(iterations):",
        f"{INDENT}arguments, grid = make_arguments(iterations)",
        f"{INDENT}expected = reference(arguments, grid)  # before outputs are added to",
        f"{INDENT}launch(arguments, grid)",
        f"{INDENT}for name, wanted in expected.items():",
        f"{INDENT * 2}error = (arguments[name].double() - wanted).abs().max() / wanted.abs().max()",
        f'{INDENT * 2}assert error < 1e-2, f"{{name}}: relative error {{error:.1e}}"',
        "",
        "",
        f'@pytest.mark.parametrize("iterations", {trips})',
        "def test_op(iterations):",
        f"{INDENT}check(iterations)",
        "",
        "",
        "def test_op_consan(monkeypatch):",
        f'{INDENT}"""With Triton\'s checks of concurrent accesses compiled in."""',
        f'{INDENT}monkeypatch.setenv("TRITON_INSTRUMENTATION_MODE", "consan")',
        f"{INDENT}check({max(2, least)})",
    ]


def benchmark() -> list[str]:
    """Return the benchmark of an emitted file."""
    return [
        "def bench(iterations=64):",
        f'{INDENT}"""Return milliseconds of one launch: the median of many, and the fifths."""',
        f"{INDENT}arguments, grid = make_arguments(iterations)",
        f"{INDENT}quantiles = [0.5, 0.2, 0.8]",
        f"{INDENT}return triton.testing.do_bench_cudagraph(  # launches cost the host more",
        f"{INDENT * 2}lambda: launch(arguments, grid), quantiles=quantiles",
        f"{INDENT})",
        "",
        "",
        'if __name__ == "__main__":',
        f'{INDENT}print(f"{{bench()[0]:.3f}} ms")',
    ]


def trips(kernel: _Kernel) -> str | None:
    """Return the number of iterations in terms of the arguments, if it follows from those."""
    bounds = (kernel.source.lower, kernel.source.upper, kernel.source.step)
    if any("program_id" in name or not name for name in kernel.source.origins(bounds)):
        return None
    lower, upper, step = (_on_host(kernel, value) for value in bounds)
    span = upper if lower.text == "0" else joined(upper, "-", lower)
    return span.text if step.text == "1" else f"-(-({span.text}) // {step})"


def _on_host(kernel: _Kernel, value: SSAValue) -> Text:
    statement = kernel.source.statement(value)
    if statement is None:
        return Text(f'arguments["{kernel.source.argument(value)}"]')
    return Torch(kernel.source).expression(
        statement, [_on_host(kernel, o) for o in statement.operands]
    )


def block_of(kernel: _Kernel, name: str) -> tuple[int, ...]:
    """Return the tile of an argument that is a descriptor."""
    parameter = next(p for p in kernel.memories.parameters if p.name == name)
    return kernel.epilogue.block_of(name, parameter.shape)

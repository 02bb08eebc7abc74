"""``twill loop``: list, show, extract and dump loops."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer
from typer import Argument, Option

from twill.base.console import say_written
from twill.base.errors import InputError
from twill.base.files import write_whole
from twill.base.tables import Column, Table
from twill.cli.command import Output, command, print_json, tell
from twill.cli.options import Json, LoopName, parse_settings

app = typer.Typer(no_args_is_help=True, help="Loops to schedule.")


@app.command("list")
@command
def list_(as_json: Json = False) -> None:
    """List the packaged loops."""
    from twill.frontends import packaged_loops

    loops = packaged_loops().values()
    if as_json:
        told = [{"name": o.name, "machine": o.machine, "description": o.description} for o in loops]
        print_json("loop-list", {"loops": told})
        return
    for machine in dict.fromkeys(entry.machine for entry in loops):
        rows = [[entry.name, entry.description] for entry in loops if entry.machine == machine]
        Table([Column(f"loop for {machine}"), Column("description")], rows).print()


@app.command()
@command
def show(
    loop: LoopName,
    machine: Annotated[
        str | None,
        Option(
            "--machine",
            "-m",
            help="A packaged name or a file; by default a packaged loop's own machine, or one of "
            "the architecture that the loop was compiled for.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the costs of a loop's operations, and its bounds; status 2 if a cost is unknown."""
    from twill.artifacts.machine import Machine
    from twill.bounds.analysis import analyse
    from twill.frontends import load_loop, machine_of, packaged_loops
    from twill.show.costs import costs_data, print_costs

    if machine is None and loop in packaged_loops():
        machine = packaged_loops()[loop].machine
    found = load_loop(loop)
    on = machine_of(found) if machine is None else Machine.named(machine)
    if on is None:
        raise InputError("this loop needs a machine: name one with --machine", file=loop)
    costs = analyse(found, on)
    tell("loop-costs", partial(costs_data, costs), partial(print_costs, costs), as_json=as_json)
    if costs.refusal is not None:
        raise costs.refusal


@app.command()
@command
def extract(
    file: Annotated[str, Argument(help="A TTGIR dump in MLIR's generic form (.mlir).")],
    output: Output,
    loop: Annotated[
        str | None, Option("--loop", help="Which loop, by name or number, where there are several.")
    ] = None,
    whole_tiles: Annotated[
        bool,
        Option(
            "--whole-tiles", help="Keep tensor memory accesses apart from the arithmetic between."
        ),
    ] = False,
    fp_fusion: Annotated[
        bool,
        Option(
            "--fp-fusion/--no-fp-fusion",
            help="Whether the compiler fuses a product and the sum or difference that reads it.",
        ),
    ] = True,
) -> None:
    """Extract a loop from a TTGIR dump, and report the statements taken and those folded away."""
    from twill.frontends.ttgir import load_ttgir
    from twill.show.inputs import extraction_data, print_extraction

    found = load_ttgir(file, loop=loop, whole_tiles=whole_tiles, fp_fusion=fp_fusion)
    data, show = partial(extraction_data, found), partial(print_extraction, found)
    output.keep(found, "loop-extraction", data, show)


@app.command()
@command
def subtile(
    loop: LoopName,
    factor: Annotated[int, Option("--factor", help="Number of sub-tiles, 2 to 64.")],
    output: Output,
    along: Annotated[
        str | None,
        Option(
            "--along",
            metavar="OPERATION:DIMENSION",
            help="Dimension of an operation's result to split; by default one that keeps loads "
            "shared.",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        Option(
            "--machine",
            "-m",
            help="Machine whose product instructions limit the sizes; by default that of the "
            "loop's architecture.",
        ),
    ] = None,
) -> None:
    """Split a loop's independent rows into sub-tiles; status 1 if they depend on each other."""
    from twill.artifacts.machine import Machine
    from twill.frontends import load_loop, threads_per_warp
    from twill.frontends.subtiling import Rewriter, plan_subtiles
    from twill.show.inputs import print_subtiles, subtiles_data

    on = None if machine is None else Machine.named(machine)
    plan = plan_subtiles(load_loop(loop), factor, along=along, machine=on)
    made = Rewriter(plan, threads_per_warp(plan.loop, on)).loop()
    data, show = partial(subtiles_data, plan, made), partial(print_subtiles, plan, made)
    output.keep(made, "loop-subtiles", data, show)


@app.command()
@command
def dump(
    kernel: Annotated[
        str, Argument(metavar="FILE.py:KERNEL", help="A kernel decorated with triton.jit.")
    ],
    sm: Annotated[int, Option("--sm", help="Compute capability: 90 or 100.")],
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="Value of a constant, or type or example value of another argument; "
            "constexpr:VALUE makes it a constant.",
        ),
    ] = None,
    like: Annotated[
        list[str] | None,
        Option(
            "--like",
            metavar="NAME=VALUE,...",
            help="Arguments of an example call: fp16[8192,4096] is a tensor (.T transposes it), "
            "a.stride(0) a stride, tensordesc(fp16[8192,64], [128,64]) a descriptor.",
        ),
    ] = None,
    warps: Annotated[
        int | None,
        Option(min=1, help="Warps of the kernel.", show_default="the autotuner's first, or else 4"),
    ] = None,
    subtiles: Annotated[
        str | None,
        Option(
            metavar="FACTOR[:PRODUCT:DIMENSION]",
            help="Split the tiles of the whole kernel, along the rows of a product; by default one "
            "that keeps loads shared.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        Option(
            "--output", "-o", help="Write the dump here (- for stdout), or to KERNEL.smNN.mlir."
        ),
    ] = None,
) -> None:
    """Compile a Triton kernel to TTGIR, without a GPU, and write the dump."""
    from twill.frontends.triton_dump import dump_kernel
    from twill.frontends.triton_dump.split import split_of

    name = kernel.rpartition(":")[2]
    if name in ("", kernel):
        raise InputError("the kernel must follow the file, as in file.py:kernel", file=kernel)
    split = None if subtiles is None else split_of(subtiles)
    text = dump_kernel(kernel, parse_settings(settings or []), sm, warps, like or (), split)
    target = output or f"{name}.sm{sm}.mlir"
    write_whole(target, text)
    say_written(target)

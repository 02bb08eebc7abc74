"""What a warp group executes for a trip count, written out."""

from __future__ import annotations

from collections.abc import Iterator

from twill.artifacts.program import Arrive, Await, Instruction, Interleave, Program, Wait


def unrolled(program: Program, iterations: int) -> Iterator[tuple[Instruction, int]]:
    """Yield what a group executes, in order, with the iterations concerned."""
    for number in range(iterations + program.last_stage):
        for instruction in program.body:
            parts = instruction.parts if isinstance(instruction, Interleave) else (instruction,)
            for part in parts:
                iteration = number - part.stage
                behind = part.distance if isinstance(part, Await | Wait | Arrive) else 0
                of = iteration - behind
                if 0 <= iteration < iterations and 0 <= of < iterations:
                    yield part, of

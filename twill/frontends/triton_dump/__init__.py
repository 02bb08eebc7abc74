"""Dump a Triton kernel's TTGIR where a scheduler wants it: tiled, placed, not yet pipelined.

Needs Triton (the extra ``[triton]``), neither a GPU nor torch. The dump is MLIR's generic form,
with what only Triton can tell as attributes of the operations: ``sched.name`` (the variable that an
operation computes, of a loop its induction variable), ``sched.location`` (file:line:column in the
kernel), ``sched.trivial`` on layout conversions (a mere renaming of registers), and
``sched.stage`` and ``sched.cluster`` on the operations of loops that Triton's own pipeliner would
pipeline.
"""

from twill.frontends.triton_dump.kernel import dump_kernel
from twill.frontends.triton_dump.lower import dump
from twill.frontends.triton_dump.programs import dump_compiled

__all__ = ["dump", "dump_compiled", "dump_kernel"]

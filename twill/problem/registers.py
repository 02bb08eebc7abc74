"""The register file as integers."""

from __future__ import annotations

from dataclasses import dataclass

from twill.artifacts.loop import THREADS_PER_WARP


@dataclass(frozen=True)
class RegisterFile:
    """Limits on registers per thread (see `twill.artifacts.machine.Registers`)."""

    file: int
    limit: int
    step: int
    least: int
    most: int
    warps: int
    reserve: int
    launch: int | None = None

    def pool(self, blocks: int) -> int:
        """Return the registers per thread that all blocks have together."""
        whole = self.file // (THREADS_PER_WARP * self.warps)
        if self.launch is None or not blocks:
            return whole
        return blocks * min(self.most, whole // blocks // self.launch * self.launch)


@dataclass(frozen=True)
class PinnedRegisters:
    """Registers per thread that an invariant occupies on every group with one of its users."""

    name: str
    registers: int
    used_by: tuple[int, ...]

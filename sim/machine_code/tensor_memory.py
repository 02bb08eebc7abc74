"""Tensor memory: products of tcgen05, the signals behind them, loads and stores."""

from __future__ import annotations

from collections.abc import Callable

from twill.sim.machine_code.barriers import MBarriers
from twill.sim.machine_code.clock import Clock
from twill.sim.machine_code.costs import Costs
from twill.sim.machine_code.groups import Group
from twill.sim.machine_code.registers import LANES, first
from twill.sim.machine_code.steps import Product, Step, tensor_product

_QUARTERS = 4  # of the lanes, one for each warp of a group
_REGISTER = 4  # bytes


class TensorMemory:
    """Products, signals and ports of tensor memory; `answer` releases scoreboards."""

    def __init__(
        self,
        clock: Clock,
        costs: Costs,
        mbarriers: MBarriers,
        answer: Callable[[Group, Step, float, float], None],
    ) -> None:
        self._clock, self._costs, self._mbarriers = clock, costs, mbarriers
        self._answer = answer
        self._products: dict[tuple[int, bool], Product] = {}
        self._free = {"tensor_load": 0.0, "tensor_store": 0.0}  # when each port is free

    def product(self, group: Group, step: Step) -> Product:
        """Return a product, whose shape is in a register of the group."""
        if step.shape is None:
            raise step.unknown
        key = first(step.shape(group.warp)), step.instruction.operands[0].startswith("tmem")
        if key not in self._products:
            self._products[key] = tensor_product(self._costs, key[0], inside=key[1])
        return self._products[key]

    def commit(self, group: Group, step: Step, _count: int) -> None:
        """Let an arrival follow the products of the group that were issued before."""
        if step.place is None:
            raise step.unknown
        address, costs = first(step.place(group.warp)), self._costs

        def arrive() -> None:
            self._mbarriers.arrive(address, 1)

        if group.committed > group.complete:
            group.commits.append((group.committed, arrive))
        else:
            self._clock.at(self._clock.now + costs.mbarrier_effect, arrive)
        self._answer(group, step, costs.product_answer, costs.product_answer)

    def move(self, group: Group, step: Step, _count: int) -> None:
        """Move registers of the warps of a group from or to tensor memory."""
        now, costs, loads = self._clock.now, self._costs, step.pipe == "tensor_load"
        rate = costs.tensor_load_rate if loads else costs.tensor_store_rate
        latency = costs.tensor_load_latency if loads else costs.tensor_store_latency
        size = step.tensor_registers * _REGISTER * LANES * _QUARTERS
        end = self._free[step.pipe] = max(now, self._free[step.pipe]) + size / rate
        if not loads:
            group.tensor_stored = end + latency
        self._answer(group, step, end + latency - now, end - now)

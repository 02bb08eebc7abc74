"""Port of shared memory: 128 bytes a cycle for all warps and for the factors of products."""

from __future__ import annotations

from twill.sim.machine_code.clock import Clock
from twill.sim.machine_code.costs import Costs
from twill.sim.machine_code.steps import Product
from twill.sim.machine_code.tensor_core import TensorCore

_FULL, _PART = 1.0, 0.75  # shares of the port that products of 64 and of 128 columns take


class Port:
    """Accesses of warps, in order, which share the port with the product under way.

    Attributes
    ----------
    wavefronts : float
        Cycles in which it moved data for warps.
    """

    def __init__(self, clock: Clock, costs: Costs, core: TensorCore) -> None:
        self.wavefronts = 0.0
        self._clock, self._core, self._costs = clock, core, costs
        self._free = 0.0
        self._shared = costs.shared_store_beside_full_wavefront > 0  # zero: products read elsewhere

    def access(self, wavefronts: float, *, stores: bool = True) -> tuple[float, float]:
        """Move some wavefronts; return when the access begins, and for how long it lasts.

        ``stores`` is whether each lane stores its own words; others wait longer for products.
        """
        begin = max(self._clock.now + self._costs.all_port, self._free)
        lasts, product = wavefronts, self._core.running
        if product is not None and self._shared:
            lasts, delay = self.beside(product, wavefronts, stores=stores)
            self._core.delay(delay)
        self._free = begin + lasts
        self.wavefronts += wavefronts
        return begin, lasts

    def beside(
        self, product: Product, wavefronts: float, *, stores: bool = True
    ) -> tuple[float, float]:
        """Return the cycles of an access during a product, and those that it adds to the product.

        The port is never idle meanwhile. The product gets the cycles that are not the access's
        own wavefronts, and is delayed by what it would have read beyond that.
        """
        costs = self._costs
        if product.inside:
            return wavefronts / max(0.5, 1 - product.share), 0.0
        full = min(1.0, max(0.0, (product.share - _PART) / (_FULL - _PART)))
        first = costs.shared_store_beside_part + full * (
            costs.shared_store_beside_full - costs.shared_store_beside_part
        )
        part = costs.shared_load_beside_part_wavefront
        if stores:
            part = costs.shared_store_beside_part_wavefront
        each = part + full * (costs.shared_store_beside_full_wavefront - part)
        lasts = first + each * wavefronts
        return lasts, max(0.0, lasts - (lasts - wavefronts) / product.share)

    def more_latency(self) -> float:
        """Return the cycles that the product under way adds to a load."""
        product = self._core.running
        if product is None or product.inside or not self._shared:
            return 0.0
        costs = self._costs
        return (
            costs.shared_load_beside_full
            if product.share >= _FULL
            else costs.shared_load_beside_part
        )

    def occupy(self, cycles: float) -> None:
        """Let a bulk store read for some cycles."""
        self._free = max(self._free, self._clock.now) + cycles

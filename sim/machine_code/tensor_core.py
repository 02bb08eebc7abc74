"""Tensor core: one queue of products for all groups, and the register slots that products take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from twill.sim.machine_code.clock import Clock
from twill.sim.machine_code.costs import Costs
from twill.sim.machine_code.steps import Product

_EPSILON = 1e-6


class TensorCore:
    """Products in the order of their issue, one at a time.

    Attributes
    ----------
    running : Product, optional
        The product under way.
    busy : float
        Cycles of the products begun so far, without delays.
    delayed : float
        Cycles that instructions of warps added to products.
    products : list of (float, float)
        Begin and end of each product that is complete.
    """

    def __init__(self, clock: Clock, costs: Costs) -> None:
        self.running: Product | None = None
        self.busy = 0.0
        self.delayed = 0.0
        self.products: list[tuple[float, float]] = []
        self.slots = RegisterSlots(clock, costs, self)
        self._clock = clock
        self._most = costs.product_queue
        self._queue: deque[tuple[float, Product, Callable[[], None] | None]] = deque()
        self._began = self._end = 0.0
        self._complete: Callable[[], None] | None = None

    @property
    def takes_slots(self) -> bool:
        """Whether the product under way takes register slots."""
        return self.running is not None and self.running.slots

    def room_at(self) -> float:
        """Return when another product can be issued."""
        now = self._clock.now
        if len(self._queue) + (self.running is not None) < self._most:
            return now
        return max(now + 1, self._end)

    def issue(self, product: Product, start: float, complete: Callable[[], None] | None) -> None:
        """Put a product into the queue, where it can begin at `start`.

        ``complete`` is called when its group of products is complete.
        """
        self._queue.append((start, product, complete))
        self._clock.at(start, self._begin)

    def delay(self, cycles: float) -> None:
        """Make the product under way end later."""
        if self.running is not None:
            self._end += cycles
            self.delayed += cycles

    def _begin(self) -> None:
        if self.running is not None or not self._queue:
            return
        now = self._clock.now
        start, product, complete = self._queue[0]
        if start > now + _EPSILON:
            self._clock.at(start, self._begin)
            return
        self._queue.popleft()
        self.slots.update()
        self.running, self._complete = product, complete
        # Products that follow one another leave no gap, whatever the cycle they are seen in.
        self._began = self._end if now - self._end < 1 else now
        self._end = self._began + product.interval
        self.busy += product.interval
        self._clock.at(self._end, self._finish)

    def _finish(self) -> None:
        now = self._clock.now
        if self._end > now + _EPSILON:
            self._clock.at(self._end, self._finish)
            return
        self.slots.update()
        self.products.append((self._began, now))
        ended, self.running = self.running, None
        if self._complete is not None and ended is not None:
            self._clock.at(now + ended.tail, self._complete)
        self._begin()


class RegisterSlots:
    """Register slots of one scheduler: one a cycle, of which a product takes three of four.

    FP32 instructions go first: those beyond the free quarter delay the product. Others wait for a
    free slot.
    """

    def __init__(self, clock: Clock, costs: Costs, core: TensorCore) -> None:
        self._clock, self._core = clock, core
        self._rate, self._kept = costs.fma_free, costs.fma_kept
        self._apart = costs.fma_beside
        self._free, self._since = self._kept, 0.0

    def update(self) -> None:
        """Count the slots that came free."""
        now = self._clock.now
        if not self._core.takes_slots:
            self._free = self._kept
            self._since = now
        elif now > self._since:
            self._free = min(self._kept, self._free + self._rate * (now - self._since))
            self._since = now

    def free_at(self) -> float:
        """Return when an instruction that waits for a slot can have one."""
        now = self._clock.now
        if not self._core.takes_slots:
            return now
        self.update()
        if self._free >= 1:
            return now
        return max(now, self._since) + max(1.0, (1 - self._free) / self._rate)

    def take(self, slots: float) -> None:
        """Take slots for an instruction that waited for one."""
        if self._core.takes_slots and slots:
            self.update()
            self._free -= max(1.0, slots)

    def take_first(self, slots: float) -> float:
        """Take slots for an FP32 instruction; return the cycles until the next one."""
        if not self._core.takes_slots:
            return max(1.0, slots)
        self.update()
        lacking = slots - max(0.0, self._free)
        if lacking <= 0:
            self._free -= slots
            return 1.0
        self._free = min(0.0, self._free)
        # The product stands still meanwhile, and leaves nothing free.
        self._since = max(self._since, self._clock.now) + lacking
        self._core.delay(lacking)
        return max(1.0, self._apart * slots)

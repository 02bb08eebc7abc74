"""Many loops: what was decided, which features they had, and who objects to what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.oracle.compare import Comparison, compare
from tests.oracle.loops import features, random_loop
from tests.oracle.simulate import simulated


@dataclass
class Figures:
    """Counts over loops; `undecided` and `features` by level and by feature."""

    loops: int = 0
    refused: int = 0
    crowded: int = 0
    decided: int = 0
    undecided: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        decided = f"{self.decided} decided at every level"
        rows = [f"{self.loops} loops, {self.refused} refused, {decided}"]
        rows += [f"  {self.crowded} with too many registers along the oracle's program"]
        rows += [f"  undecided {level}: {count}" for level, count in self.undecided.items()]
        rows += [f"  {count} with {name}" for name, count in sorted(self.features.items())]
        return "\n".join(rows)

    def look_at(self, seed: int, *, run: bool) -> Comparison:
        """Compare solver and oracle on one loop, and count it; execute its schedules if asked."""
        loop, machine = random_loop(seed)
        result = compare(loop, machine)
        for whose, schedule in result.schedules.items() if run else ():
            result.objections += [f"simulator, {whose}: {said}" for said in simulated(schedule)]
        self.loops += 1
        self.refused += result.schedule is None
        self.crowded += result.crowded
        self.decided += not result.undecided
        self.undecided.update(result.undecided)
        self.features.update(features(loop, machine))
        return result

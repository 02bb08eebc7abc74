"""Documents of earlier versions, brought up: what version 1 did not say is written into them.

Each function changes the document that it is given, and returns what it did, for people.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

Document = dict[str, Any]
EARLIER = 1
# The key of [sources] behind what a machine did not say, and what stands there.
SOURCE = "VERSION-1"
REFERENCE = "twill.machine, version 1, which did not say this and took the same for every machine"
PRODUCT_WARPS = 4
# Reasons of a bound for which a solver has looked at schedules of so many stages.
REFUTED = ("no modulo schedule", "no joint schedule", "not proved")


@dataclass(frozen=True)
class Fact:
    """A fact that machines of version 1 lack, with the value assumed for all of them."""

    path: tuple[str, ...]
    value: int
    unit: str
    why: str

    @property
    def said(self) -> str:
        """The number with its unit."""
        return f"{self.value} {self.unit}"

    def fill_in(self, machine: Document) -> bool:
        """Write it where the machine has such a part and leaves it out; return whether it did."""
        *parents, key = self.path
        part = _at(machine, parents)
        if not isinstance(part, dict) or key in part:
            return False
        part[key] = {"value": self.value, "unit": self.unit, "source": f"{SOURCE}: {self.why}"}
        return True


THREADS = Fact(("threads_per_warp",), 32, "threads", "a warp of NVIDIA's")
MEMORY = (
    Fact(("memories", "smem", "alignment"), 128, "bytes", "as cp.async.bulk.tensor asks for it"),
    Fact(("memories", "smem", "swizzle"), 1024, "bytes", "the pattern of the 128-byte swizzle"),
    Fact(("memories", "tmem", "lanes"), 128, "lanes", "a column of 128 lanes by 32 bits"),
    Fact(("memories", "tmem", "half"), 64, "rows", "data path layout of tcgen05.mma for M = 64"),
)
TRANSACTIONS = Fact(
    ("synchronisation", "transactions"), (1 << 20) - 1, "bytes", "the tx-count of an mbarrier"
)
UNSAID = (THREADS, *MEMORY, TRANSACTIONS)


def is_earlier(document: object) -> TypeGuard[Document]:
    """Return whether a document is of the earlier version, which need not say so."""
    if not isinstance(document, dict):
        return False
    version = document.get("schema_version", EARLIER)
    return type(version) is int and version == EARLIER


def is_outdated(machine: object) -> TypeGuard[Document]:
    """Return whether a machine has to be brought up."""
    if not isinstance(machine, dict):
        return False
    return is_earlier(machine) or "interference" in machine or any(_old_queues(machine))


def bring_machine_up(machine: Document) -> list[str]:
    """Make a machine of version 1 one of version 2, and take out what there is no more."""
    told = [*_facts(machine), *_interference(machine), *_order(machine)]
    machine["schema_version"] = EARLIER + 1
    return told


def _facts(machine: Document) -> list[str]:
    """Write what a machine of version 1 left to Twill into it."""
    if not is_earlier(machine):
        return []
    memories, products = machine.get("memories"), machine.get("products")
    addressed = memories if isinstance(memories, dict) else {}
    counts = "smem" in addressed and _at(machine, TRANSACTIONS.path) is None
    # Whoever wrote it before barriers had a count meant that four warps execute a product together.
    if counts and "tmem" not in addressed and isinstance(products, dict):
        told = [f"products.warps = {PRODUCT_WARPS}"] * ("warps" not in products)
        products.setdefault("warps", PRODUCT_WARPS)
    else:
        told = []
    filled = [f for f in UNSAID if (f is not TRANSACTIONS or counts) and f.fill_in(machine)]
    if filled and isinstance(machine.get("sources"), dict):
        machine["sources"].setdefault(SOURCE, REFERENCE)
    return [*(f"{'.'.join(fact.path)} = {fact.value}" for fact in filled), *told]


def _interference(machine: Document) -> Iterator[str]:
    """Factors by which units slowed each other down have become mechanisms of the simulated SM."""
    if machine.pop("interference", None) is not None:
        yield "no interference of units: mechanisms say that"


def _old_queues(machine: Document) -> Iterator[Document]:
    """Yield queues that say more than their depth."""
    units = machine.get("units")
    for unit in units.values() if isinstance(units, dict) else ():
        queue = unit.get("queue") if isinstance(unit, dict) else None
        if isinstance(queue, dict) and queue.keys() & {"full", "order"}:
            yield queue


def _order(machine: Document) -> Iterator[str]:
    """Queues of other orders, or that do not block, were guesses; one was measured."""
    for queue in _old_queues(machine):
        for key in queue.keys() & {"full", "order"}:
            del queue[key]
        yield "queues that block, in the order of issue"


def bring_schedule_up(schedule: Document) -> list[str]:
    """Make a schedule of version 1 one of version 2; its machine has a version of its own."""
    told = list(dict.fromkeys([*_addresses(schedule), *_distances(schedule), *_proof(schedule)]))
    schedule["schema_version"] = EARLIER + 1
    return told


def take_unproved_bound(schedule: Document) -> bool:
    """Take the bound off a promise that has no certificate for it; return whether there was one."""
    promise = schedule.get("promise")
    bound = promise.get("bound") if isinstance(promise, dict) else None
    if not isinstance(promise, dict) or not isinstance(bound, dict) or "certificate" in bound:
        return False
    del promise["bound"]
    return True


def take_refined_time(schedule: Document) -> bool:
    """Make clock cycles that were refined from normalized ones plain ones, if they are."""
    time = schedule.get("time")
    if not isinstance(time, dict) or time.get("mode") != "refined":
        return False
    del schedule["time"]
    return True


def _addresses(schedule: Document) -> Iterator[str]:
    """Slots were consecutive: the address of the first gave those of all."""
    for storage in _entries(schedule.get("storage")):
        slots, size, first = (storage.get(key) for key in ("slots", "size", "address"))
        if type(slots) is type(size) is type(first) is int:
            del storage["address"]
            storage["addresses"] = [first + size * slot for slot in range(slots)]
            yield "an address for each slot"


def _distances(schedule: Document) -> Iterator[str]:
    """A reader had one copy of a value: it reads at the distance of its dependence."""
    loop, read = schedule.get("loop"), dict[tuple[Any, Any], set[Any]]()
    for d in _entries(loop.get("dependences") if isinstance(loop, dict) else None):
        if d.get("kind", "data") == "data":
            read.setdefault((d.get("producer"), d.get("consumer")), set()).add(d.get("distance", 0))
    bodies = [program.get("body") for program in _entries(schedule.get("programs"))]
    gets = [entry for body in bodies for entry in _entries(body) if entry.get("do") == "get"]
    for copy in (*_entries(schedule.get("storage")), *gets):
        distances = read.get((copy.get("value"), copy.get("reader")), set())
        if "distance" not in copy and len(distances) == 1 and distances != {0}:
            (copy["distance"],) = distances
            yield "the distance of each copy"


def _proof(schedule: Document) -> Iterator[str]:
    """A level without its solver is not proved; no check knows residues as a reason any more."""
    proof = schedule.get("proof")
    bound = proof.get("bound") if isinstance(proof, dict) else None
    if not isinstance(proof, dict) or not isinstance(bound, dict):
        return
    levels = _entries(proof.get("levels"))
    residues = bound.get("reason") == "residues"
    if residues:
        bound["reason"] = "not proved"
    stray = bound.get("reason") not in REFUTED and bound.pop("most_stages", None) is not None
    if not (residues or stray or any(map(_unnamed, levels))):
        return
    for level in levels:
        proved = level.get("level") == "interval" and bound.get("reason") != "not proved"
        level["proved"] = proved and level.get("proved")
    yield "no proof below the interval, of which it does not say whose it is"


def _unnamed(level: Document) -> bool:
    """Return whether a level claims a proof that only a solver can give, without naming it."""
    return level.get("level") == "slack" and bool(level.get("proved")) and "solver" not in level


def written_digest(document: Document) -> str:
    """Return the SHA-256 of an artifact's JSON text as it was written, as ``sha256:...``."""
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _at(document: Document, path: Iterable[str]) -> Any:
    """Return what a document has at a path, None if that is nothing."""
    part: Any = document
    for name in path:
        part = part.get(name) if isinstance(part, dict) else None
    return part


def _entries(value: object) -> list[Document]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []

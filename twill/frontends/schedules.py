"""Schedules by name or file: packaged ones, ``schedule.json``, orders, and IR.

IR is what `twill.show.programs.ir` writes. Groups, programs, stages, starts, signals, barriers and
storage are read from operations and their annotations. The loop, the machine, proof and promise are
attributes of the module. An operation may be moved: order within a group is that of
``sched.cluster``, and operations of one cluster alternate.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from twill.artifacts.base import packaged, packaged_text, says_schema, unknown
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.order import SCHEMA as ORDER
from twill.artifacts.order import Order, Waits
from twill.artifacts.schedule import Schedule
from twill.artifacts.versions import EARLIER
from twill.base.errors import InputError, short
from twill.base.files import read_bytes
from twill.frontends.ddg.schedules import is_schedule_graph, parse_schedule_graph

if TYPE_CHECKING:
    from twill.frontends.ttgir.reader import Plain

KEY = "twill.schedule"
VERSION = 2  # of a schedule, as in a schedule.json
# Keys of a schedule that are texts of JSON among the attributes of the module.
AS_JSON = (
    *("time", "proof", "promise", "solver"),
    *("pipeline_depths", "hiding_depths", "loop", "machine"),
)
WHAT = "a schedule as IR (`twill show SCHEDULE --as ir` writes one)"
TILE, SIGNAL = "tile.", "twill."
SIGNALS = ("await", "wait", "arrive", "put", "get", "fence")
Data = dict[str, Any]


def load_schedule(name: Schedule | str | os.PathLike[str], *, waits: str | None = None) -> Schedule:
    """Return a schedule: packaged by name, or from a file.

    Parameters
    ----------
    name : str or path
        A schedule, which is returned as it is, a name that `packaged_schedules` lists, or a path.
        Files are a ``twill.schedule``, a ``twill.order`` or a schedule of a ``ddg-0.1`` graph
        (``.json``), or a schedule as IR (``.mlir``).
    waits : str, optional
        Where asynchronous results are awaited, of an order if not where it says: ``late`` or
        ``hoisted``, see `twill.artifacts.order.Order`.

    Raises
    ------
    InputError
        If there is no such schedule, it is not valid, or its waits are written down.
    """
    if isinstance(name, Schedule):
        return name
    name = os.fspath(name)
    if waits is not None and waits not in get_args(Waits):
        known = ", ".join(get_args(Waits))
        raise InputError(f"one of {known} (got {short(waits)})", path="waits")
    if name.endswith((".json", ".mlir")):
        file, text = name, read_bytes(name)
    elif name in packaged_schedules():
        file = f"{name}.json"
        text = packaged_text("schedule", "traces/schedules", name, ".json")
    else:
        raise unknown("schedule", name, packaged_schedules(), ".json or .mlir")
    if is_schedule_graph(text):
        return parse_schedule_graph(text, file, cast("Waits", waits or "late"))
    if says_schema(text, ORDER):
        order = Order.from_json(text, file=file)
        return scheduled(order if waits is None else order.model_copy(update={"waits": waits}))
    if waits is not None:
        message = "its waits are written down; only those of an order are derived"
        raise InputError(message, path="waits", file=file)
    read = parse_schedule_ir if file.endswith(".mlir") else Schedule.from_json
    return read(text, file=file)


def packaged_schedules() -> list[str]:
    """Return the names of the schedules that ship with the package, sorted."""
    return packaged("traces/schedules", ".json")


def scheduled(order: Order) -> Schedule:
    """Return the schedule that an order describes, for its loop on its machine.

    Raises
    ------
    InputError
        If the loop or the machine is missing, an operation is not issued, or a buffer is of no use.
    """
    from twill.lower.orders import schedule_of

    loop, machine = order.loop, order.machine
    if isinstance(machine, str):
        is_file = machine.endswith((".toml", ".json"))
        machine = Machine.named(_beside(order, machine) if is_file else machine)
    if isinstance(loop, str) and loop.endswith(".json"):
        loop = Loop.load(_beside(order, loop))
    elif isinstance(loop, str):
        loop = _loop_of(order, loop)
    return schedule_of(order, loop, machine)


def _loop_of(order: Order, name: str) -> Loop:
    """Return a packaged loop: of published kernels, or one that schedules are found for."""
    from twill.frontends.loops import load_loop, packaged_loops

    published = packaged("traces/loops", ".json")
    if name in published:
        text = packaged_text("loop", "traces/loops", name, ".json")
        return Loop.from_json(text, file=f"loops/{name}.json")
    if name in packaged_loops():
        return load_loop(name)
    known = f"{', '.join(published)}, and what `twill loop list` says"
    wrong = f"no loop named {short(name)}; there are {known}; a file ends in .json"
    raise InputError(wrong, path="loop", file=order.file)


def _beside(order: Order, name: str) -> str:
    return str(Path(order.file).parent / name)


def parse_schedule_ir(text: str | bytes, *, file: str = "") -> Schedule:
    """Return the schedule that IR describes.

    Raises
    ------
    InputError
        If it does not parse or is no schedule; names the operation and the attribute.
    """
    from twill.frontends.ttgir.reader import parse_module, plain

    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"not {WHAT}: not UTF-8", file=file) from None
    reader = _Reader(plain(parse_module(decoded, file, WHAT)), file)
    return Schedule.from_json(json.dumps(reader.data()), file=file)


class _Reader:
    def __init__(self, module: Plain, file: str) -> None:
        self.module, self.file = module, file
        self.facts = _annotations(module, "twill.")
        version = self.facts.pop("schedule", None)
        if version is None:
            raise self._error(f"not {WHAT}: the module has no attribute {KEY}")
        if version not in (EARLIER, VERSION):
            wrong = f"version {EARLIER} or {VERSION} is read here (got {short(version)})"
            raise self._error(wrong, KEY)
        self.version = version
        self.placements: dict[str, Data] = {}

    def data(self) -> Data:
        """Return the document of a ``schedule.json``."""
        found: Data = {"schema_version": self.version}
        found |= {key: self._json(key) for key in AS_JSON if key in self.facts}
        order = self.facts.pop("placements", None)
        found |= {key: value for key, value in self.facts.items() if key not in AS_JSON}
        operations = self.module.inside
        for key, kind in (("storage", "storage"), ("fixed", "fixed"), ("barriers", "barrier")):
            found[key] = [_annotations(o) for o in operations if o.name == SIGNAL + kind]
        found["groups"], programs = [], []
        for operation in (o for o in operations if o.name == "twill.group"):
            group = _annotations(operation)
            number = group.pop("program", None)
            found["groups"].append(group)
            if number is not None:
                program = {"group": group.get("name"), "body": self._body(operation)}
                programs.append((number, program))
        found["programs"] = [program for _, program in sorted(programs, key=lambda p: p[0])]
        found["placements"] = self._placed(order, found.get("loop"))
        return found

    def _json(self, key: str) -> Any:
        text = self.facts[key]
        try:
            return json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise self._error(f"not JSON: {short(str(error))}", f"twill.{key}") from None

    def _placed(self, order: Any, loop: Any) -> list[Data]:
        """Return the placements, in the order of the loop's operations if none is given."""
        if not isinstance(order, list):
            listed = loop.get("operations", []) if isinstance(loop, dict) else []
            order = [entry.get("name") for entry in listed if isinstance(entry, dict)]
        position = {name: n for n, name in enumerate(order) if isinstance(name, str)}
        last = len(position)
        return sorted(
            self.placements.values(), key=lambda p: position.get(str(p["operation"]), last)
        )

    def _body(self, group: Plain) -> list[Data]:
        loops = [o for o in group.inside if o.name == "scf.for"]
        name = _annotations(group).get("name")
        if len(loops) != 1:
            raise self._error(f"one scf.for (got {len(loops)})", f"twill.group {short(name)}")
        entries = sorted(self._instructions(loops[0]), key=lambda entry: entry[0])
        body: list[Data] = []
        for cluster, same in itertools.groupby(entries, key=lambda entry: entry[0]):
            together = [data for _, data in same]
            if len(together) > 1 and any(data["do"] != "issue" for data in together):
                wrong = "has several instructions, of which one is no operation"
                raise self._error(f"cluster {cluster} {wrong}", f"twill.group {short(name)}")
            several: Data = {"do": "interleave", "parts": together}
            body.append(several if len(together) > 1 else together[0])
        return body

    def _instructions(self, loop: Plain) -> Iterator[tuple[int, Data]]:
        for operation in (o for o in loop.inside if o.name != "scf.yield"):
            kind, facts = operation.name, _annotations(operation)
            cluster = facts.pop("cluster", None)
            if not isinstance(cluster, int):
                raise self._error("a whole number is required", f"{kind} sched.cluster")
            facts.pop("location", None)
            if kind.startswith(TILE):
                yield cluster, self._issue(kind, facts)
            elif kind.removeprefix(SIGNAL) in SIGNALS:
                yield cluster, {"do": kind.removeprefix(SIGNAL), **facts}
            else:
                raise self._error("no operation of a schedule", kind)

    def _issue(self, kind: str, facts: Data) -> Data:
        """Return an issue, and remember where its operation is placed."""
        name, part = facts.pop("name", None), facts.pop("part", None)
        placed = {"operation": name, "group": facts.pop("group", None)}
        if "start" in facts:
            placed["start"] = facts.pop("start")
        before = self.placements.setdefault(str(name), placed)
        if before != placed:
            wrong = f"{short(name)} has another group or start than its part before"
            raise self._error(wrong, f"{kind} sched.start")
        if part is not None:
            if not isinstance(part, list) or len(part) != 3:
                raise self._error("begin, end, of", f"{kind} {short(name)} sched.part")
            facts |= dict(zip(("begin", "end", "of"), part, strict=True))
        return {"do": "issue", "operation": name, **facts}

    def _error(self, message: str, path: str = "") -> InputError:
        return InputError(message, path=path, file=self.file)


def _annotations(operation: Plain, prefix: str = "sched.") -> Data:
    return {
        key.removeprefix(prefix): value
        for key, value in operation.attributes.items()
        if key.startswith(prefix)
    }

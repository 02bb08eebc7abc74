"""The schedule artifact: who executes what, when, and in which order (``schedule.json``)."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal, Self, cast

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from twill.artifacts.base import Artifact, Part, refuse, unknown
from twill.artifacts.loop import MOST_DISTANCE, MOST_OPERATIONS, MOST_WARPS, Label, Loop, Many, Name
from twill.artifacts.machine import FACTS, MOST_GROUPS, Machine
from twill.errors import InputError, short
from twill.files import read_bytes

Rules = Literal["issue", "paper"]
Level = Literal["interval", "stages", "groups", "transfers", "length", "slack"]
Limit = Literal["registers", "groups", "transfers", "stages"]
Family = Literal[
    "dependence",
    "capacity",
    "turns",
    "memory",
    "registers",
    "transfers",
    "concurrency",
    "wishes",
]
MOST_INSTRUCTIONS = 100_000
Few = Annotated[int, Field(ge=0, le=MOST_DISTANCE)]
Some = Annotated[int, Field(ge=1, le=MOST_DISTANCE)]
Distance = Annotated[int, Field(ge=-MOST_DISTANCE, le=MOST_DISTANCE)]
Time = Annotated[int, Field(ge=0, le=1 << 40)]
Half = Annotated[int, Field(ge=0, le=1)]
Interval = Annotated[int, Field(ge=1, le=1 << 24)]


class TimeScale(Part):
    """The unit of time in a schedule.

    Attributes
    ----------
    mode : str
        ``exact``: one unit is one clock cycle. ``normalized``: costs were replaced by smaller whole
        numbers of nearly the same ratios (paper section 5.2). ``refined``: clock cycles again, in
        the order and with the groups of a normalized solution.
    costs : tuple of (int, int)
        In normalized time, each cost in cycles with its replacement.
    budget : int, optional
        The bound U on the sum of the replacements.
    cycles_per_unit : float
        Sum of the costs over the sum of their replacements.
    distortion : float
        Largest factor by which the ratio of two costs changed; 1 is none.
    """

    mode: Literal["exact", "normalized", "refined"] = "exact"
    costs: tuple[tuple[PositiveInt, PositiveInt], ...] = ()
    budget: PositiveInt | None = None
    cycles_per_unit: Annotated[float, Field(gt=0)] = 1.0
    distortion: Annotated[float, Field(ge=1)] = 1.0


class Group(Part):
    """A warp group: warps that run one program.

    Attributes
    ----------
    name : str
        Unique in the schedule.
    warps : int
        1, 4 or 8.
    variable_latency : bool
        Whether it is set aside for operations of variable latency.
    registers : int, optional
        Registers per thread allocated to it; absent, the least that hold what lives on it.
    registers_live : int, optional
        Most registers per thread live at once, as scheduled.
    """

    name: Name
    warps: Annotated[int, Field(ge=1, le=MOST_WARPS)]
    variable_latency: bool = False
    registers: PositiveInt | None = None
    registers_live: NonNegativeInt | None = None


class Placement(Part):
    """Where and when an operation executes.

    Attributes
    ----------
    operation, group : str
        The operation and the warp group that issues it.
    start : int, optional
        Issue time within its iteration, M(v).
    """

    operation: Name
    group: Name
    start: Time | None = None


class Storage(Part):
    """Slots that hold the instances of a value; iteration i uses slot i mod `slots`.

    Attributes
    ----------
    value : str
        The operation whose result it holds.
    memory : str
        ``registers`` (of `group`), ``smem`` or ``tmem``.
    group : str, optional
        The group whose registers hold it.
    transfer : bool
        Whether it is the SMEM staging of a register value read by another group.
    reader : str, optional
        For the copy that another group makes of a register value: the operation that reads it.
    distance : int
        And that many iterations later: of each distance a reader has a copy of its own.
    slots : int
        Instances that fit.
    size : int
        Registers per thread, bytes or columns of one slot.
    addresses : tuple of int
        Of every slot, in bytes or columns; absent where memory is not limited.
    halves : tuple of int
        For tiles of at most 64 rows in TMEM: which half of the lanes of its columns every slot
        takes. Such a slot leaves the other half free.
    """

    value: Name
    memory: Literal["registers", "smem", "tmem"]
    group: Name | None = None
    transfer: bool = False
    reader: Name | None = None
    distance: Few = 0
    slots: Some
    size: NonNegativeInt
    addresses: tuple[NonNegativeInt, ...] = ()
    halves: tuple[Half, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, given in (("addresses", self.addresses), ("halves", self.halves)):
            if given and len(given) != self.slots:
                raise refuse(key, f"one for each of {self.slots} slots (got {len(given)})")
        if self.halves and self.memory != "tmem":
            raise refuse("halves", f"{self.memory} has no halves")
        if self.distance and self.reader is None:
            raise refuse("distance", f"of a copy with a reader (got {self.distance} without one)")
        return self


class Fixed(Part):
    """Memory that an invariant occupies throughout the loop."""

    name: Name
    memory: Literal["smem", "tmem"]
    size: PositiveInt
    address: NonNegativeInt | None = None
    half: Half | None = None


class Barrier(Part):
    """A barrier for each of `slots` slots.

    Iteration i uses slot i mod `slots`; its phase completes when `arrivals` groups (or asynchronous
    units) have arrived.

    Attributes
    ----------
    kind : str, optional
        ``named`` for a named barrier: a wait arrives as well (``bar.sync``), an arrive does not
        wait (``bar.arrive``). Without it an mbarrier.
    transactions : bool, optional
        Whether asynchronous operations that signal it deliver the bytes of their results, which an
        arrive announces (``expect``), and do not arrive.
    """

    name: Label
    slots: Some
    arrivals: Some = 1
    kind: Literal["named"] | None = None
    transactions: bool | None = None


Barriers = Annotated[tuple[Barrier, ...], Many]


class Issue(Part):
    """Execute an operation, or the part of it between two of its issue cycles.

    Attributes
    ----------
    stage : int
        In round j of the program it concerns iteration j - stage; nothing happens if the loop has
        no such iteration.
    begin, end, of : int, optional
        The part from cycle `begin` to before cycle `end` of the `of` cycles that issuing it takes;
        without them the whole.
    signals : tuple of str
        Barriers at which the operation's completion arrives by itself.
    """

    do: Literal["issue"] = "issue"
    operation: Name
    stage: Few = 0
    begin: NonNegativeInt | None = None
    end: PositiveInt | None = None
    of: PositiveInt | None = None
    signals: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [self.begin, self.end, self.of]
        if given == [None, None, None]:
            return self
        if (
            self.begin is None
            or self.end is None
            or self.of is None
            or not self.begin < self.end <= self.of
        ):
            raise refuse(
                "begin",
                "a part needs begin < end <= of (got begin "
                f"{self.begin}, end {self.end}, of {self.of})",
            )
        return self

    @property
    def first(self) -> bool:
        """Whether the operation begins with this part."""
        return not self.begin

    @property
    def last(self) -> bool:
        """Whether the operation is issued completely with this part."""
        return self.end == self.of


class Interleave(Part):
    """Parts of several operations whose instructions alternate in proportion."""

    do: Literal["interleave"] = "interleave"
    parts: Annotated[tuple[Issue, ...], Field(min_length=2)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        parts = [f"{part.operation} of stage {part.stage}" for part in self.parts]
        _unique("parts", "operation", parts)
        return self


class Await(Part):
    """Block until an asynchronous operation of this group has completed."""

    do: Literal["await"] = "await"
    operation: Name
    stage: Few = 0
    distance: Distance = 0


class Wait(Part):
    """Block until the barrier's phase of iteration j - stage - distance is complete.

    A negative distance waits for a later iteration, as where groups take turns on a unit; there is
    no wait for an iteration that the loop does not have.

    Attributes
    ----------
    polling : bool, optional
        Whether the warp tests the barrier again and again (``test_wait``) and does not sleep.
    """

    do: Literal["wait"] = "wait"
    barrier: Label
    stage: Few = 0
    distance: Distance = 0
    polling: bool | None = None


class Arrive(Part):
    """Arrive at the barrier's phase of iteration j - stage - distance.

    Attributes
    ----------
    expect : int, optional
        Bytes that the phase has to wait for beside the arrivals (``arrive.expect_tx``), at most
        the machine's `Synchronisation.transactions`.
    """

    do: Literal["arrive"] = "arrive"
    barrier: Label
    stage: Few = 0
    distance: Few = 0
    expect: PositiveInt | None = None


class Put(Part):
    """Write a register value of this group to its SMEM staging."""

    do: Literal["put"] = "put"
    value: Name
    stage: Few = 0


class Get(Part):
    """Read a register value of another group from its SMEM staging, for one operation.

    Attributes
    ----------
    stage : int
        The value is that of iteration j - stage.
    distance : int
        Iterations by which the reader is later than the value: the distance of the dependence.
    """

    do: Literal["get"] = "get"
    value: Name
    reader: Name
    stage: Few = 0
    distance: Few = 0


class Fence(Part):
    """Order what the group did in shared memory, or was told of, before asynchronous units.

    That is a proxy fence (``fence.proxy.async``): it concerns those accesses of asynchronous units
    that come to know of it, by issues, arrives and waits.
    """

    do: Literal["fence"] = "fence"
    stage: Few = 0


Instruction = Annotated[
    Issue | Interleave | Await | Wait | Arrive | Put | Get | Fence, Field(discriminator="do")
]


class Program(Part):
    """What one warp group executes, in order, in each round j = 0, 1, ...

    Rounds in which some iterations are still or already missing are the prologue and the epilogue.
    """

    group: Name
    body: Annotated[tuple[Instruction, ...], Field(max_length=MOST_INSTRUCTIONS)]

    @property
    def issues(self) -> Iterator[Issue]:
        """Every issue of the body, those inside interleaved blocks included."""
        for instruction in self.body:
            if isinstance(instruction, Issue):
                yield instruction
            elif isinstance(instruction, Interleave):
                yield from instruction.parts

    @property
    def last_stage(self) -> int:
        """Largest stage, hence rounds that follow the last iteration's first."""
        stages = [part.stage for part in self.issues]
        stages += [i.stage for i in self.body if not isinstance(i, Interleave)]
        return max(stages, default=0)


class Weight(Part):
    """What a part of an operation counts in a configuration bound.

    Attributes
    ----------
    operation : str
        The operation.
    start, length : int
        Units of the schedule's time, from the operation's issue; the operation takes the same of
        every functional unit all that time.
    weight : int
        What it counts in every one of them.
    """

    operation: str
    start: NonNegativeInt
    length: PositiveInt
    weight: PositiveInt


class LowerBound(Part):
    """Why no smaller initiation interval exists.

    Attributes
    ----------
    value : int
        The least interval, in units of the schedule's time; where it is ``not proved``, one that
        it is not below.
    reason : str
        ``ResMII``, ``configurations`` (of all functional units together), ``RecMII``, ``issue`` (of
        one operation), ``no modulo schedule``, ``no joint schedule`` or ``not proved``.
    unit : str, optional
        For ResMII, the unit that is always busy.
    cycle : tuple of str
        For RecMII, the operations of the recurrence; for issue, the operation.
    solver : str, optional
        Who refuted all smaller intervals, where no bound does.
    families : tuple of str
        Constraint families in the unsatisfiable core.
    most_stages : int, optional
        Where a solver refuted them: for schedules of at most so many stages.
    weights : tuple of Weight, optional
        For configurations: `value` is the weights times lengths of all, over `most`, rounded up.
    most : int, optional
        For configurations: the most that parts which fit all units at once weigh together.
    """

    value: NonNegativeInt
    reason: Literal[
        "ResMII",
        "configurations",
        "RecMII",
        "issue",
        "no modulo schedule",
        "no joint schedule",
        "not proved",
    ]
    unit: str | None = None
    cycle: tuple[str, ...] = ()
    solver: str | None = None
    families: tuple[Family, ...] = ()
    most_stages: PositiveInt | None = None
    weights: tuple[Weight, ...] | None = None
    most: PositiveInt | None = None


class LevelProof(Part):
    """One level of the objective: its value and whether nothing better exists.

    Attributes
    ----------
    solver : str, optional
        Who refuted better values, where no bound does; of the interval the bound says it.
    """

    level: Level
    value: int
    proved: bool
    solver: str | None = None


class Proof(Part):
    """What was proved about a schedule.

    Attributes
    ----------
    bound : LowerBound
        Why no smaller interval exists.
    levels : tuple of LevelProof
        The objective, level by level: all of them, but slack where nothing is waited for.
    limits : dict
        What the user allowed at most: ``registers`` per thread, ``groups``, ``transfers``,
        ``stages``; the proof holds within them.
    pins : dict
        Operations that the user placed, with their groups.
    orders : tuple of (str, str)
        Pairs of operations that the user ordered.
    """

    bound: LowerBound
    levels: tuple[LevelProof, ...]
    limits: dict[Limit, NonNegativeInt] = {}
    pins: dict[Name, Name] = {}
    orders: tuple[tuple[Name, Name], ...] = ()


class Schedule(Artifact):
    """A warp-specialized software pipeline for one loop on one machine.

    Interval, length, stages, starts and proof are absent in a schedule that nobody solved; it can
    still be executed.

    Attributes
    ----------
    initiation_interval, length, stages : int, optional
        I, L and ceil(L / I), in units of `time`.
    pipeline_depths : dict
        Ring slots of each streaming load.
    hiding_depths : dict
        Ring slots that hiding the nominal latency of each streaming load asks for.
    machine_hash : str, optional
        Digest of the embedded machine; refused on reading if it does not match.
    solver : dict
        Versions of what computed it.
    """

    said_of_missing = FACTS
    schema_name: Literal["twill.schedule"] = Field("twill.schedule", alias="schema")
    schema_version: Literal[1] = 1
    name: Label
    description: str = ""
    rules: Rules = "issue"
    time: TimeScale = TimeScale()
    initiation_interval: Interval | None = None
    length: Time | None = None
    stages: Some | None = None
    groups: Annotated[tuple[Group, ...], Field(min_length=1, max_length=MOST_GROUPS)]
    placements: Annotated[tuple[Placement, ...], Field(max_length=MOST_OPERATIONS)]
    pipeline_depths: dict[Name, Some] = {}
    hiding_depths: dict[Name, Some] = {}
    storage: Annotated[tuple[Storage, ...], Many] = ()
    fixed: Annotated[tuple[Fixed, ...], Field(max_length=MOST_OPERATIONS)] = ()
    barriers: Barriers = ()
    programs: Annotated[tuple[Program, ...], Field(max_length=MOST_GROUPS)] = ()
    proof: Proof | None = None
    solver: dict[str, str] = {}
    seed: NonNegativeInt = 0
    loop: Loop
    machine: Machine
    machine_hash: str | None = None

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str = "") -> Self:
        """Read a schedule, or the order that one is derived from, from JSON text.

        Parameters
        ----------
        text : str or bytes
            The JSON document: a ``twill.schedule``, or a ``twill.order``.
        file : str
            Name used in errors.

        Raises
        ------
        InputError
            If the text is not JSON or neither of the two; names the path and the value.
        """
        from twill.artifacts.order import Order, is_order

        if is_order(text):
            return cast("Self", Order.from_json(text, file=file).schedule())
        return super().from_json(text, file=file)

    def read_from(self, file: str) -> None:
        """Remember the file for errors, also for the loop and the machine inside it.

        Parameters
        ----------
        file : str
            The file.
        """
        super().read_from(file)
        self.loop.read_from(file)
        self.machine.read_from(file)

    @model_validator(mode="after")
    def _check(self) -> Self:
        _unique("groups", "name", [group.name for group in self.groups])
        _unique("barriers", "name", [barrier.name for barrier in self.barriers])
        _unique("placements", "operation", [p.operation for p in self.placements])
        _unique("programs", "group", [program.group for program in self.programs])
        self._check_placements()
        for index, program in enumerate(self.programs):
            self._check_program(f"programs[{index}]", program)
        if self.machine_hash not in (None, self.machine.digest):
            raise refuse(
                "machine_hash",
                f"the embedded machine's hash is {self.machine.digest} "
                f"(got {short(self.machine_hash)})",
            )
        return self

    def _check_placements(self) -> None:
        groups = {group.name for group in self.groups}
        operations = {operation.name for operation in self.loop.operations}
        for index, placement in enumerate(self.placements):
            _known(f"placements[{index}].group", placement.group, groups, "group")
            _known(f"placements[{index}].operation", placement.operation, operations, "operation")
        missing = sorted(operations - {placement.operation for placement in self.placements})
        if missing:
            raise refuse("placements", f"operation {short(missing[0])} is not placed")
        for index, storage in enumerate(self.storage):
            _known(f"storage[{index}].value", storage.value, operations, "operation")
            if storage.reader is not None:
                _known(f"storage[{index}].reader", storage.reader, operations, "operation")
                self._check_read(
                    f"storage[{index}]", storage.value, storage.reader, storage.distance
                )
            if storage.group is not None:
                _known(f"storage[{index}].group", storage.group, groups, "group")

    def _check_program(self, path: str, program: Program) -> None:
        groups = {group.name for group in self.groups}
        operations = {operation.name for operation in self.loop.operations}
        barriers = {barrier.name for barrier in self.barriers}
        _known(f"{path}.group", program.group, groups, "group")
        for index, instruction in enumerate(program.body):
            where = f"{path}.body[{index}]"
            match instruction:
                case Wait() | Arrive():
                    _known(f"{where}.barrier", instruction.barrier, barriers, "barrier")
                    self._check_bytes(where, instruction)
                case Await():
                    _known(f"{where}.operation", instruction.operation, operations, "operation")
                case Put():
                    _known(f"{where}.value", instruction.value, operations, "operation")
                case Get():
                    _known(f"{where}.value", instruction.value, operations, "operation")
                    _known(f"{where}.reader", instruction.reader, operations, "operation")
                    self._check_read(
                        where, instruction.value, instruction.reader, instruction.distance
                    )
                case Issue() | Interleave():
                    parts = [instruction] if isinstance(instruction, Issue) else instruction.parts
                    for part in parts:
                        _known(f"{where}.operation", part.operation, operations, "operation")
                        for signal in part.signals:
                            _known(f"{where}.signals", signal, barriers, "barrier")

    def _check_bytes(self, path: str, instruction: Wait | Arrive) -> None:
        """Refuse to announce more bytes than a barrier counts."""
        most = self.machine.transactions
        expected = instruction.expect if isinstance(instruction, Arrive) else None
        if expected is not None and most is not None and expected > most:
            raise refuse(
                f"{path}.expect", f"a barrier counts at most {most} bytes (got {expected})"
            )

    def _check_read(self, path: str, value: str, reader: str, distance: int) -> None:
        """Refuse a copy for an operation that does not read the value, or not at that distance."""
        read = [
            d.distance
            for d in self.loop.dependences
            if (d.producer, d.consumer, d.kind) == (value, reader, "data")
        ]
        if not read:
            raise refuse(f"{path}.reader", f"{short(reader)} does not read {short(value)}")
        if distance not in read:
            distances = " and ".join(map(str, sorted(set(read))))
            raise refuse(
                f"{path}.distance",
                f"{short(reader)} reads {short(value)} at distance {distances} (got {distance})",
            )

    @classmethod
    def named(cls, name: str) -> Self:
        """Return a packaged schedule, or read a file if `name` ends in ``.json``.

        Parameters
        ----------
        name : str
            A name that `packaged_schedules` lists, or a path.

        Raises
        ------
        InputError
            If there is no such schedule or it is not valid.
        """
        file, text = cls.text_of(name)
        return cls.from_json(text, file=file)

    @staticmethod
    def text_of(name: str) -> tuple[str, bytes]:
        """Return the file name, for errors, and the text of a schedule or order.

        Parameters
        ----------
        name : str
            See `named`.

        Raises
        ------
        InputError
            If there is no such schedule or it cannot be read.
        """
        if name.endswith(".json"):
            return name, read_bytes(name)
        if name.endswith(".mlir"):
            raise InputError(
                "only .json can be read here; `twill extract FILE.mlir -o FILE.json` makes it",
                file=name,
            )
        if name not in packaged_schedules():
            raise unknown("schedule", name, packaged_schedules(), ".json")
        folder = importlib.resources.files("twill.traces").joinpath("schedules")
        return f"{name}.json", folder.joinpath(f"{name}.json").read_bytes()

    @property
    def start(self) -> dict[str, int]:
        """M: issue time by operation; operations without one are left out."""
        return {p.operation: p.start for p in self.placements if p.start is not None}

    @property
    def assignment(self) -> dict[str, str]:
        """A: group by operation."""
        return {placement.operation: placement.group for placement in self.placements}

    def program(self, group: str) -> Program:
        """Return the program of a group.

        Parameters
        ----------
        group : str
            The group's name.

        Raises
        ------
        KeyError
            If it has none.
        """
        for program in self.programs:
            if program.group == group:
                return program
        raise KeyError(group)


def packaged_schedules() -> list[str]:
    """Return the names of the schedules that ship with the package, sorted."""
    folder = importlib.resources.files("twill.traces").joinpath("schedules")
    return sorted(
        entry.name.removesuffix(".json")
        for entry in folder.iterdir()
        if entry.name.endswith(".json")
    )


def _unique(path: str, key: str, names: list[str]) -> None:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            raise refuse(f"{path}[{index}].{key}", f"a second one named {short(name)}")
        seen.add(name)


def _known(path: str, name: str, names: Iterable[str], what: str) -> None:
    if name not in names:
        raise refuse(path, f"no {what} named {short(name)}")

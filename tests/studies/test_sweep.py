"""Sweeps: ranges, parameters, tables, interruptions, and what they say in words."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import twill
from tests.support.commands import SIM, in_process
from tests.support.programs import ring
from twill.artifacts.sweep import Sweep, Swept, packaged_sweeps
from twill.base.console import Counter
from twill.base.errors import InputError, RefusedError, WorkerError
from twill.cli.main import app
from twill.frontends.schedules import load_schedule
from twill.frontends.subtiling import resize
from twill.sim.analysis import flop_per_iteration
from twill.sim.analysis.rings import _resized, with_depth, with_more_slots
from twill.sim.execute import run
from twill.studies.sweep import journal, run_sweep
from twill.studies.sweep import runs as engine
from twill.studies.sweep.answers import answers
from twill.studies.sweep.journal import Journal
from twill.studies.sweep.parameters import (
    PARAMETERS,
    changed_loop,
    changed_machine,
    parameter,
    run_options,
    values,
)
from twill.studies.sweep.points import Row, Task, axes, evaluate
from twill.studies.sweep.table import csv_text, plot_sweep

FIXED, WORK, SIGNALS = 100, 20, 3
"""Of the ring below: cycles of a load, of its reader, and of the signals around."""


@pytest.fixture
def schedule(tmp_path: Path) -> str:
    """A load of 100 cycles and a reader of 20 over a ring of two slots: max(20, 123 / slots)."""
    file = tmp_path / "ring.json"
    ring(2, FIXED, WORK).save(file)
    return str(file)


class Told(Counter):
    """Passes on what it is told."""

    def __init__(
        self,
        begun: Callable[[int, int], None] | None = None,
        advanced: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.begun, self.advanced = begun, advanced

    def begin(self, count: int, before: int = 0) -> None:
        if self.begun is not None:
            self.begun(count, before)

    def advance(self) -> None:
        if self.advanced is not None:
            self.advanced()


def sweep(schedule: str, **more: object) -> Sweep:
    data = {"items": [schedule], "iterations": 32, **more}
    return Sweep.from_json(json.dumps(data))


# -- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        ("200:4000:20", "whole", tuple(range(200, 4001, 200))),
        ("1:6", "whole", (1, 2, 3, 4, 5, 6)),
        ("1:6", "number", (1, 2, 3, 4, 5, 6)),
        ("3,1,3", "whole", (3, 1)),
        ("0:1:5", "number", (0, 0.25, 0.5, 0.75, 1)),
        ("0:2:5", "whole", (0, 1, 2)),
        ("log:1:1000:4", "whole", (1, 10, 100, 1000)),
        ("0.1:0.3:3", "number", (0.1, 0.2, 0.3)),
        ((1, "4:6", 2.0), "whole", (1, 4, 5, 6, 2)),
        ("uniform:400,4000", "text", ("uniform:400,4000",)),
        (7, "whole", (7,)),
    ],
)
def test_values(given: object, kind: str, expected: tuple[float, ...]) -> None:
    assert values(given, kind, "axes.x") == expected  # type: ignore[arg-type]


def test_a_logarithmic_range_is_numpys() -> None:
    found = values("log:3:700:9", "number", "axes.x")
    assert np.allclose(np.array(found, dtype=float), np.geomspace(3, 700, 9), rtol=1e-11)


@pytest.mark.parametrize(
    "given",
    ["", "a", "1:2:3:4", "5:1", "1:2:0", "1:2:1.5", "log:0:5:3", "log:1:5", "nan", ()],
)
def test_what_is_no_value(given: object) -> None:
    with pytest.raises(InputError, match=r"^axes.x: "):
        values(given, "whole", "axes.x")  # type: ignore[arg-type]


def test_a_fraction_is_no_whole_number() -> None:
    with pytest.raises(InputError, match="whole numbers"):
        values(1.5, "whole", "axes.x")


# -- parameters -------------------------------------------------------------------------------


def test_parameters_have_names() -> None:
    assert parameter("throughput.tc").name == "throughput."
    with pytest.raises(InputError, match="did you mean tma-latency"):
        parameter("tma-latncy")
    with pytest.raises(InputError, match=r"no parameter named 'throughput\.'"):
        parameter("throughput.")


def test_what_is_scheduled_needs_resolve(schedule: str) -> None:
    for known in PARAMETERS:
        name = known.name + ("x:0" if known.name.endswith(".") else "")
        made = sweep(schedule, axes={name: "" if known.kind == "text" else 1})
        if known.resolve:
            with pytest.raises(InputError, match="--resolve"):
                axes(made)
        else:
            assert list(axes(made)) == [name]
    with pytest.raises(InputError, match="both say"):
        axes(sweep(schedule, axes={"tma-latency": 1, "latency": "fixed:1"}))
    with pytest.raises(InputError, match="depth and deeper both say how many slots"):
        axes(sweep(schedule, axes={"depth": 1, "deeper": 1}))
    with pytest.raises(InputError, match=r"axes.depth: no value below 1"):
        axes(sweep(schedule, axes={"depth": "0:2"}))
    with pytest.raises(InputError, match=r"axes.deeper: no value below 0"):
        axes(sweep(schedule, axes={"deeper": "-1:2"}))
    assert axes(sweep(schedule, axes={"deeper": "0:2"})) == {"deeper": (0, 1, 2)}


def test_machines_change_by_name(hopper: twill.Machine) -> None:
    point = {"synchronisation": 2.0, "machine.constants.mma_drain.value": 9}
    changed = changed_machine(hopper, point)
    assert changed.constants["mma_drain"].value == 9
    assert changed.synchronisation.hop.value == 2 * hopper.synchronisation.hop.value
    assert changed.synchronisation.named is not None
    assert changed.synchronisation.named.hop.value == 62
    for name in ("machine.nothing", "machine.units.tc.unit", "machine.clock"):
        with pytest.raises(InputError, match="no number at"):
            changed_machine(hopper, {name: 1})
    with pytest.raises(InputError, match="greater than 0"):
        changed_machine(hopper, {"machine.contexts.value": -1})


def test_loops_change_by_name(attention: twill.Loop, hopper: twill.Machine) -> None:
    wide = resize(attention, "s0:1", 176)
    assert flop_per_iteration(wide) * 128 == flop_per_iteration(attention) * 176
    assert hopper.cost(wide.operation("s0")).steps[0].cycles * 128 == 512 * 176
    fast = changed_loop(attention, hopper, {"throughput.tc": 2}, resolve=False)
    assert hopper.cost(fast.operation("s0")).steps[0].cycles == 256
    late = changed_loop(attention, hopper, {"tma-latency": 999}, resolve=True)
    assert [o.name for o in late.operations if hopper.cost(o).latency == 999] == ["k", "v"]
    assert changed_loop(attention, hopper, {"tma-latency": 999}, resolve=False) is attention
    with pytest.raises(InputError, match="no unit named 'xx'"):
        changed_loop(attention, hopper, {"throughput.xx": 2}, resolve=True)


def test_a_view_that_mixes_elements_is_not_resized() -> None:
    loop = twill.load_loop("fa_fwd_blackwell")
    with pytest.raises(RefusedError, match="cannot become 64 / 128 as many"):
        resize(loop, "o0:0", 64)


def test_options_of_a_run() -> None:
    assert run_options({"tma-latency": 5, "without": "", "depth": 3, "seed": 2}) == {
        "latency": "fixed:5",
        "without": (),
        "seed": 2,
    }


# -- depths -----------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 6])
def test_a_ring_of_another_depth_is_the_one_somebody_would_have_written(slots: int) -> None:
    changed = with_depth(ring(2, FIXED, WORK), slots).schedule
    written = ring(slots, FIXED, WORK)
    assert (changed.barriers, changed.programs) == (written.barriers, written.programs)


@pytest.mark.parametrize("by", [0, 1, 3])
def test_a_deeper_ring_is_the_one_somebody_would_have_written(by: int) -> None:
    changed = with_more_slots(ring(2, FIXED, WORK), by).schedule
    written = ring(2 + by, FIXED, WORK)
    assert (changed.barriers, changed.programs) == (written.barriers, written.programs)


def test_rings_that_differ_stay_different() -> None:
    """Keys with one slot, values with two: with a slot more each 48 KiB and 5 slots of 32 KiB."""
    schedule = load_schedule("fa3_forward_128x128")
    names = [s.value for s in schedule.storage if s.slots == 2 and s.memory == "smem"]
    uneven = with_depth(schedule, 1).schedule
    (values,) = (s for s in uneven.storage if s.value == names[1])
    uneven = _resized(uneven, values, 2)
    changed = with_more_slots(uneven, 1)
    slots = {s.value: s.slots for s in changed.schedule.storage if s.value in names}
    assert slots == {names[0]: 2, names[1]: 3}
    assert changed.schedule.pipeline_depths.items() >= slots.items()
    assert changed.fits == (5 * 32 + 48 <= 225)
    assert f"{(48 + 7 * 32) * 1024} bytes of SMEM, of 230400" in with_more_slots(uneven, 2).needs
    assert with_more_slots(schedule, 0).schedule == schedule
    assert with_more_slots(schedule, 0).fits
    latency = "fixed:2600"
    intervals = [
        run(one, iterations=24, latency=latency).measured_interval_cycles
        for one in (with_more_slots(schedule, 1).schedule, with_depth(schedule, 3).schedule)
    ]
    assert intervals[0] == intervals[1]


def test_attentions_rings_fit_twice() -> None:
    """Queries and the results that are staged take 48 KiB of 225, keys and values 32 a slot."""
    schedule = load_schedule("fa3_forward_128x128")
    assert [with_depth(schedule, n).fits for n in (1, 2, 3)] == [True, True, False]
    assert with_depth(schedule, 2).schedule == schedule
    assert f"{(48 + 3 * 64) * 1024} bytes of SMEM, of 230400" in with_depth(schedule, 3).needs


def test_naive_loops_that_do_not_fit_are_told(tmp_path: Path) -> None:
    """A ring of 16 slots of 32 KiB each fits nowhere, in whatever order its loop is executed."""
    load_schedule("fa3_forward_128x128").save(tmp_path / "s.json")
    made = sweep(str(tmp_path / "s.json"), axes={"depth": [2, 16]}, iterations=8)
    made = made.model_copy(update={"variants": ("multi-warp", "joint")})
    found = run_sweep(made)
    assert list(found["fits"]) == [True, False] * 2
    assert all("of 230400" in needs for needs in found["needs"][[1, 3]])


def test_a_loop_without_loads_has_no_depth() -> None:
    with pytest.raises(RefusedError, match="no load of variable latency has a ring"):
        with_depth(load_schedule("paper_example_by_hand"), 2)


def test_values_that_share_addresses_get_some_of_their_own() -> None:
    """FlashAttention-4 keeps K and V in one ring of addresses."""
    before = load_schedule("fa4_forward")
    changed = with_depth(before, 4)
    assert not changed.fits
    taken = sorted(
        (address, address + s.size)
        for s in changed.schedule.storage
        if s.value in ("K", "V")
        for address in s.addresses
    )
    assert len(taken) == 8
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(taken))
    interval = run(before, iterations=16).measured_interval_cycles
    assert run(changed.schedule, iterations=16).measured_interval_cycles == interval


# -- tables -----------------------------------------------------------------------------------


AXES = {"tma-latency": "50:250:5", "depth": "1:3"}


def test_every_point_is_what_a_run_of_its_own_says(schedule: str, tmp_path: Path) -> None:
    found = run_sweep(sweep(schedule, axes=AXES), tmp_path / "out")
    assert len(found) == 15
    for row in found.to_dict("records"):
        alone = run(
            with_depth(ring(2, FIXED, WORK), row["depth"]).schedule,
            iterations=32,
            latency=f"fixed:{row['tma-latency']}",
        )
        assert row["interval_cycles"] == alone.measured_interval_cycles
        # A turn of a ring takes a load, its reader and the signals between.
        turn = (row["tma-latency"] + WORK + SIGNALS) / row["depth"]
        assert row["interval_cycles"] == pytest.approx(max(WORK, turn))
    assert set(found["status"]) == {"ok"}


def test_slots_more_than_there_are_give_the_same_table(schedule: str) -> None:
    """Two slots and one or two more are three and four: all that is measured is the same."""
    latency = {"tma-latency": "50:250:5"}
    more = run_sweep(sweep(schedule, axes={**latency, "deeper": "1:2"}))
    depth = run_sweep(sweep(schedule, axes={**latency, "depth": "3:4"}))
    assert list(more["deeper"] + 2) == list(depth["depth"])
    columns = ["tma-latency", "status", "fits", "needs", "interval_cycles", "total_cycles"]
    assert more[columns].equals(depth[columns])


def test_answers_about_slots_more(schedule: str) -> None:
    """A turn takes latency + 23 cycles: within 20 with two slots to 17, three 37, four 57."""
    made = sweep(schedule, axes={"tma-latency": [10, 30, 50, 70], "deeper": "0:2"}, tolerance=0)
    told = answers(made, run_sweep(made))
    knees = {a.data["line"]["deeper"]: a.data["knee"] for a in told if a.question == "holds"}
    assert knees == {0: 10, 1: 30, 2: 50}
    assert "joint, deeper by 1: 20 cycles (+0%) hold up to" in told[1].words
    (least,) = [answer for answer in told if answer.question == "depth"]
    assert "least slots more that fit and hold 20 cycles (+0%)" in least.words
    assert list(least.data["least"].values()) == [0, 1, 2, None]


def test_the_table_is_the_same_whoever_runs_it(schedule: str, tmp_path: Path) -> None:
    made = sweep(schedule, axes=AXES, latency=[])
    alone = csv_text(run_sweep(made, tmp_path / "one"))
    with ThreadPoolExecutor(3) as executor:
        assert csv_text(run_sweep(made, tmp_path / "three", executor)) == alone
    assert csv_text(run_sweep(made)) == alone
    rows = list(csv.DictReader(io.StringIO(alone)))
    assert [int(row["point"]) for row in rows] == list(range(15))
    assert all(row["code_hash"] and row["subject_hash"] and row["simpy_version"] for row in rows)


def test_failures_are_rows(tmp_path: Path) -> None:
    fa4 = load_schedule("paper_example_by_hand")
    fa4.save(tmp_path / "s.json")
    made = sweep(str(tmp_path / "s.json"), axes={"depth": "1:2", "iterations": [16, 0]})
    with pytest.raises(InputError, match="no value below 0"):
        axes(sweep("x", axes={"iterations": "-1:1"}))
    found = run_sweep(made)
    assert set(found["status"]) == {"failed"}
    assert "no load of variable latency has a ring" in found["error"][0]
    told = [answer for answer in answers(made, found) if answer.question == "failures"]
    assert told[0].words.startswith("4 of 4 points failed; the first, point 0: ")


def test_schedules_are_solved_anew_at_each_point(tmp_path: Path) -> None:
    """The running example: two products of a cycle each; a slower unit sets the pace."""
    made = Sweep.from_json(
        json.dumps(
            {
                "items": ["paper_example"],
                "resolve": True,
                "variants": ["sequential", "joint"],
                "iterations": 24,
                "axes": {"throughput.TC": [1, 0.5], "groups": [1, 2]},
            }
        )
    )
    found = run_sweep(made, tmp_path / "out")
    joint = found[found["variant"] == "joint"]
    assert list(joint["interval_cycles"]) == [2, 2, 4, 4]
    assert list(found[found["variant"] == "sequential"]["interval_cycles"]) == [3, 3, 5, 5]
    assert len(set(joint["schedule_hash"])) == 4  # its proof says within which limits
    assert csv_text(run_sweep(made, tmp_path / "out")) == csv_text(found)


# -- interruptions ----------------------------------------------------------------------------


def test_what_is_finished_is_not_repeated(
    schedule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sweep(schedule, axes=AXES)
    expected = csv_text(run_sweep(made))
    counted: list[int] = []

    def stop() -> None:
        counted.append(1)
        if len(counted) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(made, tmp_path / "out", None, Told(advanced=stop))
    assert list(rows_in(tmp_path / "out")) == [0, 1, 2, 3]
    with (tmp_path / "out/journal.jsonl").open("a") as stream:
        stream.write('{"point": 4, "item": "half a li')
    seen: list[tuple[int, int]] = []
    evaluated: list[int] = []

    def watched(task: Task) -> Row:
        evaluated.append(task.index)
        return evaluate(task)

    monkeypatch.setattr(engine, "evaluate", watched)
    found = run_sweep(
        made, tmp_path / "out", None, Told(begun=lambda count, done: seen.append((count, done)))
    )
    assert csv_text(found) == expected
    assert seen == [(15, 4)]
    assert evaluated == list(range(4, 15))


def test_a_folder_holds_one_sweep(schedule: str, tmp_path: Path) -> None:
    run_sweep(sweep(schedule, axes={"depth": 1}), tmp_path / "out")
    with pytest.raises(InputError, match="holds another sweep"):
        run_sweep(sweep(schedule, axes={"depth": 2}), tmp_path / "out")
    file = next((tmp_path / "out/schedules").iterdir())
    file.write_text(file.read_text().replace('"slots": 2', '"slots": 3', 1))
    with pytest.raises(InputError, match="is not what the sweep ran"):
        run_sweep(sweep(schedule, axes={"depth": 1}), tmp_path / "out")


def test_one_process_writes_a_journal(tmp_path: Path) -> None:
    with Journal(tmp_path, "a") as first:
        assert first.add({"point": 0})
        assert not first.add({"point": 0})
        with pytest.raises(InputError, match="another process"), Journal(tmp_path, "a"):
            pass
    with pytest.raises(InputError, match="another sweep"), Journal(tmp_path, "b"):
        pass


def test_a_journal_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    message = rf"{tmp_path}/none/journal\.jsonl: cannot write: No such file or directory"
    with pytest.raises(InputError, match=message), Journal(tmp_path / "none", "a"):
        pass


def test_an_unwritable_folder_is_one_clear_line(schedule: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = (*SIM, "sweep", schedule, "--depth", "1", "-o", str(tmp_path / "file" / "out"))
    done = in_process(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"twill: {tmp_path}/file/out")
    assert "cannot write: Not a directory" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("limit", [100, 700, 3000])
def test_a_full_disk_leaves_nothing_half_written(schedule: str, tmp_path: Path, limit: int) -> None:
    """A limit of file size is what a test can have of a full disk: writes fail in the middle."""
    made = sweep(schedule, axes=AXES)
    folder = tmp_path / "out"
    run_sweep(sweep(schedule, axes=AXES), folder)
    (folder / "journal.jsonl").unlink()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        with pytest.raises(InputError, match=r"journal.jsonl: cannot write: File too large"):
            run_sweep(made, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    file = folder / "journal.jsonl"
    if file.exists():
        assert len(rows_in(folder)) == (0 if limit < 1000 else 3)
        assert file.read_bytes().endswith(b"\n")
    assert csv_text(run_sweep(made, folder)) == csv_text(run_sweep(made))


class Dying(Executor):
    """Every worker dies with its first point."""

    def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]
        from concurrent.futures.process import BrokenProcessPool

        future: Future[object] = Future()
        future.set_exception(BrokenProcessPool("died"))
        return future


def test_a_dead_worker_is_told(schedule: str) -> None:
    with pytest.raises(WorkerError, match="finished points are kept"):
        run_sweep(sweep(schedule, axes=AXES), None, Dying())


def rows_in(folder: Path) -> dict[int, Row]:
    return journal.read(folder / "journal.jsonl", Swept.load(folder / "sweep.json").hash)[0]


def lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def interrupted(made: Sweep, folder: Path, jobs: int) -> subprocess.Popen[str]:
    """Run a sweep on so many processes until some points are finished."""
    spec = folder.with_suffix(".json")
    made.save(spec)
    code = (
        "import sys; from pathlib import Path\n"
        "from twill.artifacts.sweep import Sweep\n"
        "from twill.base.console import command\n"
        "from twill.studies.sweep import run_sweep\n"
        "from twill.base.executors import local\n"
        "@command\n"
        "def main():\n"
        f"    with local({jobs}) as executor:\n"
        "        run_sweep(Sweep.load(sys.argv[1]), Path(sys.argv[2]), executor)\n"
        "if __name__ == '__main__': main()\n"
    )
    script = folder.with_suffix(".py")
    script.write_text(code)
    process = subprocess.Popen(
        [sys.executable, script, spec, folder],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until = time.monotonic() + 60
    while lines(folder / "journal.jsonl") < 5 and time.monotonic() < until:
        time.sleep(0.02)
    return process


def children(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


MANY = {"tma-latency": "50:250:20", "depth": "1:3"}


def test_kill_9_in_the_middle_then_again(schedule: str, tmp_path: Path) -> None:
    made = sweep(schedule, axes=MANY, iterations=128)
    folder = tmp_path / "killed"
    process = interrupted(made, folder, 2)
    workers = children(process.pid)
    assert len(workers) >= 2
    process.kill()
    process.communicate()
    before = rows_in(folder)
    assert 4 <= len(before) < 60
    assert csv_text(run_sweep(made, folder)) == csv_text(run_sweep(made))
    after = rows_in(folder)
    assert len(after) == 60
    assert lines(folder / "journal.jsonl") == 61
    until = time.monotonic() + 5
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("answered", [True, False])
def test_ctrl_c_while_workers_start_is_one_line(tmp_path: Path, *, answered: bool) -> None:
    """Every worker hears it while Python starts; then all do, those that start or have started."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal\nif 'HEARD' in os.environ: os.kill(os.getpid(), signal.SIGINT)\n"
    )
    script = tmp_path / "waits.py"
    # A signal that comes just before a sleep begins is seen only when that ends: short ones.
    script.write_text(
        "import os, time\n"
        "from twill.base.console import command\n"
        "from twill.base.executors import local\n"
        "@command\n"
        "def main():\n"
        "    os.environ['HEARD'] = 'yes'\n"
        "    with local(2) as workers:\n"
        f"        print(*workers.map(abs, {(-1, -2) if answered else ()}), flush=True)\n"
        "        for _ in range(400): time.sleep(0.05)\n"
        "if __name__ == '__main__': main()\n"
    )
    paths = os.pathsep.join((str(tmp_path), *filter(None, sys.path)))
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == ("1 2\n" if answered else "\n")
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, "twill: interrupted\n")


@pytest.mark.usefixtures("heard")
def test_ctrl_c_leaves_a_file_that_can_be_gone_on_with(schedule: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    process = interrupted(sweep(schedule, axes=MANY, iterations=128), folder, 1)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (130, "twill: interrupted\n")
    assert 4 <= len(rows_in(folder)) < 60


# -- what it says -----------------------------------------------------------------------------


def test_knees_and_depths_in_words(schedule: str) -> None:
    """The reader is busy all the time while latency + 23 cycles fit into 20 for each slot."""
    made = sweep(schedule, axes={"tma-latency": "0:60:61", "depth": "1:3"}, tolerance=0)
    found = run_sweep(made)
    told = {answer.question: [] for answer in answers(made, found)}  # type: ignore[var-annotated]
    for answer in answers(made, found):
        told[answer.question].append(answer)
    knees = {a.data["line"]["depth"]: a.data["knee"] for a in told["holds"]}
    best = found["interval_cycles"].min()
    for depth, knee in knees.items():
        rows = found[found["depth"] == depth]
        expected = rows[rows["interval_cycles"] == best]["tma-latency"]
        assert knee == (None if expected.empty else expected.max())
    assert knees[2] == 2 * WORK - WORK - SIGNALS
    assert knees[3] == 3 * WORK - WORK - SIGNALS
    assert any("hold up to a tma-latency of 17 cycles" in a.words for a in told["holds"])
    (least,) = told["depth"]
    assert least.data["least"]["fixed:17"] == 2
    assert least.data["least"]["fixed:18"] == 3
    assert least.data["least"]["fixed:38"] is None
    assert "3 slots under fixed:18 to fixed:37; no depth under fixed:38 to fixed:60" in least.words


def test_who_bears_most(tmp_path: Path) -> None:
    files = []
    for slots in (1, 4):
        made = ring(slots, FIXED, WORK).model_copy(update={"name": f"ring{slots}"})
        files.append(str(tmp_path / f"ring{slots}.json"))
        made.save(files[-1])
    both = Sweep.from_json(
        json.dumps({"items": files, "iterations": 32, "axes": {"tma-latency": "0:100:11"}})
    )
    told = [a for a in answers(both, run_sweep(both)) if a.question == "tolerance"]
    assert told[0].words.startswith("most tolerant: ring4 on small, joint to 50 cycles")
    spread = both.model_copy(update={"axes": {"latency": ("uniform:10,90", "fixed:5")}})
    told = [a for a in answers(spread, run_sweep(spread)) if a.question == "tolerance"]
    assert [a.data["latency"] for a in told] == ["uniform:10,90", "fixed:5"]
    assert [a.data["order"][0]["subject"] for a in told] == ["ring4 on small, joint"] * 2


def test_points_that_fail_are_told(schedule: str) -> None:
    made = sweep(schedule, axes={"machine.contexts.value": [0, 4]})
    *_, failed = answers(made, run_sweep(made))
    assert failed.words.startswith("1 of 2 points failed; the first, point 0: machine.contexts")


def test_the_plot_has_a_line_for_each_depth(schedule: str) -> None:
    made = sweep(schedule, axes=AXES)
    found = run_sweep(made)
    text = plot_sweep(made, found)
    assert text == plot_sweep(made, found)
    assert all(f">depth {n}<" in text for n in (1, 2, 3))
    assert ">tma-latency (cycles)<" in text


def test_packaged_sweeps_are_valid() -> None:
    for name in packaged_sweeps():
        assert axes(Sweep.named(name)), name


def test_files_are_beside_the_sweep(schedule: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'schema = "twill.sweep"\nschema_version = 1\nitems = ["ring.json"]\niterations = 16\n'
        "[axes]\ndepth = 2\n"
    )
    command = (*SIM, "sweep", str(tmp_path / "s.toml"), "--depth", "1:2", "--set", "seed=3")
    done = in_process(*command)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "hold from a depth of" in done.stdout
    del schedule


def test_a_sweep_of_which_every_point_fails_ends_in_status_1() -> None:
    runner = CliRunner()
    arguments = ["sim", "sweep", "paper_example_by_hand", "--iterations", "4"]
    assert runner.invoke(app, arguments).exit_code == 0
    failed = runner.invoke(app, [*arguments, "--depth", "1"])
    assert failed.exit_code == 1
    assert "1 of 1 points failed" in failed.stdout

"""Broken dumps end in one clear line or in a loop; whole ones are read quickly."""

from __future__ import annotations

import contextlib
import functools
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import twill
from tests.mutations import PACKAGED, Mutation, mutations
from twill.frontends.ttgir import extract
from twill.problem import build_problem

ROOT = Path(__file__).parents[1]
COUNT = 300
LONGEST_SECONDS = 10
LONGEST_MESSAGE = 700
MACHINES = {"sm90": "hopper_h100", "sm100": "blackwell_b200"}


class TooLate(BaseException):
    """Not an `Exception`, so that nobody takes it for bad input."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooLate

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@functools.cache
def machine_for(architecture: str) -> twill.Machine:
    return twill.Machine.named(MACHINES[architecture])


def outcome(mutation: Mutation) -> str:
    """What becomes of a dump: a problem, a loop that cannot be costed, or an error's class."""
    machine = machine_for(mutation.file.split(".")[1])
    loop = None
    try:
        loop = extract(mutation.text, file="k.mlir", loop="0")
        build_problem(loop, machine)
    except twill.TwillError as error:
        message = str(error)
        assert message.isprintable(), message
        assert 10 < len(message) < LONGEST_MESSAGE, message
        assert loop is not None or message.startswith("k.mlir: "), message
        return "loop" if loop is not None else type(error).__name__
    return "problem"


def test_a_seed_gives_the_same_dumps() -> None:
    assert list(mutations(5, 40)) == list(mutations(5, 40))
    assert list(mutations(5, 40)) != list(mutations(6, 40))


def test_broken_dumps_end_in_one_line_or_in_a_loop() -> None:
    ends: Counter[str] = Counter()
    for mutation in mutations(0, COUNT):
        with limited(LONGEST_SECONDS):
            try:
                ends[outcome(mutation)] += 1
            except Exception as error:
                pytest.fail(f"{mutation.how} of {mutation.file}: {error!r}")
    assert ends.total() == COUNT
    # Some changes break nothing, some leave a loop of something else, most break the file.
    assert ends["problem"] + ends["loop"] > COUNT / 10
    assert ends["InputError"] > COUNT / 2


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('sched.name = "k"', 'sched.name = "k\\"', "line 27 has a string without an end"),
        ('sched.name = "k"', 'sched.name = "k\\q"', "line 27 has a string without an end"),
        ("128x256xf32", "1000000007x256xf32", "a tensor of more than 1048576 elements"),
        ("128x256xf32", "4096x4096xf32", "a tensor of more than 1048576 elements"),
        ("128x256xf32", f"{'9' * 5000}xf32", "a tensor of more than 1048576 elements"),
        ("versionMajor = 3", f"versionMajor = {'3, a = ' * 4000}3", "a type of more than 10000"),
        ("sizePerThread = [1, 8]", "sizePerThread = [0, 8]", "not a layout (got '#ttg.blocked"),
        ("sizePerThread = [1, 8], ", "", "not a layout (got '#ttg.blocked"),
        ("(%a_6, %b_7, %c_5)", "(%a_6)", "not a TTGIR dump"),
        ("128x256xf32", "128x256xcomplex<f32>", "not a TTGIR dump"),
        ("#mma = ", "#mma = #mma\n#other = ", "not a TTGIR dump in MLIR's generic form: "),
    ],
)
def test_what_a_broken_dump_is_told(old: str, new: str, problem: str) -> None:
    text = (ROOT / "traces" / "ttgir" / "gemm.sm90.mlir").read_text()
    assert old in text
    with pytest.raises(twill.InputError) as caught, limited(LONGEST_SECONDS):
        extract(text.replace(old, new), file="k.mlir")
    assert str(caught.value).startswith(f"k.mlir: {problem}")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            '"ttng.warp_group_dot"',
            '"ttng.tc_gen5_mma"',
            "ttng.tc_gen5_mma at gemm.py:21:13 has 3 operands, needs 5",
        ),
        (
            '"tt.descriptor_load"',
            '"tt.reduce"',
            "tt.reduce at gemm.py:19:13 has no body",
        ),
        (
            "!ttg.memdesc<128x64xf16,",
            "!ttg.memdesc<128x64xf8E8M0FNU,",
            "ttg.local_alloc at gemm.py:19:13 has a tile of unknown size ('!ttg.memdesc<128x64x",
        ),
    ],
)
def test_what_an_operation_lacks(old: str, new: str, problem: str) -> None:
    text = (ROOT / "traces" / "ttgir" / "gemm.sm90.mlir").read_text()
    with pytest.raises(twill.TwillError) as caught:
        extract(text.replace(old, new), file="k.mlir")
    assert str(caught.value).startswith(f"k.mlir: {problem}")


MEASURED = """
import json, pathlib, re, resource, sys, time
from twill.frontends.ttgir import extract


def peak_kilobytes():
    # On Linux getrusage still counts what the process that started this one had in memory.
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read_text())[1])
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used // 1024 if sys.platform == "darwin" else used


times = {}
for file in sys.argv[1:]:
    text = open(file).read()
    start = time.perf_counter()
    try:
        extract(text, file=file, loop="0")
    except Exception:
        extract(text, file=file, loop="1")
    times[file] = time.perf_counter() - start
print(json.dumps({"seconds": times, "kilobytes": peak_kilobytes()}))
"""


def test_packaged_dumps_are_read_in_a_second_and_200_megabytes() -> None:
    command = [sys.executable, "-c", MEASURED, *map(str, PACKAGED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert len(measured["seconds"]) == len(PACKAGED)
    assert max(measured["seconds"].values()) < 1
    assert 20_000 < measured["kilobytes"] < 200_000

"""Every reader of what a user writes: how its input is changed, and what is done with it."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import twill
from tests.support.commands import SIM, in_process
from tests.support.fuzzing import (
    LONGEST_SECONDS,
    Mutant,
    as_json,
    as_toml,
    limited,
    mutants,
    text_mutants,
)
from tests.support.mutations import mutations
from tests.support.static import static_schedule
from twill.artifacts.costs import Terms, names_in
from twill.artifacts.loop import MOST_CYCLES, Loop
from twill.artifacts.machine import Machine, packaged_machines
from twill.artifacts.schedule import Schedule, TimeScale
from twill.artifacts.sweep import Sweep, Swept, SweptRun, text_hash
from twill.base.console import WARNING
from twill.bounds.analysis import analyse
from twill.cli.options import number, pairs, parse_settings
from twill.frontends import load_loop
from twill.frontends.schedules import load_schedule
from twill.frontends.triton_dump.call import check_complete, read_settings
from twill.frontends.ttgir import load_ttgir
from twill.frontends.ttgir.graph import choose_loop
from twill.frontends.ttgir.reader import Dump
from twill.problem import build_problem
from twill.search import scheduler
from twill.search.cache import Cache, _head
from twill.search.request import Request
from twill.search.scheduler import Solved, solve
from twill.show.ir import ir
from twill.sim.engine import latency_texts
from twill.sim.engine.latency import LatencyFile, parse_latencies
from twill.sim.engine.work import Work, works
from twill.sim.execute import run
from twill.studies.audit import audit, read_subject
from twill.studies.sweep import journal, load, run_sweep
from twill.studies.sweep.parameters import MOST_VALUES, values
from twill.studies.sweep.points import Runnable, tasks

ROOT = Path(__file__).parents[2]
SWEPT, JOURNAL = "sweep/sweep.json", "sweep/journal.jsonl"
PAPER = "paper_example"
LATENCY_FILES = (
    "# source: here\ncycles\n600\n20\n300.5\n",
    "# source: here\nbytes,cycles\n1024,20\n16384,200\n16384,300\n",
)
SCHEDULES = ("paper_example_by_hand", "fa3_forward_128x128")
"""Packaged ones that are small and that run."""


Mutants = Callable[[int, int], Iterator[Mutant]]


@dataclass(frozen=True)
class Reader:
    """How changed files are made, and who reads them."""

    mutants: Mutants
    ending: str
    follow: Callable[[str], object]  # reads a file and goes on with what it says
    # What takes longer goes on with one of so many files that are accepted.
    further: Callable[[str], object] | None = None
    every: int = 20
    # Of 100 files, so many are accepted at least: changes that break everything test little.
    accepted: int = 5


def commanded(*command: str) -> None:
    """Give a command; it ends without a traceback, and what it refuses is one line."""
    with limited(LONGEST_SECONDS):
        done = in_process(*command)
    assert done.returncode in (0, 1, 2), done
    if done.returncode == 2:
        warned = done.stderr.removesuffix("\n").split("\n")[:-1]
        assert done.stderr.startswith("twill: "), done
        assert all(line.startswith("twill: warning: ") for line in warned), done


def of_documents(
    documents: Callable[[], list[Any]], write: Callable[[Any], str] = as_json
) -> Mutants:
    return lambda seed, count: mutants(seed, count, documents(), write)


def of_texts(texts: Callable[[], Iterable[str]]) -> Mutants:
    return lambda seed, count: text_mutants(seed, count, list(texts()))


def documents(*patterns: str) -> list[Any]:
    return [json.loads(file.read_text()) for p in patterns for file in sorted(ROOT.glob(p))]


def texts(pattern: str) -> list[str]:
    return [file.read_text() for file in sorted(ROOT.glob(pattern))]


def of_json(pattern: str) -> Mutants:
    return of_documents(lambda: documents(pattern))


def of_toml(pattern: str) -> Mutants:
    return of_documents(lambda: [tomllib.loads(text) for text in texts(pattern)], as_toml)


def said(file: str) -> str:
    """Return a text as the command line gets it."""
    return Path(file).read_text("utf-8", "surrogateescape")


@functools.cache
def schedules() -> tuple[str, ...]:
    """Schedules with all that they may have, as JSON."""
    solved = static_schedule(packaged_loop(PAPER), Machine.named(PAPER))
    return (solved.to_json(), *(load_schedule(name).to_json() for name in SCHEDULES))


def follow_loop(file: str) -> None:
    loop = load_loop(file)
    analyse(loop, Machine.named(PAPER))


def show_loop(file: str) -> None:
    for machine in ("hopper_h100", "blackwell_b200", "paper_example", "ddg"):
        commanded("twill", "loop", "show", file, "--machine", machine)
    commanded("twill", "loop", "show", file)


@functools.cache
def packaged_loop(name: str) -> Loop:
    return load_loop(name)


def follow_machine(file: str) -> None:
    machine = Machine.named(file)
    for name in (PAPER, "fa_fwd_hopper", "fa_fwd_blackwell"):
        analyse(packaged_loop(name), machine)


def audit_machine(file: str) -> None:
    audit(read_subject(file))
    commanded("twill", "machine", "show", file)


def expressions() -> list[str]:
    rules = [rule for name in packaged_machines() for rule in Machine.named(name).rules]
    found = {r.when for r in rules} | {r.latency for r in rules}
    found |= {step.cycles for rule in rules for step in rule.steps}
    found |= {text for rule in rules for text in rule.let.values()}
    return sorted(found) + 5 * ["warps**3 + 2 ** (bits / 8)"]


def follow_expression(file: str) -> None:
    text = said(file)
    try:
        names = dict.fromkeys(names_in(text), 64)
    except ValueError as error:  # a machine file with it is refused
        raise twill.InputError(str(error)) from None
    Terms(names, "m.toml").cycles(text, "rules[0].latency")


def follow_schedule(file: str) -> None:
    schedule = load_schedule(file)
    twill.verify(schedule)
    run(schedule, iterations=3)


def show_schedule(file: str) -> None:
    for form in ("table", "code", "json", "ir", "roles", "why"):
        commanded("twill", "show", file, "--as", form)
    with tempfile.TemporaryDirectory() as folder:
        picture = str(Path(folder, "picture.svg"))
        commanded("twill", "show", file, "--as", "timeline", "--output", picture)
    commanded("twill", "verify", file)
    commanded("twill", "explain", file, "--no-levers")
    commanded(*SIM, "run", file, "--iterations", "5", "--values")


def follow_ir(file: str) -> None:
    twill.verify(load_schedule(file))


def follow_graph(file: str) -> None:
    analyse(load_loop(file), Machine.named("ddg"))


def follow_dump(file: str) -> None:
    loop = load_ttgir(file, loop="0")
    target = re.search(r"cuda:(\d+)", Path(file).read_text())
    build_problem(
        loop, Machine.named("blackwell_b200" if target and target[1] == "100" else "hopper_h100")
    )


RUN = SweptRun(item="item", loop="loop", machine="machine", variant="joint", note="", hash="")


def follow_sweep(file: str) -> None:
    tasks(Sweep.named(file), [Runnable(RUN)])


def follow_latencies(file: str) -> None:
    found = LatencyFile.named(file)
    assert all(0 <= found.quantile(4096, share / 10) <= MOST_CYCLES for share in range(11))


@functools.cache
def results() -> dict[str, str]:
    """The files of a finished sweep and of a comparison of two schedules of one loop."""
    sweep = Sweep(
        items=("paper_example_by_hand",), axes={"synchronisation": (1.0, 2.0)}, iterations=24
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_sweep(sweep, folder / "sweep")
        files = folder.rglob("*.json*")
        return {str(file.relative_to(folder)): file.read_text() for file in files}


def among_results(name: str, file: str | Path) -> Path:
    """Return a folder of results beside a changed file, which is in the place of one of them."""
    folder = Path(file).with_name("results")
    for other, text in results().items():
        if not (folder / other).exists():
            (folder / other).parent.mkdir(parents=True, exist_ok=True)
            (folder / other).write_text(text)
    shutil.copy(file, folder / name)
    return folder


def read_results(folder: Path, part: str) -> dict[Any, Any]:
    swept, runs = load(folder / part)
    rows, _ = journal.read(folder / part / journal.NAME, swept.hash)
    return {"swept": swept.to_json(), "runs": runs, **rows}


@functools.cache
def unchanged(part: str) -> dict[Any, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "file")
        file.write_text(results()[SWEPT])
        return read_results(among_results(SWEPT, file), part)


def of_results(name: str, changed: Mutants, *, sealed: bool = False) -> Reader:
    """Return the reader of one of the results.

    Where changed files have the hashes of what they say they may be accepted; other ones are
    refused or say the same, or less of it, where a journal ends.
    """
    part = name.partition("/")[0]

    def follow(file: str) -> None:
        found = read_results(among_results(name, file), part)
        assert sealed or found.items() <= unchanged(part).items()

    ending = Path(name).suffix
    return Reader(changed, ending, follow, every=60, accepted=0)


def sealed(document: Any) -> str:
    """Write a sweep with its hash, if it is one."""
    text = as_json(document)
    try:
        return Swept.model_validate_json(text).seal().to_json()
    except ValueError:
        return text


def journal_of(row: Any) -> str:
    """Return a journal of one row, with its hash."""
    header = json.loads(results()[JOURNAL].partition("\n")[0])
    text = json.dumps(row, ensure_ascii=False)
    seal = text_hash(f"{header['sweep']}\n{text}".encode("utf-8", "replace").decode())
    return f"{as_json(header)}\n{as_json({'row': row, 'hash': seal})}\n"


def rows() -> list[Any]:
    return [json.loads(line)["row"] for line in results()[JOURNAL].splitlines()[1:]]


def kept_request() -> Request:
    return Request(packaged_loop(PAPER), Machine.named(PAPER))


@functools.cache
def kept_answer() -> tuple[str, Schedule]:
    """The name under which an answer is kept, and the answer."""
    with tempfile.TemporaryDirectory() as folder:
        solved = solve(kept_request(), cache=Cache(folder))
        (file,) = Path(folder).iterdir()
        return file.stem, solved.schedule


def answers(seed: int, count: int) -> Iterator[Mutant]:
    """Yield kept answers; most are changed by somebody who knows how they are kept."""
    key, schedule = kept_answer()
    changed = mutants(seed, count, [json.loads(schedule.to_json())], as_artifact)
    for index, mutant in enumerate(changed):
        text = mutant.data.decode("utf-8", "replace")
        head = _head(key, text if index % 10 else schedule.to_json())
        yield Mutant(mutant.how, f"{head}\n".encode() + mutant.data)


def as_artifact(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def follow_answer(file: str) -> None:
    """Ask for what is kept; where that is of no use, the right answer comes with a warning."""
    key, schedule = kept_answer()
    right = Solved(schedule, {"total": 0.0})
    folder = Path(file).with_name("answers")
    folder.mkdir(exist_ok=True)
    shutil.copy(file, folder / f"{key}.answer")
    with (
        contextlib.redirect_stderr(io.StringIO()) as stderr,
        mock.patch.object(scheduler, "_solve", return_value=right),
    ):
        try:
            solved = solve(kept_request(), cache=Cache(folder))
        except twill.TwillError as error:
            raise AssertionError("what is kept keeps nobody from an answer") from error
    warned = stderr.getvalue()
    if not solved.cached:
        assert warned.startswith(WARNING), warned
        raise twill.InputError(warned.removeprefix(WARNING).removesuffix("\n"))
    assert not warned, warned
    assert solved.schedule.initiation_interval == schedule.initiation_interval
    assert twill.verify(solved.schedule).valid


LATENCIES = (
    "fixed:600", "uniform:400,4000", "lognormal:700,0.3", "mixture", "mixture:0.5,0.25,0.25",
    "trace:b200_tma_contended", f"trace:{ROOT}/traces/latency/b200_tma_contended.csv",
    "K=fixed:600 V=uniform:1,2 lognormal:800,1",
    f"V='trace:{ROOT}/traces/latency/b200_tma_contended.csv'",
)  # fmt: skip


@functools.cache
def loads() -> dict[str, Work]:
    schedule = load_schedule(SCHEDULES[1])
    return works(schedule.loop, schedule.machine)


def follow_latency_option(file: str) -> None:
    found = parse_latencies(said(file), loads(), Machine.named("hopper_h100"), seed=0)
    for work in loads().values():
        drawn = [found.draw(work, start) for start in range(20)]
        assert all(0 <= cycles <= 2 * MOST_CYCLES for cycles in drawn)


def run_with_latencies(file: str) -> None:
    options = [word for text in latency_texts(said(file)) for word in ("--latency", text)]
    commanded(*SIM, "run", SCHEDULES[1], "--iterations", "5", *options)


VALUES = ("200:4000:20", "1:6", "log:100:10000:9", "600", "1,2,4", "1e3:2e3:3", "0:1:2")


def follow_values_option(file: str) -> None:
    for kind in ("text", "number", "whole"):
        assert 1 <= len(values(said(file), kind, "axes.x")) <= MOST_VALUES


def sweep_values(file: str) -> None:
    if len(values(said(file), "whole", "axes.x")) < 4:
        commanded(*SIM, "sweep", SCHEDULES[1], "--tma-latency", said(file), "--iterations", "12")


WISHES = ("groups=2\nS=first\nS,O", "registers=160\nO=second\nS,P", "stages=3\nP=1\nP,O")


def wishes(file: str) -> list[tuple[str, str]]:
    return list(zip(("limit", "pin", "order"), said(file).split("\n"), strict=False))


def follow_wishes(file: str) -> None:
    between = {"limit": "=", "pin": "=", "order": ","}
    found = {o: pairs([text], between[o], o) for o, text in wishes(file)}
    request = Request(
        packaged_loop(PAPER),
        Machine.named(PAPER),
        limits={name: number(value, "limit") for name, value in found.get("limit", ())},
        pins=dict(found.get("pin", ())),
        orders=found.get("order", ()),
    )
    request.problem(TimeScale())


def schedule_with_wishes(file: str) -> None:
    options = [word for option, text in wishes(file) for word in (f"--{option}", text)]
    commanded("twill", "schedule", PAPER, "--machine", PAPER, *options)


CAUSAL = ROOT / "traces" / "ttgir" / "attention_forward_causal.sm90.mlir"
"""A dump of two loops."""


@functools.cache
def causal() -> Dump:
    return Dump(CAUSAL.read_text(), CAUSAL.name)


def extract_chosen(file: str) -> None:
    for more in ((), ("--whole-tiles",)):
        commanded("twill", "loop", "extract", str(CAUSAL), "--loop", said(file), *more)


KERNEL = SimpleNamespace(
    params=[
        SimpleNamespace(name=name, is_constexpr=name.isupper(), has_default=default, default=None)
        for name, default in (
            *(("a_desc", False), ("c_ptr", False), ("n", False), ("bias_ptr", True)),
            *(("ROWS", False), ("KIND", False), ("STAGES", True)),
        )
    ],
    parse=lambda: ast.parse("def k(): return 1 if KIND else 2"),
)
"""What the reader of settings sees of a kernel: types of three arguments, values of the others."""
SETTINGS = (
    "a_desc=tensordesc<fp16[128,64]>\nc_ptr=*fp16\nn=i32:16\nROWS=128\nKIND=tl.float16",
    "a_desc=*kbf16\nc_ptr=*fp32\nn=fp8e4nv\nbias_ptr=*fp16\nROWS=(1, [2])\nKIND='e4m3'\nSTAGES=-1",
)


def follow_settings(file: str) -> None:
    language = SimpleNamespace(dtype=str, float16="fp16")
    modules = {"triton": SimpleNamespace(language=language), "triton.language": language}
    with mock.patch.dict(sys.modules, modules):
        settings = parse_settings(said(file).split("\n"))
        given = read_settings(KERNEL, settings, "k.py:k")
        check_complete(KERNEL, given, settings, example="twill", file="k.py:k")
    assert given.keys() == settings.keys()


READERS = {
    "loop": Reader(of_json("traces/loops/*.json"), ".json", follow_loop, show_loop, every=20),
    "machine": Reader(of_toml("machines/*.toml"), ".toml", follow_machine, audit_machine, every=40),
    "machine_text": Reader(
        of_texts(lambda: texts("machines/*.toml")), ".toml", follow_machine, audit_machine, every=80
    ),
    "expression": Reader(of_texts(expressions), ".txt", follow_expression),
    "order": Reader(
        of_json("traces/schedules/*.json"), ".json", follow_schedule, show_schedule, every=60
    ),
    "schedule": Reader(
        of_documents(lambda: [json.loads(text) for text in schedules()]),
        ".json",
        follow_schedule,
        show_schedule,
        every=60,
    ),
    "schedule_ir": Reader(
        of_texts(lambda: [ir(Schedule.from_json(text)) for text in schedules()[:2]]),
        ".mlir",
        follow_ir,
        accepted=2,
    ),
    "graph": Reader(
        of_json("docs/reading/*.ddg.json"),
        ".json",
        follow_graph,
        lambda file: commanded("twill", "loop", "show", file, "--machine", "ddg"),
    ),
    "dump": Reader(mutations, ".mlir", follow_dump, accepted=10),
    "sweep": Reader(of_toml("traces/studies/*.toml"), ".toml", follow_sweep),
    "latencies": Reader(
        of_texts(lambda: [*texts("traces/latency/*.csv"), *LATENCY_FILES]), ".csv", follow_latencies
    ),
    "sweep_result": of_results(SWEPT, of_texts(lambda: [results()[SWEPT]])),
    "sweep_result_sealed": of_results(
        SWEPT, of_documents(lambda: [json.loads(results()[SWEPT])], sealed), sealed=True
    ),
    "journal": of_results(JOURNAL, of_texts(lambda: [results()[JOURNAL]])),
    "journal_sealed": of_results(JOURNAL, of_documents(rows, journal_of), sealed=True),
    "answer": Reader(answers, ".answer", follow_answer, accepted=0),
    "latency_option": Reader(
        of_texts(lambda: LATENCIES), ".txt", follow_latency_option, run_with_latencies
    ),
    "values_option": Reader(of_texts(lambda: VALUES), ".txt", follow_values_option, sweep_values),
    "wishes": Reader(of_texts(lambda: WISHES), ".txt", follow_wishes, schedule_with_wishes),
    "loop_option": Reader(
        of_texts(lambda: ("0", "1", "k", "kv")),
        ".txt",
        lambda file: choose_loop(causal(), said(file)),
        extract_chosen,
    ),
    "settings": Reader(of_texts(lambda: SETTINGS), ".txt", follow_settings),
}

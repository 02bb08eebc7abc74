"""Every check of a machine file finds what it is there for, and packaged files are clean."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import twill.studies.audit
from twill.artifacts.hardware import Memories
from twill.artifacts.machine import packaged_machines
from twill.cli.main import app

MACHINES = Path(__file__).parents[2] / "machines"
RUN = CliRunner()
CHECKS = len(twill.studies.audit.CHECKS)

Audited = Callable[..., list[tuple[str, str, str]]]


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    """Audit a packaged file after replacing one text by another."""

    def audited(name: str, old: str, new: str) -> list[tuple[str, str, str]]:
        text = (MACHINES / f"{name}.toml").read_text()
        assert text.count(old) >= 1
        file = tmp_path / f"{name}.toml"
        file.write_text(text.replace(old, new, 1))
        found = twill.studies.audit.audit(twill.studies.audit.read_subject(str(file)))
        assert all(finding.mend for _, finding in found)
        return [(check, finding.where, finding.what) for check, finding in found]

    return audited


@pytest.mark.parametrize("name", packaged_machines())
def test_packaged_machines_are_clean(name: str) -> None:
    done = RUN.invoke(app, ["machine", "check", name])
    assert done.exit_code == 0
    assert done.stdout.startswith(f"machines/{name}.toml: clean ({CHECKS} checks; rules tried on ")


def test_a_memory_that_packaged_loops_need_and_a_machine_lacks() -> None:
    subject = twill.studies.audit.read_subject("hopper_h100")
    without = subject.machine.model_copy(update={"memories": Memories()})
    found = twill.studies.audit.audit(replace(subject, machine=without))
    assert {(check, finding.where) for check, finding in found} >= {
        ("memories_hold_their_loops", "memories.smem")
    }
    assert any("has values there, and there is none" in finding.what for _, finding in found)


def test_the_loops_of_an_architecture_are_tried() -> None:
    def tried(name: str) -> set[str]:
        return {loop.name for loop in twill.studies.audit.read_subject(name).loops}

    assert "fa_fwd_hopper" in tried("hopper_h100") & tried("hopper_h200")
    assert "paper_example" in tried("paper_example")
    assert not tried("paper_example") & tried("hopper_h100")


RULE = '[[rules]]\nkind = ["exp2"]\n'
EXTRA = """
[[rules]]
kind = [{kind}]
steps = [{{ unit = "ADD", cycles = "1"{step} }}]
latency = "1"
source = "PAPER: one cycle"
{more}
"""


def extra(kind: str = '"store"', step: str = "", more: str = "") -> str:
    """Return a further rule to put before the one for exponentials."""
    return EXTRA.format(kind=kind, step=step, more=more) + RULE


@pytest.mark.parametrize(
    ("check", "old", "new", "where", "what"),
    [
        ("missing_rules", 'kind = ["exp2"]', 'kind = ["sine"]', "rules",
         ("packaged loop paper_example: no cost rule for kind 'exp2' (operation 'P'): add a "
         "[[rules]] entry to this file")),
        ("missing_rules", 'kind = ["mma"]', 'kind = ["mma"]\nwhen = "color == 1"',
         "rules[0].when",
         ("packaged loop paper_example: nothing named 'color' for operation 'S' in 'color == 1' "
          "(and 1 more like it)")),
        ("shadowed_rules", RULE, RULE.replace("exp2", "mma"), "rules[1]",
         "never applies to kind 'mma': rules[0] takes all of it before"),
        ("shadowed_rules", '"add", "sub"', '"add", "exp2", "sub"', "rules[2]",
         "never applies to kind 'exp2': rules[1] takes all of it before"),
        ("repeated_kinds", RULE, extra('"store", "store"'), "rules[1].kind",
         "'store' is listed 2 times"),
        ("dead_conditions", RULE, extra(more='when = "False"'), "rules[1].when", "is never true"),
        ("issue_of_synchronous_rules", RULE, extra(more='issue = "3"'), "rules[1].issue",
         "a synchronous operation keeps its group busy for its occupancy; this is ignored"),
        ("impossible_steps", RULE, extra(step=', count = "2"'), "rules[1].steps[0].count",
         "needs 2 of unit ADD, which has 1"),
        ("impossible_steps", RULE, extra(step=', count = "0"'), "rules[1].steps[0].count",
         "a step of 0 does nothing"),
        ("unused_units", "[units.ADD]",
         '[units.SUB]\ncapacity = 1\nunit = "subtractors"\nsource = "PAPER"\n[units.ADD]',
         "units.SUB", "no rule uses this unit"),
        ("unknown_names", 'kind = ["exp2"]\nsteps = [{ unit = "EXP", cycles = "1"',
         'kind = ["exp2"]\nsteps = [{ unit = "EXP", cycles = "elments"',
         "rules[1].steps[0].cycles",
         ("nothing is named 'elments': no constant, no fact about the operation, no let before it, "
         "no attribute of a packaged exp2")),
        ("unknown_names", RULE, extra('"math.absi"', more='let = { x = "elments" }'),
         "rules[1].let.x",
         ("nothing is named 'elments': no constant, no fact about the operation, no let before it, "
         "no attribute of a packaged math.absi")),
        ("unused_lets", RULE, extra(more='let = { waves = "2" }'), "rules[1].let.waves",
         "nothing after it uses this name"),
        ("unused_constants", "[[rules]]",
         '[constants]\ndrain = { value = 3.0, unit = "cycles", source = "PAPER" }\n[[rules]]',
         "constants.drain", "no rule uses this constant"),
        ("hidden_names", "[[rules]]",
         '[constants]\nwarps = { value = 3.0, unit = "cycles", source = "PAPER" }\n[[rules]]',
         "constants.warps", "a fact about the operation has this name and hides the constant"),
        ("hidden_names", RULE,
         extra(step=', count = "bytes"', more='let = { bytes = "1" }'), "rules[1].let.bytes",
         "a fact about the operation has this name too"),
        ("unused_sources", "[sources]", '[sources]\nBOOK = "a book"', "sources.BOOK",
         "no number has this source"),
        ("empty_sources", ('MODEL = "a choice of the model where the paper is silent, see '
         'docs/model.md"'), 'MODEL = "?"', "sources.MODEL",
         "does not say where the numbers can be found (got '?')"),
        ("empty_sources", 'source = "PAPER: one SM"', 'source = "PAPER: unknown"',
         "multiprocessors.source", "does not say what the source says (got 'PAPER: unknown')"),
        ("repeated_sources", "[sources]",
         '[sources]\nMODEL2 = "a choice of the model where the paper is silent, see docs/model.md"',
         "sources.MODEL", "is the same as MODEL2"),
        ("clock", "value = 1000.0", "value = 0.0", "clock.value", "a clock of 0 does nothing"),
        ("clock", '"MHz"', '"GHz"', "clock.unit", "throughput is computed from MHz (got 'GHz')"),
        ("warps_on_contexts", "value = 64", "value = 62", "warps.value",
         "62 warps do not spread evenly over 4 issue contexts"),
        ("context_units", "[units.ADD]\ncapacity = 1", ('[units.ADD]\nscope = "context"\n'
         "capacity = 4"), "units.ADD.capacity",
         "each context has its part of this unit, which counts as 1 (got 4)"),
        ("in_order_units", "[units.TC]\ncapacity = 1", "[units.TC]\ncapacity = 2",
         "units.TC.in_order",
         "only one unit of the SM can execute in issue order (got capacity 2, scope 'sm')"),
        ("group_counts", "count = 4", "count = 40", "groups[0]",
         "40 groups of 4 warps are 160 warps, the SM has 64"),
        ("repeated_groups", "[[groups]]",
         '[[groups]]\nwarps = 4\ncount = 1\nsource = "PAPER"\n[[groups]]', "groups[1].warps",
         "groups[0] is of 4 warps too; only the last counts"),
        ("hop_covers_its_parts", "wait = { value = 0", "wait = { value = 5",
         "synchronisation.hop.value",
         "a hop of 0 cycles is shorter than its arrive and wait together, 5 cycles"),
    ],
)  # fmt: skip
def test_checks_on_the_example(
    audited: Audited, check: str, old: str, new: str, where: str, what: str
) -> None:
    assert (check, where, what) in audited("paper_example", old, new)


@pytest.mark.parametrize(
    ("check", "old", "new", "where", "what"),
    [
        ("hidden_names", "waves = ", "smem_latency = ", "rules[3].let.smem_latency",
         "a constant has this name too"),
        ("issue_unit", 'contexts (one warp-instruction a clock each)"\nscope = "context"',
         'contexts"\nscope = "sm"', "units.issue.scope", "issue slots belong to the contexts"),
        ("memories_hold_their_loops", "capacity = 232448", "capacity = 67583", "memories.smem",
         "the packaged loop fa_fwd_hopper needs at least 65536 bytes, there are 65535"),
        ("register_order", "least = { value = 24", "least = { value = 264",
         "registers.least.value", "the least allocation, 264, is more than the most, 256"),
        ("register_order", "limit = { value = 255", "limit = { value = 257",
         "registers.limit.value",
         "a thread cannot use 257 registers if at most 256 are allocated"),
        ("register_steps", "least = { value = 24", "least = { value = 20",
         "registers.least.value", "20 is not a multiple of the step of 8"),
        ("register_steps", "limit = { value = 255", "limit = { value = 248",
         "registers.most.value",
         "256 registers are allocated to a thread that can use 248: a step of 8 or more is lost"),
        ("register_reserve", "reserve = { value = 16", "reserve = { value = 255",
         "registers.reserve.value", "a reserve of 255 leaves none of 255 registers"),
        ("register_reserve", "reserve = { value = 16", "reserve = { value = 16.5",
         "registers.reserve.value", "registers come whole (got 16.5)"),
        ("register_file", "file = { value = 65536", "file = { value = 6143", "groups[2]",
         "one group of 8 warps needs 6144 registers at the least allocation, the file holds 6143"),
        ("group_widths", "[[groups]]\nwarps = 8", "[[groups]]\nwarps = 6", "groups[2].warps",
         ("a group of 6 warps is neither a part nor a multiple of the 4 that share one register "
         "allocation")),
        ("machine_code", "costs.fence = ", "costs.fense = ", "instructions",
         "lacks the cost product_fence"),
    ],
)  # fmt: skip
def test_checks_on_a_gpu(
    audited: Audited, check: str, old: str, new: str, where: str, what: str
) -> None:
    assert (check, where, what) in audited("hopper_h100", old, new)


def test_every_check_is_made_to_fire_above() -> None:
    tests: tuple[Any, ...] = (test_checks_on_the_example, test_checks_on_a_gpu)
    fired = {case[0] for test in tests for case in test.pytestmark[0].args[1]}
    assert fired == {check.__name__ for check in twill.studies.audit.CHECKS}


def test_an_extending_file_answers_for_its_own_lines_only(tmp_path: Path) -> None:
    file = tmp_path / "m.toml"
    file.write_text(
        'extends = "hopper_h100"\nname = "mine"\n[sources]\nBOOK = "a book"\nOTHER = "another"\n'
        '[clock]\nvalue = 1.0\nunit = "MHz"\nsource = "BOOK"\n'
        '[[rules]]\nkind = ["max"]\nsteps = [{ unit = "alu", cycles = "1" }]\nlatency = "1"\n'
        'source = "BOOK: in place of the rule that this file extends"\n'
    )
    found = twill.studies.audit.audit(twill.studies.audit.read_subject(str(file)))
    assert [(check, finding.where) for check, finding in found] == [
        ("unused_sources", "sources.OTHER")
    ]


def test_the_command_lists_findings_and_ends_in_status_1(tmp_path: Path) -> None:
    text = (MACHINES / "paper_example.toml").read_text()
    file = tmp_path / "m.toml"
    file.write_text(text.replace("value = 1000.0", "value = 0.0"))
    done = RUN.invoke(app, ["machine", "check", str(file)])
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "clock.value: a clock of 0 does nothing",
        "    give the clock in MHz",
        (
            f"{file}: 1 finding ({CHECKS} checks; rules tried on paper_example, "
            "skipped_interval, skipped_interval_issue)"
        ),
    ]
    done = RUN.invoke(app, ["machine", "check", str(file), "--json"])
    assert done.exit_code == 1
    data = json.loads(done.stdout)
    assert data["clean"] is False
    assert data["findings"] == [
        {
            "check": "clock",
            "where": "clock.value",
            "what": "a clock of 0 does nothing",
            "mend": "give the clock in MHz",
        }
    ]


def test_an_unreadable_machine_ends_in_status_2(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text("[sources")
    for name, message in (
        ("nothing", "twill: nothing: no such machine; packaged are "),
        (str(tmp_path / "m.toml"), f"twill: {tmp_path}/m.toml: not TOML: "),
    ):
        done = RUN.invoke(app, ["machine", "check", name])
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith(message)
        assert done.stderr.count("\n") == 1

"""The paper's evaluation: claims, and figures that must not drift."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

import twill
from tests.golden import golden
from tests.support.static import static_schedule
from tests.validation.results import OWN
from twill.base.errors import InputError, MissingLibraryError, RefusedError
from twill.bounds import bounds
from twill.cli.main import app
from twill.engines import FAMILIES
from twill.frontends.schedules import load_schedule
from twill.search.request import Options
from twill.sim.engine import UNMODELLED
from twill.sim.execute import run
from twill.studies.reproduce import CASES, claims, print_claims, reproduce
from twill.studies.reproduce.claims import (
    Case,
    CaseResult,
    Claim,
    Settings,
    ask,
    least,
    packaged,
    wished,
)
from twill.studies.reproduce.evaluation import LONGEST_FIRST
from twill.studies.reproduce.forward import FORWARD_BLACKWELL as BLACKWELL
from twill.studies.reproduce.forward import fa4_pins
from twill.verification import verify

KEYS = [
    "case", "claim", "found", "pass", "seconds", "paper_seconds", "reason",
    "polished", "polished_passed", "compiled",
]  # fmt: skip
FAST = ("running_example",)


def made_up() -> list[CaseResult]:
    return [
        CaseResult(
            "hopper_forward",
            (
                Claim("hopper_forward", "solved", "I = 2048 cycles | ResMII", True, 1.0, 28.0),
                Claim("hopper_forward", "swp close", "2421 cycles", False, 2.0, None, "Its order."),
            ),
            {"joint": 2048.0, "swp": 2421.0},
        )
    ]


# -- the command ------------------------------------------------------------------------------


def test_the_running_example_is_figure_1() -> None:
    done = CliRunner().invoke(app, ["reproduce", "--case", "running_example", "--json"])
    assert done.exit_code == 0, done.output
    claims = json.loads(done.output)["claims"]
    assert [list(claim) for claim in claims] == [KEYS] * 5
    assert all(claim["pass"] for claim in claims)
    assert claims[0]["found"] == "I = 2, L = 4: S at 0, P at 2, O at 3"
    assert claims[1]["found"] == "the verifier refuses it: capacity, slots"


def test_an_unknown_case_is_bad_input() -> None:
    with pytest.raises(InputError, match=r"case: one of running_example, .* \(got 'hopper'\)"):
        reproduce(["hopper"])


def test_a_search_without_an_answer_fails_every_claim_that_is_left() -> None:
    def body(case: Case) -> None:
        case.judge("first", "yes", passed=True, reason="never said")
        raise RefusedError("not decided in 3 s")

    texts = {"first": "the first", "second": "the second", "third": "the third"}
    result = Case("made_up", texts, Settings()).work(body)
    assert [(c.claim, c.passed, c.found) for c in result.claims] == [
        ("the first", True, "yes"),
        ("the second", False, "not decided in 3 s"),
        ("the third", False, "not decided in 3 s"),
    ]
    assert result.claims[0].reason == ""
    assert result.claims[1].reason == "Nothing to judge: not decided in 3 s."


def solved_gemm() -> twill.Schedule:
    return static_schedule(*packaged("gemm_two_tiles_hopper"), options=Options(effort=0.5))


@pytest.mark.triton
def test_the_compiler_is_asked_about_kernels() -> None:
    good = solved_gemm()
    groups = [g.model_copy(update={"registers": 24}) for g in good.groups]
    bad = good.model_copy(update={"groups": tuple(groups)})
    compiled = _compiled({"good": good, "bad": bad})
    assert re.match("good: as it is written; bad: .*ptxas", compiled)


def test_nothing_is_compiled_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(*_: object, **__: object) -> None:
        raise MissingLibraryError("Triton is not installed")

    monkeypatch.setattr(claims, "check", check)
    assert _compiled({"good": solved_gemm()}) == ""


def _compiled(schedules: dict[str, twill.Schedule]) -> str:
    def body(case: Case) -> None:
        case.judge("only", "yes", passed=True)
        case.compile("only", schedules)

    return Case("made_up", {"only": "the only one"}, Settings()).work(body).claims[0].compiled


def test_the_table_fits_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_claims(made_up())
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert "1 of 2 claims hold" in out
    assert "swp close: Its order." in out


def test_every_case_is_worked_on_once() -> None:
    together = [name for task in LONGEST_FIRST for name in task]
    assert sorted(together) == sorted(CASES)


# -- what must not drift ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def test_golden_metrics(name: str) -> None:
    (result,) = reproduce([name], timeout=900.0)
    kept = golden()[name]
    assert dict(result.metrics) == pytest.approx(kept["metrics"], rel=1e-9)
    # Whether a question is answered within its limit depends on the machine at hand.
    timed = {c.claim for c in result.claims if "not decided" in c.found}
    for claim in result.claims:
        assert claim.claim in timed or claim.passed == kept["holds"][claim.claim], claim


def test_golden_metrics_say_where_they_come_from() -> None:
    assert list(golden()) == [*CASES, *OWN]
    for name, kept in golden().items():
        program = "python -m tests.golden" if name in OWN else "twill reproduce --case"
        assert kept["provenance"]["command"] == f"{program} {name}"
        assert set(kept["provenance"]["solvers"]) >= {"yices", "ortools"}


def test_golden_intervals_that_are_quick_to_compute() -> None:
    """Closed forms: the tensor core's 2048 cycles; shared memory's 2688 and 5000."""
    hopper = golden()["hopper_forward"]["metrics"]
    expert = run(load_schedule("fa3_forward_128x128"), without=UNMODELLED).measured_interval_cycles
    assert hopper["fa3_forward_128x128: FlashAttention-3 (cycles)"] == expert == 2048
    assert hopper["fa_fwd_hopper interval (cycles)"] == 4 * 512
    assert golden()["hopper_backward"]["metrics"]["fa_bwd_hopper interval (cycles)"] == 2688
    modulo = bounds(wished("fa_bwd_blackwell")).interval
    assert (
        golden()["blackwell_backward"]["metrics"]["fa_bwd_blackwell modulo interval (cycles)"]
        == modulo
    )


# -- questions --------------------------------------------------------------------------------


def test_the_running_example_at_fixed_intervals_and_stages() -> None:
    """Two products on one tensor core: I = 2 needs a second stage, I = 1 never works."""
    problem = wished("paper_example")
    assert ask(problem, 2, 2, 20.0).said == "feasible"
    one = ask(problem, 2, 1, 20.0)
    assert one.feasible is False
    assert set(one.core) <= set(FAMILIES)
    assert ask(problem, 3, 1, 20.0).feasible is True
    tight = ask(problem, 1, 6, 20.0)
    assert tight.feasible is False
    assert "capacity" in tight.core
    assert least(problem, 20.0) == (2, True)


def test_wishes_make_a_question_infeasible_and_restoring_them_feasible() -> None:
    name = "skipped_interval_issue"
    few = ask(wished(name, groups=1), 3, 1, 20.0)
    assert few.feasible is False
    assert ask(wished(name), 3, 1, 20.0).feasible is True
    assert ask(wished(name, groups=1), 3, 2, 20.0).feasible is True


def test_a_search_stops_at_the_level_that_matters(
    paper_loop: twill.Loop, paper_machine: twill.Machine
) -> None:
    schedules = [
        static_schedule(paper_loop, paper_machine, options=Options(until=until))
        for until in ("stages", "groups", "slack")
    ]
    proved = [[x.level for x in s.proof.levels if x.proved] for s in schedules if s.proof]
    assert proved[:2] == [["interval", "stages"], ["interval", "stages", "groups"]]
    assert proved[2][-1] == "slack"
    for schedule in schedules:
        assert verify(schedule).valid
        assert (schedule.initiation_interval, schedule.stages) == (2, 2)
    again = static_schedule(paper_loop, paper_machine, options=Options(until="stages"))
    assert again.to_json() == schedules[0].to_json()
    with pytest.raises(InputError, match="until: one of stages, groups"):
        Options(until="interval")


def test_flash_attention_4s_assignment_places_everything_but_loads() -> None:
    loop, machine = packaged(BLACKWELL)
    pins = fa4_pins()
    loads = {o.name for o in loop.operations if machine.cost(o).variable_latency}
    assert set(pins) == {o.name for o in loop.operations} - loads
    assert set(pins.values()) == {"mma", "correction", "softmax0", "softmax1"}
    assert {o.kind for o in loop.operations if pins.get(o.name) == "mma"} == {"mma"}
    assert {o.kind for o in loop.operations if pins.get(o.name) == "correction"} == {"tmem_update"}

"""Choice among programs by machine code: who judges, what is preferred, what is compiled once."""

from __future__ import annotations

import importlib.util
import lzma
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import twill
from tests.compiled import kernels
from tests.support.commands import in_process
from tests.support.static import static_schedule
from twill.artifacts.proof import OnGpu
from twill.base.deadline import Deadline
from twill.base.errors import InputError, MissingLibraryError, RefusedError, TwillError
from twill.base.files import cache_folder
from twill.cli.judge import Ran
from twill.compiled import Finding, kept
from twill.compiled.cubin import Cubin
from twill.frontends import load_loop
from twill.polish import Interrupted, Polished
from twill.schemas import SCHEMAS
from twill.show.schedule import promise_words
from twill.sim.checks import check
from twill.sim.engine import UNMODELLED, Conditions
from twill.studies import choice
from twill.studies import judged as judging
from twill.studies import trials as trials_of
from twill.studies.barriers import with_fewer_barriers, without_implied
from twill.studies.choice import (
    COMPILED,
    GPU,
    SIMULATED,
    Polishing,
    chosen,
    compiled_best,
    fastest_on_gpu,
    judge_of,
    polished,
    with_modelled,
)
from twill.studies.judged import Evidence, Judged, evidence, judged_file, kind_of
from twill.studies.trials import Trial, print_trials
from twill.verification import verify
from twill.verification.promise import unchecked

GEMM = "gemm_two_tiles_hopper"
FOLDER = Path(__file__).parents[1] / "data" / "machine_code"
Judge = Callable[..., Judged]


@pytest.fixture(scope="module")
def given() -> twill.Schedule:
    static = static_schedule(load_loop(GEMM), twill.Machine.named("hopper_h100"))
    return twill.polish(static, effort="quick", judge="simulated").schedule


@pytest.fixture(scope="module")
def judged() -> Judged:
    """A kernel of 512 cycles, compiled before and executed here."""
    text = (FOLDER / "gemm_grouped.sass").read_text()
    cubin = Cubin("kernel", 90, 8, 131340, 0, "", text)
    return judged_file(FOLDER / "gemm_grouped.py", compiler=lambda _file, _architecture: cubin)


def of(judged: Judged, cycles: float, *faults: str) -> Judged:
    """Return a kernel of other cycles, with findings."""
    assert judged.prediction is not None
    prediction = replace(judged.prediction, highest_cycles=cycles, lowest_cycles=cycles)
    findings = tuple(Finding(name, "", "") for name in faults)
    return replace(judged, made=replace(judged.made, findings=findings), prediction=prediction)


def named(schedule: twill.Schedule, name: str) -> twill.Schedule:
    return schedule.model_copy(update={"name": name})


def answers(monkeypatch: pytest.MonkeyPatch, told: dict[str, Judged | TwillError]) -> list[str]:
    """Let kernels be the names of their schedules, and answers be told; return what is asked."""
    asked: list[str] = []

    def judge(kernel: str, _machine: object) -> Judged:
        asked.append(kernel)
        answer = told[kernel]
        if isinstance(answer, TwillError):
            raise answer
        return answer

    monkeypatch.setattr(choice, "emitted", lambda schedule: schedule.name.rstrip("'"))
    monkeypatch.setattr(choice, "judged_text", judge)
    return asked


def test_the_least_cycles_of_kernels_compiled_as_written_are_chosen(
    given: twill.Schedule, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Judged | TwillError] = {
        "slow": of(judged, 900),
        "serialized": of(judged, 500, "serialized"),
        "best": of(judged, 700),
        "none": InputError("not compiled"),
    }
    asked = answers(monkeypatch, told)
    best, trials = compiled_best([named(given, name) for name in ("slow", *told, "best'")])
    assert [trial.schedule.name for trial in trials] == ["best", "slow", "serialized", "none"]
    assert asked == ["slow", "serialized", "best", "none"]  # each kernel once
    assert best.promise is not None
    assert best.promise.machine_code is not None
    assert best.promise.machine_code.interval_cycles == 700
    assert [trial.faults for trial in trials] == [(), (), ("serialized",), ("not compiled",)]
    assert trials[-1].data() == {
        "promised_cycles": trials[-1].promised,
        "cycles": None,
        "on_gpu": None,
        "faults": ["not compiled"],
    }


def test_a_kernel_that_only_spills_counts_with_the_worst_error_of_its_kind(
    given: twill.Schedule, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = Evidence("spills or serialized products", 6, 0.07, 0.2, "one GPU")
    told: dict[str, Judged | TwillError] = {
        "faster": of(judged, 600),
        "spills": replace(of(judged, 500, "spills"), evidence=wide),  # as if 625
        "slower": of(judged, 650),
        "order": replace(of(judged, 400, "spills", "order"), evidence=wide),
        "unknown": replace(of(judged, 400, "spills"), evidence=None),
    }
    answers(monkeypatch, told)
    _, trials = compiled_best([named(given, name) for name in reversed(told)])
    ranked = [trial.schedule.name for trial in trials]
    assert ranked[:3] == ["faster", "spills", "slower"]
    assert [bool(trial.faults) for trial in trials] == [False, True, False, True, True]


@pytest.mark.parametrize("compared", [True, False])
def test_cycles_that_were_compared_with_no_measurement_say_so(
    given: twill.Schedule,
    judged: Judged,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    compared: bool,
) -> None:
    answers(monkeypatch, {"one": of(judged, 700)})
    monkeypatch.setattr(trials_of, "is_compared", lambda machine: compared and machine is not None)
    best, trials = compiled_best([named(given, "one")])
    assert best.promise is not None
    trials_of.print_trials(trials)
    for said in (promise_words(best.promise), capsys.readouterr().out):
        assert ("compared with no measurement" in " ".join(said.split())) != compared


@pytest.mark.parametrize("ends", ["", "refused", "interrupted"])
@pytest.mark.parametrize(("simulations", "each"), [(1000, 500), (64, 64), (20, 20)])
def test_programs_of_the_static_models_machine_are_candidates_too(
    given: twill.Schedule, ends: str, simulations: int, each: int
) -> None:
    asked: list[Polishing] = []

    def search(begin: Sequence[twill.Schedule], how: Polishing) -> Polished:
        asked.append(how)
        if len(asked) == 2 and ends:
            raise RefusedError("none") if ends == "refused" else KeyboardInterrupt
        other = named(begin[0], f"other {len(asked)}")
        return Polished(named(begin[0], f"best {len(asked)}"), given, None, "", different=(other,))

    how = Polishing(simulations, 0, (Conditions(),), 1, different=3)
    if ends == "interrupted":
        with pytest.raises(Interrupted) as stopped:
            with_modelled(search, (given,), how, Deadline())
        found = stopped.value.polished
    else:
        found = with_modelled(search, (given,), how, Deadline())
    names = [one.name for one in (found.schedule, *found.different)]
    assert names == (["best 1", "other 1"] if ends else ["best 1", "other 1", "best 2", "other 2"])
    assert [(one.simulations, one.different) for one in asked] == [(each, 1)] * 2
    assert [one.conditions[0].without for one in asked] == [frozenset(), frozenset(UNMODELLED)]
    # Promises are those of the simulated SM with all its mechanisms.
    assert {one.promise.interval_cycles for one in found.different[1:] if one.promise} <= {
        given.promise.interval_cycles if given.promise else None
    }
    machine = given.machine.model_copy(update={"mechanisms": None})
    bare = given.model_copy(update={"machine": machine, "machine_hash": None})
    asked.clear()
    ends = ""
    with_modelled(search, (bare,), how, Deadline())
    assert asked == [how]


def test_registers_that_the_compiler_takes_are_kept_in_a_second_search(
    given: twill.Schedule, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, {"first": of(judged, 900, "serialized"), "second": of(judged, 1000)})
    searched: list[str] = []

    def search(begin: Sequence[twill.Schedule]) -> Polished:
        searched.append(begin[0].machine.name)
        name = "first" if len(searched) == 1 else "second"
        return Polished(named(begin[0], name), given, None, "")

    found, trials = chosen(search, (given,))
    assert searched == ["hopper_h100", "hopper_h100_ptxas"]
    assert found.schedule.machine.name == "hopper_h100_ptxas"
    assert [trial.schedule.name for trial in trials] == ["second", "first"]
    searched.clear()
    answers(monkeypatch, {"first": of(judged, 900, "serialized"), "second": of(judged, 950, "x")})
    assert chosen(search, (given,))[0].schedule.name == "first"
    searched.clear()
    answers(monkeypatch, {"first": of(judged, 900)})
    assert chosen(search, (given,))[0].schedule.name == "first"
    assert searched == ["hopper_h100"]
    searched.clear()
    answers(monkeypatch, {"first": of(judged, 900, "serialized"), "second": of(judged, 1000)})
    searched.clear()
    machine = given.machine.model_copy(update={"description": "mine"})
    own = given.model_copy(update={"machine": machine})
    answers(monkeypatch, {"first": of(judged, 900, "serialized")})
    assert chosen(search, (own,))[0].schedule.machine.description == "mine"
    searched.clear()
    answers(monkeypatch, {"first": of(judged, 900, "serialized"), "second": of(judged, 1000)})
    asked: list[str] = []

    def restart(machine: twill.Machine) -> list[twill.Schedule]:
        asked.append(machine.name)
        return [given]

    chosen(search, (given,), restart=restart)
    assert (asked, searched) == (["hopper_h100_ptxas"], ["hopper_h100", "hopper_h100"])


@pytest.mark.parametrize(("serialized", "searches"), [(("a",), 1), (("a", "b"), 2)])
def test_a_second_search_follows_where_most_programs_are_not_as_written(
    given: twill.Schedule,
    judged: Judged,
    monkeypatch: pytest.MonkeyPatch,
    serialized: Sequence[str],
    searches: int,
) -> None:
    told: dict[str, Judged | TwillError] = {"first": of(judged, 900), "second": of(judged, 800)}
    told |= {name: of(judged, 700, "serialized") for name in serialized}
    answers(monkeypatch, told)
    searched: list[str] = []

    def search(begin: Sequence[twill.Schedule]) -> Polished:
        searched.append(begin[0].machine.name)
        if len(searched) == 2:
            return Polished(named(begin[0], "second"), given, None, "")
        others = tuple(named(begin[0], name) for name in serialized)
        return Polished(named(begin[0], "first"), given, None, "", different=others)

    found, trials = chosen(search, (given,))
    assert len(searched) == searches
    assert found.schedule.name == ("first" if searches == 1 else "second")
    assert [trial.schedule.name for trial in trials][-1] in serialized


def test_ctrl_c_in_the_second_search_keeps_the_first_answer(
    given: twill.Schedule, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, {"first": of(judged, 900, "serialized")})
    found = [Polished(named(given, "first"), given, None, "")]

    def search(_begin: Sequence[twill.Schedule]) -> Polished:
        if not found:
            raise KeyboardInterrupt
        return found.pop()

    with pytest.raises(Interrupted) as stopped:
        chosen(search, (given,))
    assert stopped.value.polished.schedule.name == "first"


def test_without_a_prediction_the_simulated_sm_decides(
    given: twill.Schedule, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = replace(judged, prediction=None, unpredicted="unknown instruction", evidence=None)
    answers(monkeypatch, {"slow": unknown, "fast": unknown})
    promise = given.promise
    assert promise is not None
    conditions = [
        one.model_copy(update={"interval_cycles": 2 * one.interval_cycles})
        for one in promise.conditions
    ]
    longer = promise.model_copy(
        update={
            "conditions": tuple(conditions),
            "interval_cycles": 2 * promise.interval_cycles,
        }
    )
    slow = named(given, "slow").model_copy(update={"promise": longer})
    best, trials = compiled_best([slow, named(given, "fast")])
    assert best.name == "fast"
    assert best.promise == promise  # nothing is said of machine code
    assert [trial.promised for trial in trials] == [
        promise.interval_cycles,
        longer.interval_cycles,
    ]


H200 = OnGpu(
    device="NVIDIA H200",
    interval_cycles=800,
    lowest_cycles=790,
    highest_cycles=1810,
    clock_mhz=1790,
    rounds=3,
    compiler="triton 3.9.0",
)


def on_gpu(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, OnGpu | RefusedError | None]
) -> list[str]:
    """Let the GPU take as long as is told of kernels, or be interrupted; return what is asked."""
    asked: list[str] = []

    def measure(kernels: Sequence[str], *_: object) -> list[OnGpu | RefusedError]:
        asked.extend(kernels)
        answers = [told[kernel] for kernel in kernels]
        if None in answers:
            raise KeyboardInterrupt
        return [one for one in answers if one is not None]

    monkeypatch.setattr(choice, "measured_in_rounds", measure)
    return asked


def test_of_the_programs_compiled_as_written_the_gpu_chooses(
    given: twill.Schedule,
    judged: Judged,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers(monkeypatch, {"a": of(judged, 700), "b": of(judged, 900), "c": of(judged, 500, "x")})
    best, trials = compiled_best([named(given, name) for name in "abc"])
    found = Polished(best, given, None, "")
    slower = H200.model_copy(update={"interval_cycles": 801.0})
    asked = on_gpu(monkeypatch, {"a": slower, "b": H200})
    chosen_one, ranked = fastest_on_gpu(found, trials)
    assert asked == ["a", "b"]
    assert [trial.schedule.name for trial in ranked] == ["b", "a", "c"]
    promise = chosen_one.schedule.promise
    assert promise is not None
    assert promise.on_gpu == H200
    assert promise.machine_code is not None
    assert promise.machine_code.interval_cycles == 900
    assert promise_words(promise).startswith("800 cycles measured on NVIDIA H200; 900 cycles in")
    SCHEMAS["schedule"].model_validate_json(chosen_one.schedule.to_json())
    assert ranked[0].data()["on_gpu"] == H200.model_dump()
    said = " ".join(unchecked(chosen_one.schedule))
    assert "800 cycles on NVIDIA H200; `twill verify --run`" in said
    print_trials(ranked)
    told = capsys.readouterr().out
    assert "chosen among 3 programs by rounds on NVIDIA H200" in told
    assert "800 (790 to 1,810)" in told
    on_gpu(monkeypatch, {"a": RefusedError("it hangs"), "b": H200})
    _, ranked = fastest_on_gpu(found, trials)
    assert [(one.schedule.name, *one.faults) for one in ranked] == [
        ("b",),
        ("c", "x"),
        ("a", "it hangs"),
    ]


@pytest.mark.parametrize("faults", [(), ("serialized",)])
def test_machine_code_chooses_where_nothing_was_measured(
    faults: tuple[str, ...],
    given: twill.Schedule,
    judged: Judged,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers(monkeypatch, {"a": of(judged, 700, *faults)})
    best, trials = compiled_best([named(given, "a")])
    found = Polished(best, given, None, "")
    on_gpu(monkeypatch, {"a": RefusedError("it hangs")})
    assert fastest_on_gpu(found, trials) == (found, trials)
    why = "no program is compiled as written" if faults else "it hangs"
    assert f"nothing was measured on the GPU: {why}" in capsys.readouterr().err


def test_ctrl_c_while_the_gpu_measures_keeps_what_machine_code_chose(
    given: twill.Schedule, judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, {"a": of(judged, 700)})
    best, trials = compiled_best([named(given, "a")])
    monkeypatch.setattr(
        choice, "chosen", lambda *_, **__: (Polished(best, given, None, ""), trials)
    )
    on_gpu(monkeypatch, {"a": None})
    how = Polishing(100, 0, (Conditions(),), 1, different=3)
    assert polished((given,), how)[0].schedule == best
    with pytest.raises(Interrupted) as stopped:
        polished((given,), replace(how, measures=True))
    assert stopped.value.polished.schedule == best


def test_without_a_gpu_its_judgement_is_refused_before_the_search(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr("twill.search.request.answers", None)  # solves
    words = (GEMM, "-m", "hopper_h100", "--judge", "gpu", "-o", str(tmp_path / "s.json"))
    done = in_process("twill", "schedule", *words)
    assert (done.returncode, done.stderr) == (
        2,
        "twill: no GPU is at hand: there is no nvidia-smi\n",
    )


@pytest.mark.parametrize(
    ("answer", "kept", "said"),
    [
        (H200.model_copy(update={"interval_cycles": 839.0}), [True], "839 cycles an iteration, as"),
        (H200.model_copy(update={"interval_cycles": 841.0}), [False], "NOT the 800 that are"),
        (H200.model_copy(update={"device": "NVIDIA H100"}), [], "comparable with NVIDIA H100"),
        (RefusedError("it hangs"), [False], "it hangs"),
        (None, [], "not measured again: no GPU is at hand"),
    ],
)
def test_a_promise_of_a_gpu_is_measured_again_where_there_is_one(
    answer: OnGpu | RefusedError | None,
    kept: list[bool],
    said: str,
    given: twill.Schedule,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert given.promise is not None
    promise = given.promise.model_copy(update={"on_gpu": H200})
    for runs in ("promises_kept", "promised_conditions"):  # on the simulated SM
        monkeypatch.setattr(f"twill.sim.promise.{runs}", lambda _schedule: ())

    def check() -> None:
        if answer is None:
            raise InputError("no GPU is at hand")

    monkeypatch.setattr("twill.studies.on_gpu.check_gpu", check)
    monkeypatch.setattr("twill.studies.on_gpu.measured_in_rounds", lambda _: [answer])
    ran = Ran.of(given.model_copy(update={"promise": promise}), values=False)
    ran.print()
    assert [run.kept for run in ran.runs] == kept
    assert said in " ".join(" ".join(capsys.readouterr()).split())


def test_the_judge_is_the_compiler_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with_kernel, without = load_loop(GEMM), load_loop("paper_example")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.delenv(choice.JUDGE_VARIABLE)
    assert judge_of(with_kernel) == SIMULATED
    with pytest.raises(MissingLibraryError, match="Triton"):
        judge_of(with_kernel, COMPILED)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    assert judge_of(with_kernel) == COMPILED
    assert judge_of(without) == SIMULATED
    assert judge_of(with_kernel, SIMULATED) == SIMULATED
    with pytest.raises(InputError, match="no kernel to compile"):
        judge_of(without, COMPILED)
    monkeypatch.setenv(choice.JUDGE_VARIABLE, SIMULATED)
    assert judge_of(with_kernel) == SIMULATED
    monkeypatch.setenv(choice.JUDGE_VARIABLE, COMPILED)
    assert judge_of(without) == SIMULATED
    with pytest.raises(InputError, match="simulated, compiled or gpu"):
        judge_of(with_kernel, "other")
    checks: list[str] = []
    monkeypatch.setattr(choice, "check_gpu", lambda: checks.append("asked"))
    with pytest.raises(InputError, match="no kernel to compile"):
        judge_of(without, GPU)
    assert judge_of(with_kernel, GPU) == GPU
    assert checks == ["asked"]


def test_errors_of_predictions_are_those_of_the_kind(judged: Judged) -> None:
    assert kind_of(judged.made) == "products alone"
    assert judged.evidence == evidence()["products alone"]
    assert str(Evidence("x", 2, 0.031, 0.25, "one GPU")) == (
        "predictions of this kind of kernel (x) are off by 3% in the median, 25% at most: "
        "2 kernels on one GPU"
    )
    spilled = of(judged, 512, "spills")
    assert kind_of(spilled.made) == "spills or serialized products"


def test_a_kernel_is_compiled_again_only_if_it_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    cubin = Cubin("kernel", 90, 4, 0, 0, "", "listing", (1, 2))

    def compile_file(file: Path, _architecture: int, *, emitted: bool) -> Cubin:
        assert emitted
        asked.append(file.read_text())
        return cubin

    monkeypatch.setattr(kept, "compile_file", compile_file)
    monkeypatch.setattr(kept, "version", lambda _name: "3.9.0")
    first, again, other = (tmp_path / name for name in ("a.py", "b.py", "c.py"))
    for file, text in ((first, "one"), (again, "one"), (other, "two")):
        file.write_text(text)
        assert kept.compiled(file, 90) == cubin
    assert asked == ["one", "two"]
    assert kept.compiled(first, 100) == cubin
    monkeypatch.setattr(kept, "version", lambda _name: "4.0.0")
    assert kept.compiled(first, 90) == cubin
    assert asked == ["one", "two", "one", "one"]
    for file in cache_folder().glob("*.cubin"):
        file.write_bytes(file.read_bytes()[:-9])
    assert kept.compiled(first, 90) == cubin
    assert asked == ["one", "two", "one", "one", "one"], "a damaged file is none"


@pytest.mark.triton
def test_a_chosen_program_keeps_its_promise(given: twill.Schedule, tmp_path: Path) -> None:
    found = twill.polish(given, effort="quick", judge="compiled").schedule
    assert found.promise is not None
    code = found.promise.machine_code
    assert code is not None
    assert 1023 <= code.interval_cycles <= 1100  # 1022.7 measured on an H200
    file = tmp_path / "s.json"
    found.save(file)
    verify = ("twill", "verify", str(file), "--run")
    assert "machine code of triton" in in_process(*verify).stdout
    better = code.model_copy(update={"interval_cycles": 900.0, "lowest_cycles": 900.0})
    promise = found.promise.model_copy(update={"machine_code": better})
    found.model_copy(update={"promise": promise}).save(file)
    assert in_process(*verify).returncode == 1


@pytest.mark.triton
def test_a_kernel_that_is_not_executed_says_why(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(kernels.HOPPER)
    found = judged_file(file)
    assert (found.prediction, found.evidence, found.cycles) == (None, None, None)
    assert "make_arguments" in found.unpredicted
    assert found.data()["promised_cycles"] is None


def compiled_for_blackwell(folder: Path) -> tuple[Path, Cubin]:
    """Return a packaged kernel for a B200 as it was compiled."""
    for end in ("py", "sass"):
        packed = (FOLDER / f"gemm_blackwell.{end}.xz").read_bytes()
        (folder / f"k.{end}").write_bytes(lzma.decompress(packed))
    targets = 6144, 7392, 8688, 8816
    text = (folder / "k.sass").read_text()
    return folder / "k.py", Cubin("gemm_kernel", 100, 8, 229708, 256, "", text, targets)


def test_blackwell_is_judged_and_says_that_nothing_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, cubin = compiled_for_blackwell(tmp_path)
    found = judged_file(file, compiler=lambda _file, _architecture: cubin)
    assert found.cycles == pytest.approx(581, abs=2)  # of TMA, the bound of all programs
    assert found.evidence is None
    judging.print_judged(found)
    said = " ".join(capsys.readouterr().out.split())
    assert "no prediction for sm_100a was compared with a measurement" in said
    assert "predictions of this kind" not in said


@pytest.mark.parametrize(
    ("machine", "reason"),
    [("hopper_h100", "unknown instruction NANOSLEEP"), ("ddg", "ddg has no [[instructions]]")],
)
def test_a_machine_without_the_instructions_says_so(
    machine: str, reason: str, tmp_path: Path
) -> None:
    file, cubin = compiled_for_blackwell(tmp_path)
    sm = twill.Machine.named(machine)
    found = judged_file(file, sm, compiler=lambda _file, _architecture: cubin)
    assert found.prediction is None
    assert reason in found.unpredicted


def test_a_defect_of_the_simulator_leaves_the_compiled_kernel(
    judged: Judged, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("R999")

    monkeypatch.setattr(judging, "predicted", broken)
    text = (FOLDER / "gemm_grouped.sass").read_text()
    cubin = Cubin("kernel", 90, 8, 131340, 0, "", text)
    found = judged_file(FOLDER / "gemm_grouped.py", compiler=lambda _file, _architecture: cubin)
    assert found.made == judged.made
    assert found.prediction is None
    assert "a defect of this simulator: KeyError" in found.unpredicted
    assert "R999" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tries", "saves", "begin", "barriers", "compiled"),
    [
        (32, 10, 1300, 2, None),  # until no change is left
        (1, 10, 1300, 4, 2),  # three are implied; then a and b share one
        (4, -10, 1300, 8, None),
        (32, 10, 1024, 8, 0),  # the bound
        (0, 10, 1300, 8, 0),
    ],
)
def test_barriers_are_left_out_for_as_long_as_that_saves_cycles(
    given: twill.Schedule,
    judged: Judged,
    *,
    tries: int,
    saves: int,
    begin: int,
    barriers: int,
    compiled: int | None,
) -> None:
    first, asked = len(given.barriers), list[str]()

    def trial(schedule: twill.Schedule) -> Trial:
        asked.append(schedule.name)
        fewer = first - len(schedule.barriers)
        return Trial(schedule, of(judged, begin - saves * fewer))

    def compiles(schedules: Sequence[twill.Schedule]) -> list[Trial]:
        return sorted(map(trial, schedules), key=lambda one: one.worth)

    best = trial(given)
    asked.clear()
    assert not [*with_fewer_barriers([best], tries, compiles, (Conditions(),), Deadline(0.0))]
    found = [[best], *with_fewer_barriers([best], tries, compiles, (Conditions(),), Deadline())]
    assert compiled in (None, len(asked))
    assert len(found[-1][0].schedule.barriers) == barriers
    for before, after in pairwise(found):
        assert len(after) == len(before) + 1
        assert after[0].worth[:-1] <= before[0].worth[:-1]
        assert verify(after[0].schedule).valid
        assert after[0].schedule.promise is not None
        assert given.promise is not None
        assert after[0].schedule.promise.simulations == given.promise.simulations


def test_barriers_that_others_imply_are_left_out(given: twill.Schedule) -> None:
    fewer = without_implied(given, (Conditions(),))
    assert fewer is not None
    gone = {one.name for one in given.barriers} - {one.name for one in fewer.barriers}
    assert gone == {"a0.empty", "c0.issued", "c1.issued"}
    assert verify(fewer).valid
    assert check(fewer, values=True).right
    assert without_implied(fewer, (Conditions(),)) is None

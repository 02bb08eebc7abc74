"""Before a first call: what `twill.jit` would do with the kernels of a file, and answers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from twill.artifacts.machine import Machine
from twill.base.console import say
from twill.base.errors import InputError, TwillError
from twill.base.formats import cycles
from twill.decorated.answers import Answer, How
from twill.decorated.calls import Calls
from twill.decorated.devices import Device, architecture_of
from twill.decorated.forms import forms
from twill.decorated.kernel import Kernel, jit
from twill.frontends.triton_dump.call import (
    added_by,
    check_complete,
    example,
    read_settings,
    with_strides,
)
from twill.frontends.triton_dump.guesses import plausible
from twill.frontends.triton_dump.kernel import (
    as_of_triton,
    dump_call,
    found,
    gpu_of,
    imported,
    kernels_of,
    one_line,
    undecorated,
)
from twill.frontends.triton_dump.lower import STOP_BEFORE
from twill.frontends.triton_dump.stand_ins import instance
from twill.frontends.ttgir.reader import Dump

FIRST = next(iter(STOP_BEFORE))  # the architecture as which a file is imported that names none


@dataclass(frozen=True)
class Diagnosis:
    """The form of a kernel that `twill.jit` takes, as far as it is known without a schedule.

    Attributes
    ----------
    kernel : str
        Its name.
    loops : tuple of str
        Its loops, by their induction variables.
    assumed : dict of str to str
        Settings of arguments that were not given.
    form : str
        The form that is scheduled first; empty if Triton's own kernel would run.
    bound_cycles : float, optional
        Cycles that an iteration takes at least.
    refused : str
        Why Triton's own kernel would run; otherwise empty.
    """

    kernel: str
    loops: tuple[str, ...]
    assumed: Mapping[str, str]
    form: str = ""
    bound_cycles: float | None = None
    refused: str = ""


def diagnosed(file: str, settings: Mapping[str, str], machine: Machine | None) -> list[Diagnosis]:
    """Return what `twill.jit` would do with each kernel of a file that no other one calls.

    `machine`: in place of those that the file names.

    `settings`: as `twill loop dump` takes them, for all kernels that have such a parameter. Others
    have their defaults, and else what `plausible` guesses.

    Raises
    ------
    InputError
        If the file cannot be imported, or has no kernel, or one without a machine; if no kernel has
        an argument of `settings`.
    """
    module = imported(file, FIRST if machine is None else architecture_of(machine))
    kernels = {name: undecorated(vars(module)[name]) for name in kernels_of(module)}
    known = {parameter.name for one in kernels.values() for parameter in one.params}
    for name in sorted(settings.keys() - known):
        raise InputError("no kernel of the file has such an argument", path=f"--set {name}")
    called = {call for name, one in kernels.items() for call in _called(one) if call != name}
    found = []
    for name, one in kernels.items():
        if not one.is_gluon() and name not in called:
            named = vars(module)[name]
            on = machine or (named.machine if isinstance(named, Kernel) else None)
            if on is None:
                wrong = f"name the machine that {name} will run on"
                raise InputError(wrong, path="--machine")
            found.append(_diagnosed(named, name, settings, on))
    if not found:
        raise InputError("no function of the file is decorated with triton.jit", file=file)
    return found


def _called(kernel: Any) -> set[str]:
    calls = (node for node in ast.walk(kernel.parse()) if isinstance(node, ast.Call))
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def _diagnosed(named: Any, name: str, settings: Mapping[str, str], machine: Machine) -> Diagnosis:
    kernel, architecture = undecorated(named), architecture_of(machine)
    decorated = as_of_triton(named)
    parameters = {parameter.name for parameter in kernel.params}
    own = {key: text for key, text in settings.items() if key in parameters}
    assumed = plausible(kernel, {*own, *added_by(decorated)})
    loops: tuple[str, ...] = ()
    try:
        with gpu_of(architecture, ""):
            given = read_settings(kernel, {**own, **assumed}, name)
            given = {key: instance(value, key) for key, value in given.items()}
            call = Calls(decorated, architecture).bound((), given)
            dump = Dump(dump_call(kernel, call.arguments, architecture, call.options, name))
            loops = tuple(dump.loop_name(one) or "?" for one in dump.loops())
            first = forms(kernel, call.arguments, call.options, machine)[0]
    except TwillError as error:
        return Diagnosis(name, loops, assumed=assumed, refused=str(error))
    except Exception as error:  # of the kernel's own functions, or Triton's about arguments
        return Diagnosis(name, loops, assumed=assumed, refused=one_line(error))
    return Diagnosis(name, loops, assumed, str(first), float(first.bound))


def print_diagnoses(found: Iterable[Diagnosis]) -> None:
    """Print a line for each kernel."""
    for one in found:
        does = f"Triton's own kernel: {one.refused}"
        if one.bound_cycles is not None:
            does = f"{one.form}, {cycles(one.bound_cycles)} cycles an iteration or more"
        guessed = ", ".join(f"{name}={text}" for name, text in one.assumed.items())
        loops = f"loop{'s' * (len(one.loops) > 1)} {', '.join(one.loops)}" if one.loops else ""
        notes = "; ".join(filter(None, (loops, f"assumed {guessed}" if guessed else "")))
        say(f"{one.kernel}: {does}{f' ({notes})' if notes else ''}")


def built(
    where: str,
    settings: Mapping[str, str],
    like: Iterable[str],
    machine: Machine | None,
    how: How,
    warps: int | None = None,
) -> Answer:
    """Find and keep the answer to a call of ``FILE.py:KERNEL``, as its first call would.

    `settings` and `like`: as `twill.frontends.triton_dump.dump_kernel` takes them; a type stands
    for any argument of this type. `machine` and `how`: of a kernel that `twill.jit` does not
    decorate in the file.

    Raises
    ------
    InputError
        If there is no such kernel, an argument is missing, or no machine is named.
    """
    file, _, name = where.rpartition(":")
    architecture = architecture_of(machine) if machine is not None else FIRST
    decorated, _ = found(where, architecture)
    named = vars(imported(file, architecture, name))[name]
    kernel = named if isinstance(named, Kernel) else jit(decorated, **asdict(how), machine=machine)
    on = machine or kernel.machine
    if on is None:
        raise InputError("name the machine that calls will run on", path="--machine")
    function = undecorated(decorated)
    with gpu_of(architecture_of(on), ""):
        given = example(like)
        given |= read_settings(function, settings, where)
        given |= with_strides([parameter.name for parameter in function.params], given)
        known = {**dict.fromkeys(added_by(decorated)), **given}
        check_complete(function, known, settings, example=f"twill build {where}", file=where)
        given = {key: instance(value, key) for key, value in given.items()}
        if warps is not None:
            given["num_warps"] = warps
        return kernel.answered(Device(on, emulated=True), given)

"""Processor seconds of tests and of their fixtures, of this process and its children.

`pytest --processor-times FILE` writes them as JSON. A run of the whole default suite fails when it,
or one of its tests, takes more than `[tool.twill.limits]` of pyproject.toml allows.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

PHASES = ("setup", "call", "teardown")


class Node(Protocol):
    """The controller's side of a worker of pytest-xdist."""

    workeroutput: dict[str, Any]


def processor() -> float:
    """Return the user and system seconds of this process and of its finished children."""
    return sum(os.times()[:4])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--processor-times",
        type=Path,
        metavar="FILE",
        help="write the processor seconds of every test and fixture to FILE, as JSON",
    )


def pytest_configure(config: pytest.Config) -> None:
    worker = hasattr(config, "workerinput")
    config.pluginmanager.register(Measuring(config), "twill-measuring")
    if not worker:
        config.pluginmanager.register(Summing(config), "twill-summing")


class Measuring:
    """What runs where the tests do: it measures them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.began = processor()
        self.inner = [0.0]
        self.fixtures: dict[str, float] = {}
        self.phase = 0.0

    @contextmanager
    def fixture(self, name: str) -> Generator[None]:
        """Charge what is done within to a fixture, but for the fixtures set up meanwhile."""
        before = processor()
        self.inner.append(0.0)
        yield
        spent = processor() - before
        self.fixtures[name] = self.fixtures.get(name, 0.0) + spent - self.inner.pop()
        self.inner[-1] += spent

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        with self.fixture(fixturedef.argname):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Charge a phase to the report of a test, its fixtures apart."""
        report = yield
        now = processor()
        apart = sum(self.fixtures.values())
        measured = {"seconds": now - self.phase - apart, "fixtures": self.fixtures}
        vars(report)["processor"] = measured  # what a worker sends is whatever a report has
        self.fixtures, self.inner, self.phase = {}, [0.0], now
        return report

    def pytest_runtest_logstart(self) -> None:
        self.phase = processor()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["processor"] = processor()


class Summing:
    """What runs where the results arrive: it adds up, writes, and compares with the limits."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tests: dict[str, dict[str, float]] = {}
        self.fixtures: dict[str, float] = {}
        self.workers = 0.0
        self.over: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        measured = getattr(report, "processor", None)
        if measured is None:
            return
        phases = self.tests.setdefault(report.nodeid, dict.fromkeys(PHASES, 0.0))
        phases[report.when] += measured["seconds"]
        for name, seconds in measured["fixtures"].items():
            where = f"{report.nodeid.partition('::')[0]}::{name}"
            self.fixtures[where] = self.fixtures.get(where, 0.0) + seconds

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Node) -> None:
        self.workers += getattr(node, "workeroutput", {}).get("processor", 0.0)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # Workers are children: those that have ended count among the children already.
        own = os.times()
        whole = own.user + own.system + (self.workers or own.children_user + own.children_system)
        if self.config.option.processor_times is not None:
            self.write(whole)
        if is_whole(self.config):
            self.over = self.above(whole)
            if self.over and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def write(self, whole: float) -> None:
        """Write what was measured, the dearest first."""

        def rounded(seconds: dict[str, float]) -> dict[str, float]:
            return {name: round(amount, 3) for name, amount in seconds.items()}

        tests = sorted(self.tests.items(), key=lambda entry: -sum(entry[1].values()))
        fixtures = sorted(self.fixtures.items(), key=lambda entry: -entry[1])
        document = {
            "seconds": round(whole, 1),
            "tests": {name: rounded(phases) for name, phases in tests},
            "fixtures": rounded(dict(fixtures)),
        }
        self.config.option.processor_times.write_text(json.dumps(document, indent=1) + "\n")

    def above(self, whole: float) -> list[str]:
        """Return what took longer than its limit."""
        project = tomllib.loads((self.config.rootpath / "pyproject.toml").read_text())
        limits = project["tool"]["twill"]["limits"]
        suite, each = limits["seconds-of-the-tests"], limits["seconds-of-a-test"]
        found = [
            f"{name}: {seconds:.1f} processor seconds, {each} allowed; make it cheaper, or `slow`"
            for name, phases in self.tests.items()
            if (seconds := sum(phases.values())) > each
        ]
        if whole > suite:
            found.append(f"the default suite: {whole:.0f} processor seconds, {suite} allowed")
        return found

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.over:
            terminalreporter.section("above the limits of pyproject.toml")
            for line in self.over:
                terminalreporter.line(line)


def is_whole(config: pytest.Config) -> bool:
    """Return whether the run is of all that `pytest` runs without arguments."""
    option = config.option
    default = option.markexpr in config.getini("addopts")
    named = config.args_source != pytest.Config.ArgsSource.TESTPATHS
    return default and not (named or option.keyword or option.deselect or option.lf)

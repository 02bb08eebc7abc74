"""What two commits answer: ``record CHECKOUT FILE`` each, then ``compare BEFORE AFTER``.

A record is made by the commands of a checkout, which need not be this one: of every packaged loop
its schedule (or the refusal) and the interval that the simulator measures, of every packaged
schedule the trace of its run. What differs is printed by kind, and 1 is the exit status if anything
does that a reorganization of the code may not change.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROMISED = ("refusal", "interval", "levels", "proved")
"""What has to be the same of every loop."""
WORSE = 1.01
"""A simulated interval may grow by so much."""


def command(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run one of the checkout's commands."""
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root.absolute())},
        capture_output=True,
        text=True,
        check=False,
    )


def answered(root: Path, name: str, machine: str) -> dict[str, Any]:
    """Return what is answered about one packaged loop."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/schedule.json"
        asked = command(
            root,
            "twill",
            "schedule",
            name,
            "--machine",
            machine,
            "--model",
            "paper",
            "--no-cache",
            "-o",
            file,
        )
        if asked.returncode:
            return {"refusal": asked.stderr.strip().splitlines()[-1:]}
        schedule = json.loads(Path(file).read_text())
        run = command(root, "twill.sim", "run", file, "--json")
        measured = json.loads(run.stdout)
    levels = schedule["proof"]["levels"]
    return {
        "interval": schedule["initiation_interval"],
        "levels": {level["level"]: level["value"] for level in levels},
        "proved": {level["level"]: level["proved"] for level in levels},
        "simulated": measured["measured_interval_cycles"],
        "schedule": schedule,
    }


def traced(root: Path, name: str) -> str:
    """Return a digest of the trace of a packaged schedule's run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        command(root, "twill.sim", "run", name, "--trace", str(file))
        return hashlib.sha256(file.read_bytes()).hexdigest()


def record(root: Path) -> dict[str, Any]:
    """Return all answers of a checkout."""
    loops = tomllib.loads((root / "traces/loops.toml").read_text())
    stored = sorted(path.stem for path in (root / "traces/schedules").glob("*.json"))
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda n: answered(root, n, loops[n]["machine"]), loops)
        found = dict(zip(loops, answers, strict=True))
        traces = dict(zip(stored, pool.map(lambda n: traced(root, n), stored), strict=True))
    return {"loops": found, "traces": traces}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every number, text and flag of a JSON document with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]")
    else:
        yield path, value


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs; return 1 if it is something that may not."""
    broken = 0
    others: dict[str, Counter[str]] = defaultdict(Counter)
    for name, old in before["loops"].items():
        new = after["loops"].get(name, {})
        for kind in PROMISED:
            if old.get(kind) != new.get(kind):
                broken += 1
                print(f"{name}: {kind} {old.get(kind)} -> {new.get(kind)}")
        if (had := old.get("simulated")) != (has := new.get("simulated")):
            worse = had is None or has is None or has > had * WORSE
            broken += worse
            print(f"{name}: simulated {had} -> {has}{' (worse)' if worse else ''}")
        was, now = dict(leaves(old.get("schedule"))), dict(leaves(new.get("schedule")))
        for path in {**was, **now}:
            if was.get(path) != now.get(path):
                others[re.sub(r"\[\d+\]", "[]", path)][name] += 1
    for name, digest in before["traces"].items():
        if after["traces"].get(name) != digest:
            broken += 1
            print(f"{name}: another trace")
    for path, where in sorted(others.items()):
        print(f"differs {path}: {sum(where.values())} times in {len(where)} loops", *where)
    print(f"{len(before['loops'])} loops, {len(before['traces'])} traces, {broken} broken")
    return int(broken > 0)


if __name__ == "__main__":
    match sys.argv[1:]:
        case "record", root, file:
            Path(file).write_text(json.dumps(record(Path(root)), indent=1))
        case "compare", one, other:
            sys.exit(compare(*(json.loads(Path(f).read_text()) for f in (one, other))))
        case _:
            sys.exit(__doc__)

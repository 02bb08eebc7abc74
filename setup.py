"""Compile the simulator's engine with mypyc where the package is built; the rest is declared.

A compiled engine says the same in a third of the time. An editable installation has none, so that
a change of a module takes effect at once, nor has what is built without a C compiler. Tests use
the one that `make engine` builds apart from the sources.
"""

import sys

from setuptools import Extension, setup

# What runs for every event.
COMPILED = (
    "barriers",
    "clock",
    "hardware",
    "issue",
    "memory",
    "operations",
    "programs",
    "record",
    "slots",
    "sm",
    "warps",
    "work",
)


def engine() -> list[Extension]:
    """Return the engine's modules as C, none where they are to stay Python."""
    if not {"bdist_wheel", "build_ext"} & set(sys.argv):
        return []
    from mypyc.build import mypycify

    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=skip"]
    modules = [f"twill/sim/engine/{name}.py" for name in COMPILED]
    extensions = mypycify([*options, *modules], group_name="twill_engine", debug_level="0")
    for extension in extensions:
        extension.optional = True
    return extensions


setup(ext_modules=engine())

"""Compile the simulators with mypyc where the package is built; the rest is declared.

Compiled simulators give the same results in a third of the time. An editable installation has
none, so that a change of a module takes effect at once, nor has what is built without a C compiler.
Tests use those that `make engine` builds apart from the sources.
"""

import sys

from setuptools import Extension, setup

# The modules that run for every event or instruction, by package of `twill.sim`.
COMPILED = {
    "engine": (
        "barriers clock hardware issue memory operations programs record shares slots sm "
        "units warps work"
    ),
    "machine_code": (
        "barriers clock costs execution groups integers launch listing memory moves port registers "
        "sm steps tensor_core tensor_memory transfers"
    ),
}


def engine() -> list[Extension]:
    """Return the modules as C, none where they are to stay Python."""
    if not {"bdist_wheel", "build_ext"} & set(sys.argv):
        return []
    from mypyc.build import mypycify

    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=skip"]
    modules = [
        f"twill/sim/{package}/{name}.py"
        for package, names in COMPILED.items()
        for name in names.split()
    ]
    extensions = mypycify([*options, *modules], group_name="twill_engine", debug_level="0")
    for extension in extensions:
        extension.optional = True
    return extensions


setup(ext_modules=engine())

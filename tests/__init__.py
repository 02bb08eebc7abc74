"""Tests of Twill; they use the compiled engine where `make engine` has built it."""

import os

# Processes of tests share the cores: further threads of a matrix product would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.support import engine

COMPILED_ENGINE = engine.use()

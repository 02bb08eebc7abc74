"""Tests of Twill; they use the compiled engine where `make engine` has built it."""

from tests.support import engine

COMPILED_ENGINE = engine.use()

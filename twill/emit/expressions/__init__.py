"""Expressions of an emitted file: statements without side effects, in Gluon and in PyTorch."""

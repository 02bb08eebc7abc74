"""Sweeps: loops and schedules under changed parameters, point by point.

`spec` and `parameters` say what a point is, `evaluate` runs one, `journal` keeps what is done,
`engine` drives any `concurrent.futures` executor, `table`, `answers` and `plot` tell the result.
"""

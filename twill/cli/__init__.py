"""The command line: a module a noun, `main` is their tree.

Commands share `options`, the `values` that options are read as, `command`, which makes a command of
a function, and `output`, which prints what they have as data or for people.
"""

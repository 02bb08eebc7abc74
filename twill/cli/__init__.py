"""The command line: a module a noun, `main` is their tree.

Commands share `options`, with what their texts are read as, and `command`, which makes a command of
a function and prints its results as data or for people.
"""

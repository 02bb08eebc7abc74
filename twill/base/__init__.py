"""Modules for every room: errors, names, files, processes, the console, tables and figures."""

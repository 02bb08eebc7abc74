"""What every room may import: errors, names, files, processes, the console, tables and figures."""

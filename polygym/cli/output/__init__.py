"""Output of commands.

``console`` writes text, tables and JSON, and has the result of a command; ``progress`` and
``sweep_progress`` show how far a command is. ``array_figures`` and ``limits`` report measurements,
``bench_table`` and ``ranking`` the results of two commands. ``table_widths`` fits tables into a
terminal.
"""

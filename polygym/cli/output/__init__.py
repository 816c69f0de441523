"""Output of commands.

``console`` writes text and JSON, ``tables`` writes tables, ``text`` makes words of users fit for
both; ``progress`` and ``sweep_progress`` show how far a command is. ``array_figures``, ``defects``
and ``limits`` report measurements, ``bench_table`` and ``ranking`` the results of two commands.
"""

__all__: list[str] = []

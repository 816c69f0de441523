"""polygym: explore the legal schedules of a loop program, compile them, and measure the speedup.

The way of the data, package by package: ``frontend`` (C text) makes an ``ir.Scop``; ``poly`` finds
its dependences and its legal schedules; ``codegen`` turns a schedule into machine code; ``measure``
runs and times it in a process of its own; ``programs`` knows the kernels by name; ``cli`` is what
the ``polygym`` command calls.
"""

__version__ = "0.1.0"

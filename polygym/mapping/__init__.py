"""Mappings of schedules to a machine.

``knobs`` is the table of the options, over ``knob_domains``; ``mapping`` is the value that prints
and parses. ``machine`` has the caches and vectors that a mapping depends on, ``tuning_parameters``
the costs, thresholds and sizes of code generation, ``sizes`` the parameters of a program.
"""

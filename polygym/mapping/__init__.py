"""Mappings of schedules to a machine.

``knobs`` is the table of the options, over ``knob_domains``; ``mapping`` is the value that prints
and parses, ``mapping_memo`` remembers answers about mappings. ``machine`` has the caches and
vectors that a mapping depends on, ``sizes`` the parameters of a program.
"""

__all__: list[str] = []

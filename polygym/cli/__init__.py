"""The command ``polygym``: one module a subcommand in ``commands``, ``main`` where it begins.

``dispatch`` calls a command of ``group``, which imports it then, and writes its result;
``failures`` turns exceptions into messages. ``options`` are shared options, ``output`` prints,
``execution`` does the work of the long commands. ``interrupts`` handles Ctrl-C, ``stop_signals``
lets signals end a search in order.
"""

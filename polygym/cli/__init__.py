"""The ``polygym`` command: one module a subcommand, ``main`` to choose among them.

``output`` prints (tables and colours on a terminal, plain text in a pipe, JSON on request),
``options`` holds what several commands share.
"""

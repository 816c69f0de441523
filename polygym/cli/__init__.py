"""The ``polygym`` command: one module a subcommand, ``main`` where it begins.

``dispatch`` calls a command of ``group`` (which imports it then, as ``lazy_group`` does) and writes
its ``answer``; ``failures`` turns exceptions into messages. ``output`` and ``tables`` print
(colours on a terminal, plain text in a pipe), ``text`` makes the user's own words fit for that,
``options`` holds what several commands share, ``schedules`` reads those that are given,
``splitting`` is what commands share about cut statements and ``storing`` about storage,
``clusters`` has their work done elsewhere, ``interrupts`` says what Ctrl-C does. Of ``space``,
``carry`` reads what is carried where; ``tuning`` watches the search of ``tune``, ``searching`` that
of ``optimize``, ``exploring`` shows how far both are and ``sweeping`` how far a sweep is,
``campaigns`` say where one is at work, ``stopping`` lets signals end them, ``ranking`` says what
came of it and ``invocation`` how to go on; ``benching`` measures a program for ``bench``, whose
``entries`` are what comes of it; ``limits`` says how near to its limit a program is and ``limited``
what ``bench`` makes of that, ``outputs`` what the arrays hold in the end, ``racing`` what came of
terms that were timed. ``alarm`` says in red that a legal schedule crashed or computed something
else, and ``small_files`` reads files that a user names. The ``commands`` themselves are a package.
"""

__all__: list[str] = []

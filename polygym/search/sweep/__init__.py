"""Sweeps: many programs, several policies, one store that survives whatever ends the process.

``settings`` fix the outcomes, ``workload`` says how much is to be done. An SQLite file has every
outcome the moment it is known: ``rows`` are its tables and their rows as values, ``store`` opens
and writes it, ``reader`` reads it while a sweep is at work. A ``session`` keeps others out of the
folder. ``program_search`` explores one program and ``confirmation`` measures its best schedules
again, beside ``references``, each in a ``process`` of its own, on ``cores`` of its own;
``monitoring`` writes down what goes on beside it. ``driver`` has all of it done, ``progress`` says
how far it is. ``statistics`` are what was found in numbers, ``report`` a page and pictures.
"""

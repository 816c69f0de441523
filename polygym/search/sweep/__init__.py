"""Sweeps: many programs, several policies, one store that survives whatever ends the process.

``setting`` is what fixes the outcomes. An SQLite file has every outcome the moment it is known:
``schema`` are its tables, ``rows`` what they hold as values, ``opening`` makes or opens it,
``store`` writes, ``reading`` reads while a sweep is at work, ``sqlite_errors`` says what is wrong
with it, ``claims`` keeps others out of the folder. ``searching`` explores one program and
``confirming`` measures its best schedules again, beside ``references``, each in a process of its
own (``process``), on cores of its own (``cores``) and for its share of the time (``shares``);
``judging`` tells the schedule's doing from the machine's, ``keeping`` writes down what goes on
beside it.
``orders`` says how much is to be done, ``beginning`` opens the folder, ``campaign`` has it done,
``progress`` says how far it is.
``statistics`` and ``curves`` are what was found in numbers, ``report`` a page and pictures.
"""

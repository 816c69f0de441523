"""Sweeps: many programs, several policies, one store that survives whatever ends the process.

``setting`` is what fixes the outcomes, ``store`` the SQLite file that has every outcome the moment
it is known, ``rows`` what its tables hold as values, ``reading`` how they are read while a sweep is
at work. ``searching`` explores one program and ``confirming`` measures its best schedules again,
each in a process of its own (``process``), on cores of its own (``cores``) and for its share of the
time (``shares``); ``compilers`` generates the code of a batch of schedules before any is measured.
``orders`` says how much is to be done, ``campaign`` has it done, ``progress`` says how far it is.
``statistics`` makes means and curves of what was found.
"""

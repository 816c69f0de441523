"""Sweeps: many programs, several policies, one store that survives whatever ends the process.

``setting`` is what fixes the outcomes, ``store`` the SQLite file that has every outcome the moment
it is known, ``rows`` what its tables hold as values, ``reading`` how they are read while a sweep is
at work. ``searching`` explores one program and ``confirming`` measures its best schedules again,
each in a process of its own (``process``), on cores of its own (``cores``) and for its share of the
time (``shares``); ``ahead`` generates code while other code is measured. ``plan`` says what is left
to do, and ``campaign`` has it done. ``statistics`` makes means and curves of what was found.
"""

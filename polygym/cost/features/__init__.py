"""Features of programs, statements, schedules, loops and candidates, a package each.

==============  ================================================================
``candidates``  features of a schedule under a mapping
``loops``       features of loops
``programs``    features of programs: their ``shape``, and ``canonical_bodies``
``schedules``   features of a schedule alone, from its rows: no tree, no mapping
``statements``  work of statements at given sizes
==============  ================================================================
"""

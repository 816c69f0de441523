"""The search for fast schedules: episodes are played, their schedules measured, the best is kept.

``explorer`` is the loop without files and terminals: it yields an event for every episode.
``setting`` is all that determines which schedules it explores, ``journal`` the file that has every
event the moment it is known, ``files`` how files are written that are never half there, ``folder``
the results of one search in one directory, and ``ranking`` what the outcomes amount to.
"""

"""The search for fast schedules: episodes are played, their schedules measured, the best is kept.

``explorer`` is the loop without files and terminals: it yields an event for every episode.
``setting`` is all that determines which schedules it explores, ``journal`` the file that has every
event the moment it is known, ``folder`` the results of one search in one directory, and ``tally``
what the outcomes amount to; ``tuning`` looks for the mapping of the best few, and ``trials`` keeps
those. ``course`` is a search from its beginning to its end, which is a ``ranking``; ``tried_again``
gives what everything is compared with more than one chance.
"""

"""Decision processes: building a schedule one decision at a time, as plain values.

``construction`` and ``exploration`` are the states, masks and transitions of the two processes;
``episode`` runs one after the other for a program; ``observe`` turns an episode into arrays of
fixed shapes, and ``policies`` are rules that decide. Every state is an immutable value, so a copy
for a tree search costs nothing.

``kernels`` resolves which programs episodes are about and keeps what is computed once for each;
``record`` writes an episode as JSON and plays it again (``recorded`` checks what one says, entry by
entry). ``reward`` says what an episode is worth at its end, ``arguments`` checks what environments
are made with. Nothing here knows Gymnasium.
"""

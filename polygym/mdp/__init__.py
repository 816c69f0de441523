"""The Markov decision processes: building a schedule one decision at a time, as plain values.

``construction`` and ``exploration`` are the states, masks and transitions of the two processes;
``episode`` runs one after the other for a program; ``observe`` turns an episode into arrays of
fixed shapes, and ``policies`` are rules that decide. Nothing here knows Gymnasium, compiles or
measures: every state is an immutable value, so a copy for a tree search costs nothing.
"""

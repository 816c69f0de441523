"""The intermediate representation: what a program is, as immutable values.

``types`` (C's scalar types), ``expr`` (what a statement computes), ``scop`` (the program),
``printer`` (C text of expressions) and ``verify`` (the invariants every front end must establish).
"""

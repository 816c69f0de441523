"""Operators of equations such as ``ij,jk->ik``.

``notation`` reads equations, ``sums`` makes operators of them.
"""

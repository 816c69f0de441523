"""Tiles in which only terms of one reduction wait for each other, with loops of their own.

``analysis`` finds the tiles; :mod:`polygym.codegen.tree.planning.plan` inserts the branch.

fires on: cholesky, lu, trisolv
"""

"""Terms of a reduction that need nothing of their tile, run before it as a product.

``analysis`` finds the terms and their tiles; :mod:`polygym.codegen.tree.planning.plan` inserts the
branch.

fires on: nussinov
"""

"""Loops from a planned tree, by isl's AST generator.

===================  =========================================================================
``loop_generation``  the pass: tree → isl's AST → loop IR; speculative reads
``parameters``       the context and the sizes of arrays, as conditions and indices
``isl_ast``          isl's syntax trees as loop IR, and loops over the elements of a set
===================  =========================================================================
"""

"""Loops from a planned tree, by isl's AST generator.

=====================  ===================================================================
``loop_generation``    the pass: tree → isl's AST → loop IR
``isl_ast``            isl's syntax trees as loop IR, and loops over the elements of a set
``speculative_reads``  reads under a condition that may run whether it holds or not
=====================  ===================================================================
"""

__all__: list[str] = []

"""Estimates of the time of optimized code, from LLVM IR: nothing is run.

Models of planned loops (:mod:`polygym.cost.models`) do not see what LLVM makes of small loops. Here
its result is read: which loops there are, how often they run, what an iteration keeps busy.

=====================  ============================================================================
``ir_text``            functions of a module as values, from its text
``values``             integers that arguments, constants and counters of loops decide
``loops``              loops, and how often they run
``instruction_costs``  units of a core that instructions keep busy, and latencies
``estimate``           the cycles of a kernel
``private_traffic``    bytes that large private arrays move, by the cache where they fit
=====================  ============================================================================
"""

"""Schedules without a search: isl's scheduler, baselines, strategies, properties.

==================  ============================================================================
``alternatives``    Schedules of a program without a search
``baselines``       Baseline schedules, also isl's without skewing or negative coefficients
``isl_scheduler``   Calls of isl's scheduler: dependences, options, tree, canonical names
``properties``      Properties of a schedule, and the static score, which follows from them alone
``strategy``        Strategies
``symbolic_sizes``  Symbolic sizes: numbers in the source become parameters for isl's scheduler
==================  ============================================================================
"""

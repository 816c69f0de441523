"""Schedules without a search: isl's scheduler, baselines, strategies, properties.

==================  ===========================================================================
``alternatives``    Schedules of a program without a search
``baselines``       Baseline schedules
``isl_scheduler``   Calls of isl's scheduler: dependences, options, tree, canonical names
``isl_variants``    Schedules of isl without skewing or without negative coefficients
``properties``      Properties of a schedule
``score``           The static score of a schedule, from its properties alone
``strategy``        Strategies
``symbolic_sizes``  Symbolic sizes: numbers in the source become parameters for isl's scheduler
==================  ===========================================================================
"""

__all__: list[str] = []

"""Charts of searches, in one ``chart_style``.

``convergence`` is that of one search; ``best_speedups``, ``limit_shares``, ``policy_curves``,
``small_multiples`` and ``speedup_distribution`` are those of sweeps and collections;
``mean_intervals`` that of agents.
"""

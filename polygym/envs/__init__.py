"""The Gymnasium environments: polygym/Construct-v0, polygym/Explore-v0, polygym/Schedule-v0.

Thin shells around :mod:`polygym.episodes`: ``base`` is what the three have in common (observation,
masks, rendering, export), ``construct``, ``explore`` and ``schedule`` are the
environments, and ``registration`` names them to Gymnasium.
"""

"""The Gymnasium environments: polygym/Construct-v0, polygym/Explore-v0, polygym/Schedule-v0.

``kernels`` resolves which programs an environment is about, ``base`` is what the three have in
common (observation, masks, rewards, rendering, export), ``construct``, ``explore`` and ``schedule``
are the environments, ``record`` writes and replays episodes (``recorded`` checks what one says,
entry by entry), and ``registration`` names them to Gymnasium.
"""

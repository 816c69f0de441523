"""Scripts about agents that run from a clone; the library is :mod:`polygym.agents`."""

"""Tests of polygym.search.runner.ray.sweeps."""

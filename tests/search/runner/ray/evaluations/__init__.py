"""Tests of polygym.search.runner.ray.evaluations."""

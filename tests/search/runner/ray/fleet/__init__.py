"""Tests of polygym.search.runner.ray.fleet."""

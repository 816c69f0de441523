"""Tests of polygym.search.runner.ray.collection."""

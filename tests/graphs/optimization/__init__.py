"""Tests of polygym.graphs.optimization."""

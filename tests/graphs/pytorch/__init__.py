"""Tests of polygym.graphs.pytorch."""

"""Tests of polygym.graphs.execution.runtime."""

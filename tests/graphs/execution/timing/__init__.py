"""Tests of polygym.graphs.execution.timing."""
